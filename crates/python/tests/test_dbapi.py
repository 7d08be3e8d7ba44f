"""PEP 249, point by point."""

import datetime
import inspect

import pytest

import leafline


def test_the_module_says_what_it_is():
    assert leafline.apilevel == "2.0"
    assert leafline.threadsafety == 2
    assert leafline.paramstyle == "qmark"


def test_exceptions_are_related_as_the_standard_has_them(connection):
    assert issubclass(leafline.Warning, Exception) and not issubclass(leafline.Warning, leafline.Error)
    assert issubclass(leafline.InterfaceError, leafline.Error)
    assert not issubclass(leafline.InterfaceError, leafline.DatabaseError)
    for name in "DataError OperationalError IntegrityError InternalError ProgrammingError NotSupportedError".split():
        assert issubclass(getattr(leafline, name), leafline.DatabaseError)
        assert getattr(connection, name) is getattr(leafline, name)
    for name in ("Warning", "Error", "InterfaceError", "DatabaseError"):
        assert getattr(connection, name) is getattr(leafline, name)


@pytest.mark.parametrize(
    "statement, kind, errno, sqlstate",
    [
        ("SELEC 1", leafline.ProgrammingError, 1064, "42000"),
        ("SELECT * FROM nowhere", leafline.ProgrammingError, 1146, "42S02"),
        ("SELECT nothing FROM t", leafline.ProgrammingError, 1054, "42S22"),
        ("USE nowhere", leafline.ProgrammingError, 1049, "42000"),
        ("INSERT INTO t VALUES (1, 'again', NULL)", leafline.IntegrityError, 1062, "23000"),
        ("INSERT INTO t VALUES (2, NULL, NULL)", leafline.IntegrityError, 1048, "23000"),
        ("INSERT INTO t VALUES (2, 'x', 7)", leafline.IntegrityError, 1452, "23000"),
        ("INSERT INTO t VALUES (-1, 'x', NULL)", leafline.IntegrityError, 3819, "HY000"),
        ("INSERT INTO t VALUES (99999999999, 'x', NULL)", leafline.DataError, 1264, "22003"),
        ("INSERT INTO t VALUES (3, 'xxxxxxxxxxxxxxxxxxx', NULL)", leafline.DataError, 1406, "22001"),
        ("SELECT 18446744073709551615 + 1", leafline.DataError, 1690, "22003"),
        ("EXPLAIN ANALYZE SELECT * FROM t FOR UPDATE", leafline.NotSupportedError, 1235, "42000"),
        ("KILL 1000000", leafline.OperationalError, 1094, "HY000"),
    ],
)
def test_error_numbers_decide_the_exception(connection, statement, kind, errno, sqlstate):
    connection.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10) NOT NULL, up INT, FOREIGN KEY (up) REFERENCES t (id), CHECK (id >= 0))"
    )
    connection.execute("INSERT INTO t VALUES (1, 'one', NULL)")
    with pytest.raises(kind) as caught:
        connection.execute(statement).fetchall()
    assert (caught.value.errno, caught.value.sqlstate) == (errno, sqlstate)
    assert caught.value.args == (errno, caught.value.message)
    assert str(caught.value).startswith(f"{errno} ({sqlstate}): ")


def test_a_cursor_before_its_first_statement(cursor):
    assert cursor.description is None and cursor.rowcount == -1 and cursor.lastrowid is None and cursor.arraysize == 1
    with pytest.raises(leafline.Error):
        cursor.fetchone()
    cursor.setinputsizes([1])
    cursor.setoutputsize(1)
    cursor.setoutputsize(1, 0)
    with pytest.raises(leafline.Error):
        cursor.callproc("p")


def test_statements_without_rows(cursor):
    assert cursor.execute("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)") is cursor
    assert cursor.description is None
    with pytest.raises(leafline.ProgrammingError):
        cursor.fetchall()
    cursor.execute("INSERT INTO t (n) VALUES (?), (?), (?)", (10, 20, None))
    assert cursor.rowcount == 3 and cursor.lastrowid == 1
    cursor.execute("INSERT INTO t VALUES (70, 7)")
    assert cursor.lastrowid == 70
    cursor.execute("UPDATE t SET n = 10 WHERE n <= 20")
    # As in SQLite and PostgreSQL, the count includes a row whose values stay the same.
    assert cursor.rowcount == 3 and cursor.lastrowid is None
    cursor.execute("DELETE FROM t WHERE n IS NULL")
    assert cursor.rowcount == 1


