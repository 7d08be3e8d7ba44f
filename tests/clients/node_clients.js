// Everyday work of Node.js programs through `mysql2` and `mariadb` against a running server: logins over each
// transport, prepared statements, many rows, errors, transactions.
//
// Environment: LEAFLINE_PORT, LEAFLINE_SOCKET, LEAFLINE_PASSWORD, LEAFLINE_CA. Exits with 1 and a message on failure.
const assert = require("node:assert");
const fs = require("node:fs");
const { LEAFLINE_PORT: port, LEAFLINE_SOCKET: socketPath, LEAFLINE_PASSWORD: password, LEAFLINE_CA: ca } = process.env;

const transports = {
    tcp: { host: "127.0.0.1", port: Number(port) },
    tls: { host: "127.0.0.1", port: Number(port), ssl: { ca: fs.readFileSync(ca), checkServerIdentity: () => undefined } },
    socket: { socketPath },
};

// `query` and `execute` return rows, or the result of a change.
async function work(query, execute, isSecure) {
    const cipher = await query("SHOW STATUS LIKE 'Ssl_cipher'");
    assert.equal(cipher[0].Value !== "", isSecure);
    await query("CREATE DATABASE IF NOT EXISTS clients");
    await query("DROP TABLE IF EXISTS clients.n");
    await query("CREATE TABLE clients.n (id INT PRIMARY KEY, t VARCHAR(40), d DECIMAL(10, 2), at DATETIME, b BLOB)");
    await execute("INSERT INTO clients.n VALUES (?, ?, ?, ?, ?)", [1, "é🦀", "12.50", "2024-02-29 01:02:03", Buffer.from([0, 255])]);
    const [row] = await execute("SELECT * FROM clients.n WHERE id = ?", [1]);
    assert.equal(row.t, "é🦀");
    assert.equal(Number(row.d), 12.5);
    assert.deepEqual(row.b, Buffer.from([0, 255]));
    await query("BEGIN");
    await execute("UPDATE clients.n SET t = ? WHERE id = 1", ["undone"]);
    await query("ROLLBACK");
    assert.equal((await query("SELECT t FROM clients.n"))[0].t, "é🦀");
    await assert.rejects(query("INSERT INTO clients.n (id) VALUES (1)"), (error) => error.errno === 1062);
    const many = await query("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT a.n FROM r a, r b LIMIT 200000");
    assert.equal(many.length, 200000);
}

async function throughMysql2(options, isSecure) {
    const connection = await require("mysql2/promise").createConnection({ user: "root", password, ...options });
    const rows = async (result) => (await result)[0];
    await work((sql) => rows(connection.query(sql)), (sql, values) => rows(connection.execute(sql, values)), isSecure);
    await connection.changeUser({ user: "root", password });
    assert.equal((await rows(connection.query("SELECT 1 AS one")))[0].one, 1);
    await connection.end();
}

async function throughMariadb(options, isSecure) {
    const connection = await require("mariadb").createConnection({ user: "root", password, allowPublicKeyRetrieval: true, ...options });
    await work((sql) => connection.query(sql), (sql, values) => connection.execute(sql, values), isSecure);
    await connection.end();
}

async function main() {
    let failed = 0;
    for (const [client, run] of Object.entries({ mysql2: throughMysql2, "mysql2, compressed": (options, isSecure) => throughMysql2({ compress: true, ...options }, isSecure), mariadb: throughMariadb })) {
        for (const [transport, options] of Object.entries(transports)) {
            try {
                await run(options, transport === "tls");
            } catch (error) {
                failed += 1;
                console.log(`Node.js, ${client}, ${transport}: FAILED`, error);
            }
        }
    }
    if (failed === 0) console.log("Node.js, mysql2 and mariadb: ok");
    process.exit(failed > 0 ? 1 : 0);
}

main();
