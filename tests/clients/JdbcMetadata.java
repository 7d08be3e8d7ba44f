// Queries of tools for JDBC's metadata, from information_schema and by SHOW, and their use of rows: limits, generated
// keys, batches, results that are streamed or updated in place.
//
// Environment: LEAFLINE_PORT; root has no password, and the database `clients_tools` exists. Exits with 1 and a
// message on failure.
import java.sql.*;
import java.util.*;

public class JdbcMetadata {
    static final String DATABASE = "clients_tools";

    public static void main(String[] arguments) {
        boolean failed = false;
        for (boolean standard : new boolean[] {true, false}) {
            String url = "jdbc:mysql://127.0.0.1:" + System.getenv("LEAFLINE_PORT") + "/" + DATABASE + "?connectionTimeZone=UTC&useInformationSchema="
                + standard + "&rewriteBatchedStatements=" + standard + "&allowMultiQueries=true&cachePrepStmts=true&useServerPrepStmts=" + standard;
            try (Connection connection = DriverManager.getConnection(url, "root", "")) {
                metadata(connection.getMetaData());
                rows(connection);
            } catch (Exception | AssertionError error) {
                failed = true;
                System.out.println("JDBC's metadata, " + (standard ? "information_schema" : "SHOW") + ": FAILED");
                error.printStackTrace(System.out);
            }
        }
        if (failed) System.exit(1);
        System.out.println("JDBC's metadata: ok");
    }

    static void check(String what, Object found, Object expected) {
        if (!Objects.equals(found, expected)) throw new AssertionError(what + ": " + found + " instead of " + expected);
    }

