<?php
// Everyday work of PHP programs through mysqli and PDO against a running server: prepared statements, several
// statements in one, unbuffered rows, errors, transactions, other users.
//
// Environment: LEAFLINE_PORT; root has no password. Creates the database `clients_php` anew. Exits with 1 and a
// message on failure.
declare(strict_types=1);

function ensure(string $what, mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new Exception("$what: " . json_encode($found) . ' instead of ' . json_encode($expected));
    }
}

const MANY = 'WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i FROM n a, n b LIMIT 100000';

function throughMysqli(int $port): void
{
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $db = new mysqli('127.0.0.1', 'root', '', '', $port);
    $db->set_charset('utf8mb4');
    $db->query('DROP DATABASE IF EXISTS clients_php');
    $db->query('CREATE DATABASE clients_php');
    $db->select_db('clients_php');
    $db->query('CREATE TABLE p (id INT PRIMARY KEY AUTO_INCREMENT, t VARCHAR(40), d DECIMAL(10, 2), b BLOB, j JSON, at DATETIME(3), u BIGINT UNSIGNED, bits BIT(5))');
    $insert = $db->prepare('INSERT INTO p (t, d, b, j, at, u, bits) VALUES (?, ?, ?, ?, ?, ?, ?)');
    [$t, $d, $b, $j, $at, $u, $bits] = ["é🦀", '12.50', "\0\xff", '{"a": 1}', '2024-02-29 01:02:03.456', '18446744073709551615', 21];
    $insert->bind_param('ssbsssi', $t, $d, $b, $j, $at, $u, $bits);
    $insert->send_long_data(2, $b);
    $insert->execute();
    ensure('its number', [$insert->insert_id, $insert->affected_rows], [1, 1]);
    $select = $db->prepare('SELECT * FROM p WHERE id = ?');
    $id = 1;
    $select->bind_param('i', $id);
    $select->execute();
    $row = $select->get_result()->fetch_row();
    $select->close();
    ensure('a row', [$row[1], $row[2], bin2hex($row[3]), $row[4], $row[5], $row[6], (int) $row[7]], [$t, $d, '00ff', $j, $at, $u, $bits]);
    $db->multi_query("SELECT 1; INSERT INTO p (t) VALUES ('x'), ('y'); SELECT 2");
    $results = [];
    do {
        $result = $db->store_result();
        $results[] = $result ? (int) $result->fetch_row()[0] : $db->affected_rows;
    } while ($db->more_results() && $db->next_result());
    ensure('several results', $results, [1, 2, 2]);
    try {
        $db->query('SELECT 1; SELECT 2');
        throw new Exception('several statements are allowed only when they are asked for');
    } catch (mysqli_sql_exception $error) {
        ensure('several statements', $error->getCode(), 1064);
    }
    $rows = $db->query(MANY, MYSQLI_USE_RESULT);
    for ($count = 0; $rows->fetch_row(); $count++);
    ensure('rows that are not kept', $count, 100000);
    $rows->free();
    $db->begin_transaction();
    $db->query('DELETE FROM p');
    $db->rollback();
    try {
        $db->query('INSERT INTO p (id) VALUES (1)');
        throw new Exception('a key twice');
    } catch (mysqli_sql_exception $error) {
        ensure('a key twice', [$error->getCode(), $error->getSqlState()], [1062, '23000']);
    }
    $db->change_user('root', '', 'clients_php');
    ensure('after another login', (int) $db->query('SELECT COUNT(*) FROM p')->fetch_row()[0], 3);
}

function throughPdo(int $port, bool $emulated): void
{
    $options = [PDO::ATTR_EMULATE_PREPARES => $emulated, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
    $db = new PDO("mysql:host=127.0.0.1;port=$port;dbname=clients_php;charset=utf8mb4", 'root', '', $options);
    $select = $db->prepare('SELECT t, d, HEX(b), u FROM p WHERE id = :id AND t LIKE :t');
    $select->execute([':id' => 1, ':t' => 'é%']);
    ensure('a row', array_map(strval(...), $select->fetch(PDO::FETCH_NUM)), ["é🦀", '12.50', '00FF', '18446744073709551615']);
    $select->closeCursor();
    $db->beginTransaction();
    $db->exec("UPDATE p SET t = 'undone'");
    $db->rollBack();
    $text = $db->query('SELECT t FROM p WHERE id = 1');
    ensure('undone', $text->fetchColumn(), "é🦀");
    ensure('its column', [$text->getColumnMeta(0)['table'], $text->getColumnMeta(0)['native_type']], ['p', 'VAR_STRING']);
    $text->closeCursor();
    $db->exec("INSERT INTO p (t) VALUES ('z')");
    ensure('its number', $db->lastInsertId(), $db->query('SELECT MAX(id) FROM p')->fetchColumn() . '');
    $db->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
    $count = 0;
    foreach ($db->query(MANY) as $_) {
        $count++;
    }
    ensure('rows that are not kept', $count, 100000);
    try {
        $db->exec('INSERT INTO p (id) VALUES (1)');
        throw new Exception('a key twice');
    } catch (PDOException $error) {
        ensure('a key twice', $error->errorInfo[1], 1062);
    }
}

try {
    $port = (int) getenv('LEAFLINE_PORT');
    throughMysqli($port);
    throughPdo($port, true);
    throughPdo($port, false);
    echo "PHP, mysqli, PDO: ok\n";
} catch (Throwable $error) {
    echo "PHP: FAILED: {$error->getMessage()}\n{$error->getTraceAsString()}\n";
    exit(1);
}