def test_fetching(cursor):
    cursor.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    cursor.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(20_000)))
    assert cursor.rowcount == 20_000
    cursor.execute("SELECT id FROM t ORDER BY id")
    assert cursor.rowcount == -1
    assert cursor.fetchone() == (0,)
    assert cursor.fetchmany() == [(1,)]
    cursor.arraysize = 3
    assert cursor.fetchmany() == [(2,), (3,), (4,)]
    assert cursor.fetchmany(0) == [] and cursor.fetchmany(size=2) == [(5,), (6,)]
    assert next(iter(cursor)) == (7,)
    rest = cursor.fetchall()
    assert rest == [(n,) for n in range(8, 20_000)]
    assert cursor.fetchone() is None and cursor.fetchmany(5) == [] and cursor.fetchall() == []
    assert [row for row in cursor.execute("SELECT id FROM t WHERE id < 3 ORDER BY id")] == [(0,), (1,), (2,)]
    assert cursor.rowcount == 3
    assert cursor.nextset() is None
    with pytest.raises(leafline.ProgrammingError):
        cursor.fetchone()


def test_procedures(connection, cursor):
    cursor.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    cursor.execute(
        "CREATE PROCEDURE p(a INT, OUT b INT, INOUT c VARCHAR(9)) BEGIN SELECT a; SELECT a + 1, 'x' UNION ALL SELECT 0, 'y';"
        " INSERT INTO t VALUES (a); SET b = a * 2, c = UPPER(c); END"
    )
    given = (4, None, "c")
    assert cursor.callproc("p", given) == [4, 8, "C"] and given == (4, None, "c")
    # The procedure has run to its end.
    assert connection.execute("SELECT id FROM t").fetchall() == [(4,)]
    assert cursor.description[0][0] == "a" and cursor.rowcount == 1 and cursor.fetchall() == [(4,)]
    assert cursor.nextset() is True
    assert len(cursor.description) == 2 and cursor.rowcount == 2 and cursor.fetchone() == (5, "x")
    assert cursor.nextset() is None and cursor.description is None
    with pytest.raises(leafline.ProgrammingError):
        cursor.fetchone()
    assert cursor.nextset() is None
    cursor.execute("CALL p(?, @b, @c)", (5,))
    assert cursor.fetchall() == [(5,)] and cursor.nextset() and cursor.fetchall() == [(6, "x"), (0, "y")]
    cursor.execute("CREATE PROCEDURE `q r`() INSERT INTO t VALUES (70)")
    assert cursor.callproc("test.q r") == [] and cursor.rowcount == 1 and cursor.nextset() is None
    with pytest.raises(leafline.IntegrityError):
        cursor.callproc("p", [5, None, None])
    with pytest.raises(leafline.ProgrammingError) as caught:
        cursor.callproc("p", [5])
    assert caught.value.errno == 1318
    with pytest.raises(leafline.ProgrammingError):
        cursor.executemany("CALL p(?, @b, @c)", [(6,), (7,)])


def test_description(cursor):
    cursor.execute(
        "CREATE TABLE t (a INT NOT NULL, b DECIMAL(9, 3), c VARCHAR(5), d TEXT, e VARBINARY(5), f BLOB, g DATETIME, h BIT(3), i JSON,"
        " j CHAR(2), k ENUM('x'), l DOUBLE, m TIME, n TIMESTAMP NULL, o YEAR, p DATE, q BINARY(2))"
    )
    cursor.execute("SELECT * FROM t")
    kinds = {column[0]: column[1] for column in cursor.description}
    expected = {leafline.NUMBER: "ablo", leafline.STRING: "cdijk", leafline.BINARY: "efhq", leafline.DATETIME: "gmnp"}
    for kind, names in expected.items():
        for name in names:
            assert kinds[name] == kind, name
            assert not any(kinds[name] == other for other in expected if other is not kind), name
    assert all(len(column) == 7 for column in cursor.description)
    by_name = {column[0]: column for column in cursor.description}
    assert by_name["a"][6] is False and by_name["b"][4:] == (9, 3, True)
    assert leafline.ROWID != leafline.NUMBER


def test_constructors():
    assert leafline.Date(2024, 2, 29) == datetime.date(2024, 2, 29)
    assert leafline.Time(1, 2, 3) == datetime.time(1, 2, 3)
    assert leafline.Timestamp(2024, 2, 29, 1, 2, 3) == datetime.datetime(2024, 2, 29, 1, 2, 3)
    ticks = datetime.datetime(2024, 2, 29, 1, 2, 3).timestamp()
    assert leafline.DateFromTicks(ticks) == leafline.Date(2024, 2, 29)
    assert leafline.TimeFromTicks(ticks) == leafline.Time(1, 2, 3)
    assert leafline.TimestampFromTicks(ticks) == leafline.Timestamp(2024, 2, 29, 1, 2, 3)
    assert leafline.Binary(b"x") == b"x"