    // Returns the values of a column.
    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> values = new ArrayList<>();
        try (rows) {
            while (rows.next()) values.add(rows.getString(name));
        }
        return values;
    }

    static void metadata(DatabaseMetaData data) throws SQLException {
        check("product", data.getDatabaseProductName(), "MySQL");
        column(data.getTypeInfo(), "TYPE_NAME");
        column(data.getTableTypes(), "TABLE_TYPE");
        check("catalogs", column(data.getCatalogs(), "TABLE_CAT").contains(DATABASE), true);
        check("schemas", column(data.getSchemas(), "TABLE_SCHEM"), List.of());
        check("tables", column(data.getTables(DATABASE, null, "par%", new String[] {"TABLE"}), "TABLE_NAME"), List.of("parent", "parts"));
        check("views", column(data.getTables(DATABASE, null, "%", new String[] {"VIEW"}), "TABLE_NAME"), List.of("checked", "on v", "v"));
        check("columns", column(data.getColumns(DATABASE, null, "child", "%"), "COLUMN_NAME"), List.of("id", "p", "k"));
        check("every type", column(data.getColumns(DATABASE, null, "every type", "%"), "TYPE_NAME").size(), 30);
        check("primary key", column(data.getPrimaryKeys(DATABASE, null, "parts"), "COLUMN_NAME"), List.of("a", "b"));
        check("indexes", new TreeSet<>(column(data.getIndexInfo(DATABASE, null, "child", false, true), "INDEX_NAME")), new TreeSet<>(List.of("PRIMARY", "p", "named")));
        check("unique indexes", new TreeSet<>(column(data.getIndexInfo(DATABASE, null, "parent", true, false), "INDEX_NAME")), new TreeSet<>(List.of("PRIMARY", "key")));
        check("imported keys", new TreeSet<>(column(data.getImportedKeys(DATABASE, null, "child"), "FK_NAME")), new TreeSet<>(List.of("child_ibfk_1", "named")));
        check("exported keys", new TreeSet<>(column(data.getExportedKeys(DATABASE, null, "parent"), "FK_NAME")), new TreeSet<>(List.of("child_ibfk_1", "named")));
        check("keys between", new TreeSet<>(column(data.getCrossReference(DATABASE, null, "parent", DATABASE, null, "child"), "PKCOLUMN_NAME")), new TreeSet<>(List.of("id", "key")));
        check("best row identifier", column(data.getBestRowIdentifier(DATABASE, null, "child", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"), List.of("id"));
        column(data.getVersionColumns(DATABASE, null, "child"), "COLUMN_NAME");
        check("procedures", column(data.getProcedures(DATABASE, null, "%"), "PROCEDURE_NAME"), List.of());
        check("their columns", column(data.getProcedureColumns(DATABASE, null, "%", "%"), "COLUMN_NAME"), List.of());
        check("functions", column(data.getFunctions(DATABASE, null, "%"), "FUNCTION_NAME"), List.of());
        column(data.getFunctionColumns(DATABASE, null, "%", "%"), "COLUMN_NAME");
        column(data.getTablePrivileges(DATABASE, null, "%"), "PRIVILEGE");
        column(data.getColumnPrivileges(DATABASE, null, "child", "%"), "PRIVILEGE");
        column(data.getUDTs(DATABASE, null, "%", null), "TYPE_NAME");
        column(data.getClientInfoProperties(), "NAME");
        check("keywords", data.getSQLKeywords().isEmpty(), false);
    }

    static void rows(Connection connection) throws SQLException {
        connection.setClientInfo("ApplicationName", "a tool");
        try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            statement.execute("DROP TABLE IF EXISTS made");
            statement.execute("CREATE TABLE made (id INT PRIMARY KEY AUTO_INCREMENT, n INT, at TIMESTAMP(6) NULL, big BIGINT UNSIGNED)");
            statement.executeUpdate("INSERT INTO made (n) VALUES (1), (2), (3)", Statement.RETURN_GENERATED_KEYS);
            check("keys that were made", column(statement.getGeneratedKeys(), "GENERATED_KEY"), List.of("1", "2", "3"));
            // Tools set a maximum of rows; the server must return no more.
            statement.setMaxRows(2);
            check("rows at most", column(statement.executeQuery("SELECT * FROM made ORDER BY id"), "id"), List.of("1", "2"));
            statement.setMaxRows(0);
            check("all rows", column(statement.executeQuery("SELECT * FROM made"), "id").size(), 3);
            try (ResultSet rows = statement.executeQuery("SELECT * FROM made ORDER BY id")) {
                check("its table", rows.getMetaData().getTableName(2) + "." + rows.getMetaData().getColumnName(2), "made.n");
                check("its number", rows.getMetaData().isAutoIncrement(1), true);
                rows.absolute(2);
                rows.updateInt("n", 20);
                rows.updateRow();
                rows.moveToInsertRow();
                rows.updateInt("n", 40);
                rows.insertRow();
                rows.last();
                rows.deleteRow();
            }
            statement.setQueryTimeout(5);
            check("numbers", column(statement.executeQuery("SELECT n FROM made ORDER BY id"), "n").subList(0, 2), List.of("1", "20"));
        }
        connection.setAutoCommit(false);
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO made (n, at, big) VALUES (?, ?, ?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int number = 0; number < 500; number++) {
                insert.setInt(1, number);
                insert.setTimestamp(2, Timestamp.valueOf("2024-02-29 01:02:03.456789"));
                insert.setObject(3, new java.math.BigDecimal("18446744073709551615"));
                insert.addBatch();
            }
            check("a batch", insert.executeBatch().length, 500);
            check("its keys", column(insert.getGeneratedKeys(), "GENERATED_KEY").size(), 500);
        }
        Savepoint point = connection.setSavepoint("here");
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM made");
        }
        connection.rollback(point);
        connection.commit();
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            statement.setFetchSize(Integer.MIN_VALUE);
            int count = 0;
            try (ResultSet rows = statement.executeQuery("SELECT a.big FROM made a, made b LIMIT 100000")) {
                while (rows.next()) count += rows.getObject(1) == null ? 0 : 1;
            }
            check("rows that are streamed", count > 90_000, true);
        }
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        connection.setReadOnly(true);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM made");
            throw new AssertionError("a connection that only reads has written");
        } catch (SQLException error) {
            check("only reads", error.getErrorCode() == 1792 || error.getErrorCode() == 0, true);
        }
        connection.setReadOnly(false);
        check("valid", connection.isValid(3), true);
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE made");
        }
    }
}
