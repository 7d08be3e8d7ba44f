// Everyday work of Java programs through Connector/J against a running server: logins over TCP and TLS, prepared
// statements on the server, rows fetched by a cursor, many rows, errors, transactions, compression.
//
// Environment: LEAFLINE_PORT, LEAFLINE_PASSWORD. Exits with 1 and a message on failure.
import java.sql.*;
import java.util.*;

public class JdbcClients {
    public static void main(String[] arguments) {
        Map<String, String> ways = new LinkedHashMap<>();
        ways.put("tcp", "sslMode=DISABLED&allowPublicKeyRetrieval=true");
        ways.put("tls", "sslMode=REQUIRED");
        ways.put("tls, compressed", "sslMode=REQUIRED&useCompression=true");
        boolean failed = false;
        for (Map.Entry<String, String> way : ways.entrySet()) {
            try {
                work(way.getValue());
            } catch (Exception | AssertionError error) {
                failed = true;
                System.out.println("Java, " + way.getKey() + ": FAILED");
                error.printStackTrace(System.out);
            }
        }
        if (failed) System.exit(1);
        System.out.println("Java, Connector/J: ok");
    }

    static void check(boolean is, Object what) {
        if (!is) throw new AssertionError(String.valueOf(what));
    }

    static void work(String options) throws SQLException {
        String url = "jdbc:mysql://127.0.0.1:" + System.getenv("LEAFLINE_PORT") + "/?" + options
            + "&useServerPrepStmts=true&useCursorFetch=true&connectionTimeZone=UTC";
        try (Connection connection = DriverManager.getConnection(url, "root", System.getenv("LEAFLINE_PASSWORD"))) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE DATABASE IF NOT EXISTS clients");
            }
            connection.setCatalog("clients");
            try (Statement statement = connection.createStatement()) {
                statement.execute("DROP TABLE IF EXISTS j");
                statement.execute("CREATE TABLE j (id INT PRIMARY KEY, t VARCHAR(40), d DECIMAL(10, 2), at DATETIME(3), b VARBINARY(9))");
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO j VALUES (?, ?, ?, ?, ?)")) {
                for (int id = 1; id <= 1000; id++) {
                    insert.setInt(1, id);
                    insert.setString(2, "é🦀 " + id);
                    insert.setBigDecimal(3, new java.math.BigDecimal("12.50"));
                    insert.setTimestamp(4, Timestamp.valueOf("2024-02-29 01:02:03.456"));
                    insert.setBytes(5, new byte[] {0, (byte) 255});
                    insert.executeUpdate();
                }
            }
            connection.commit();
            // Reads by a cursor, 100 rows at a time.
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM j WHERE id > ? ORDER BY id")) {
                select.setFetchSize(100);
                select.setInt(1, 10);
                int expected = 11;
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        check(rows.getInt(1) == expected, rows.getInt(1));
                        check(rows.getString(2).equals("é🦀 " + expected), rows.getString(2));
                        check(rows.getBytes(5)[1] == (byte) 255, "bytes");
                        expected++;
                    }
                }
                check(expected == 1001, expected);
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("DELETE FROM j");
                connection.rollback();
                try (ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM j a, j b")) {
                    check(rows.next() && rows.getInt(1) == 1_000_000, "count");
                }
                try {
                    statement.executeUpdate("INSERT INTO j (id) VALUES (1)");
                    throw new AssertionError("a key twice");
                } catch (SQLIntegrityConstraintViolationException error) {
                    check(error.getErrorCode() == 1062, error);
                }
            }
            DatabaseMetaData data = connection.getMetaData();
            try (ResultSet columns = data.getColumns("clients", null, "j", "%")) {
                check(columns.next() && columns.getString("COLUMN_NAME").equals("id"), "columns");
            }
        }
    }
}