def test_parameters_are_a_sequence(cursor):
    assert cursor.execute("SELECT ?", [1]).fetchone() == (1,)
    assert cursor.execute("SELECT 1", ()).fetchone() == (1,)
    for wrong in ("x", b"x", {"a": 1}, 5):
        with pytest.raises(leafline.ProgrammingError):
            cursor.execute("SELECT ?", wrong)
    with pytest.raises(leafline.ProgrammingError) as caught:
        cursor.execute("SELECT ?, ?", (1,))
    assert caught.value.errno == 1210
    with pytest.raises(leafline.ProgrammingError):
        cursor.execute("SELECT ?")
    with pytest.raises(leafline.ProgrammingError):
        cursor.execute("SELECT ?", (object(),))


def test_one_statement_at_a_time(cursor):
    with pytest.raises(leafline.ProgrammingError) as caught:
        cursor.execute("SELECT 1; SELECT 2")
    assert caught.value.errno == 1064
    assert cursor.execute("SELECT 1;").fetchall() == [(1,)]


def test_transactions(path, connection):
    other = leafline.connect(path, "test")
    connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    assert connection.autocommit is False
    connection.execute("INSERT INTO t VALUES (1)")
    assert connection.in_transaction
    assert other.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)
    other.rollback()
    connection.commit()
    assert not connection.in_transaction
    assert other.execute("SELECT COUNT(*) FROM t").fetchone() == (1,)
    other.rollback()
    connection.execute("INSERT INTO t VALUES (2)")
    connection.rollback()
    assert connection.execute("SELECT id FROM t").fetchall() == [(1,)]
    connection.autocommit = True
    connection.execute("INSERT INTO t VALUES (3)")
    assert not connection.in_transaction and connection.autocommit
    assert other.execute("SELECT COUNT(*) FROM t").fetchone() == (2,)
    other.close()


def test_a_block_commits_or_rolls_back(connection):
    connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with connection as same:
        assert same is connection
        connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(KeyError):
        with connection:
            connection.execute("INSERT INTO t VALUES (2)")
            raise KeyError
    assert not connection.in_transaction and not connection.closed
    with connection.cursor() as cursor:
        assert cursor.execute("SELECT id FROM t").fetchall() == [(1,)]
    with pytest.raises(leafline.ProgrammingError):
        cursor.execute("SELECT 1")


def test_executemany_is_all_or_nothing_with_autocommit(path):
    connection = leafline.connect(path, "test", autocommit=True)
    connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with pytest.raises(leafline.IntegrityError):
        connection.executemany("INSERT INTO t VALUES (?)", [(n % 3000,) for n in range(5000)])
    assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)
    with pytest.raises(ZeroDivisionError):
        connection.executemany("INSERT INTO t VALUES (?)", ((n + 0 // (1999 - n),) for n in range(5000)))
    assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (0,) and not connection.in_transaction
    with pytest.raises(leafline.ProgrammingError):
        connection.executemany("SELECT ?", [(1,)])
    cursor = connection.executemany("INSERT INTO t VALUES (?)", [])
    assert cursor.rowcount == 0
    # Rows of one cursor are the parameters of another of the same connection.
    connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5000)])
    connection.executemany("INSERT INTO t VALUES (? + 10000)", connection.execute("SELECT id FROM t"))
    assert connection.execute("SELECT COUNT(*), MAX(id) FROM t").fetchone() == (10_000, 14_999)
    connection.close()


def test_cursors_of_a_connection_are_read_by_turns(connection):
    connection.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, 0) for n in range(30_000)])
    connection.commit()
    one, two = connection.execute("SELECT id FROM t ORDER BY id"), connection.execute("SELECT id FROM t ORDER BY id DESC")
    for n in range(15_000):
        assert one.fetchone() == (n,) and two.fetchone() == (29_999 - n,)
        if n % 1000 == 0:
            connection.execute("UPDATE t SET n = n + 1 WHERE id = ?", (n + 14_999,))
            connection.commit() if n % 2000 else connection.rollback()
    connection.execute("DROP TABLE t")
    assert one.fetchall() == [(n,) for n in range(15_000, 30_000)]
    assert two.fetchone() == (14_999,)


def test_what_is_closed_says_so(path):
    connection = leafline.connect(path)
    cursor = connection.execute("SELECT 1")
    connection.close()
    connection.close()
    assert connection.closed and "closed" in repr(connection)
    for use in (connection.commit, connection.rollback, lambda: cursor.execute("SELECT 1")):
        with pytest.raises(leafline.ProgrammingError, match="closed"):
            use()
    cursor.close()
    cursor.close()
    with pytest.raises(leafline.ProgrammingError, match="closed"):
        cursor.fetchone()
    # Attributes of a closed object can still be read.
    assert cursor.rowcount == -1 and cursor.description is None and cursor.lastrowid is None and cursor.arraysize == 1


def test_what_is_public_is_documented():
    for kind in (leafline.Connection, leafline.Cursor):
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_") and not inspect.isclass(member):
                assert inspect.getdoc(member), name
    assert leafline.connect.__doc__ and leafline.__doc__
