"""Results as Arrow, and Arrow into tables: with those of pyarrow, pandas, polars and DuckDB that are installed."""

import datetime
import decimal

import pytest

import leafline

pyarrow = pytest.importorskip("pyarrow")

TYPES = (
    "CREATE TABLE {} (id INT PRIMARY KEY, big BIGINT UNSIGNED, price DECIMAL(10, 2), huge DECIMAL(50, 5), ratio DOUBLE, name VARCHAR(40),"
    " raw VARBINARY(20), day DATE, at DATETIME(6), span TIME(6), kind ENUM('a', 'b'), doc JSON)"
)
ROW = (
    1,
    2**64 - 1,
    decimal.Decimal("-12.50"),
    decimal.Decimal("123456789012345678901234567890123456789.12345"),
    0.1,
    "é🦀",
    b"\x00\xff",
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime.timedelta(hours=-1, microseconds=5),
    "b",
    '{"a": 1}',
)


@pytest.fixture
def table(connection):
    connection.execute(TYPES.format("t"))
    places = ", ".join("?" * len(ROW))
    connection.execute(f"INSERT INTO t VALUES ({places})", ROW)
    connection.executemany("INSERT INTO t (id, name) VALUES (?, ?)", [(n, f"row {n}") for n in range(2, 30_001)])
    connection.commit()
    return connection


def test_a_table_has_the_rows(table):
    found = table.execute("SELECT * FROM t ORDER BY id").fetch_arrow_table()
    assert found.num_rows == 30_000
    assert tuple(found.slice(0, 1).to_pylist()[0].values()) == ROW
    assert found.column("name").to_pylist()[1:] == [f"row {n}" for n in range(2, 30_001)]
    assert found.column("id").null_count == 0 and found.column("big").null_count == 29_999
    types = {field.name: str(field.type) for field in found.schema}
    assert types["id"] == "int64" and types["big"] == "uint64" and types["price"] == "decimal128(10, 2)"
    assert types["at"] == "timestamp[us]" and types["span"] == "duration[us]" and types["day"] == "date32[day]"
    one = table.execute("SELECT id, name FROM t WHERE id = ?", (5,)).fetch_arrow_table()
    assert one.to_pylist() == [{"id": 5, "name": "row 5"}]
    assert table.execute("SELECT id FROM t WHERE id < 0").fetch_arrow_table().num_rows == 0


def test_a_reader_reads_as_it_is_read(table):
    cursor = table.execute("SELECT id FROM t ORDER BY id")
    assert cursor.fetchmany(100)[-1] == (100,)
    reader = cursor.fetch_record_batch_reader()
    first = reader.read_next_batch()
    assert first.column(0)[0].as_py() == 101
    # The cursor has handed its rows over; other cursors go on meanwhile.
    assert cursor.fetchall() == []
    assert cursor.execute("SELECT COUNT(*) FROM t").fetchone() == (30_000,)
    table.execute("DELETE FROM t WHERE id > 10")
    rest = reader.read_all()
    assert first.num_rows + rest.num_rows == 29_900 and rest.column(0)[-1].as_py() == 30_000
    with pytest.raises(leafline.ProgrammingError):
        table.execute("DELETE FROM t").fetch_arrow_table()


def test_errors_come_through(table):
    with pytest.raises(leafline.DataError):
        table.execute("SELECT id, 9223372036854775807 + (id = 29999) FROM t ORDER BY id").fetch_arrow_table()
    reader = table.execute("SELECT 9223372036854775807 + (id = 29999) FROM t").fetch_record_batch_reader()
    with pytest.raises(Exception, match="1690"):
        reader.read_all()
    reader = table.execute("SELECT id FROM t").fetch_record_batch_reader()
    table.close()
    with pytest.raises(Exception, match="closed"):
        reader.read_all()


def test_nothing_is_held_for_a_stream_that_is_dropped(table):
    table.execute("SELECT id FROM t").__arrow_c_stream__()
    table.execute("SELECT id FROM t").fetch_record_batch_reader()
    table.execute("SELECT id FROM t").fetch_record_batch_reader().close()
    assert table.execute("SELECT 1").fetchone() == (1,)


def test_append_takes_what_arrow_has(table):
    table.execute(TYPES.format("u"))
    cursor = table.cursor()
    assert cursor.append("u", table.execute("SELECT * FROM t").fetch_arrow_table()) == 30_000
    assert cursor.rowcount == 30_000
    same = "SELECT * FROM t ORDER BY id"
    assert cursor.execute(same).fetchall() == table.execute("SELECT * FROM u ORDER BY id").fetchall()
    # Stores some columns, in another order, of a stream while it is read.
    table.execute("DELETE FROM u")
    cursor.append("u", table.execute("SELECT name, id FROM t"), schema="test")
    assert cursor.execute("SELECT COUNT(*), COUNT(big), MAX(name) FROM u").fetchone() == (30_000, 0, "row 9999")


@pytest.mark.parametrize(
    "declared, array, expected",
    [
        ("INT", pyarrow.array([1, None, -3], pyarrow.int8()), [1, None, -3]),
        ("INT", pyarrow.array([1, None, 3], pyarrow.uint16()), [1, None, 3]),
        ("INT", pyarrow.array([True, None, False]), [1, None, 0]),
        ("INT", pyarrow.nulls(3), [None, None, None]),
        ("DOUBLE", pyarrow.array([0.5, None, 2], pyarrow.float32()), [0.5, None, 2.0]),
        ("VARCHAR(9)", pyarrow.array(["a", None, "é"], pyarrow.large_string()), ["a", None, "é"]),
        ("VARCHAR(9)", pyarrow.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        ("VARBINARY(9)", pyarrow.array([b"a", None, b""], pyarrow.large_binary()), [b"a", None, b""]),
        ("BINARY(2)", pyarrow.array([b"ab", None, b"cd"], pyarrow.binary(2)), [b"ab", None, b"cd"]),
        ("DATE", pyarrow.array([0, None, 86_400_000], pyarrow.date64()), [datetime.date(1970, 1, 1), None, datetime.date(1970, 1, 2)]),
        (
            "DATETIME(6)",
            pyarrow.array([1, None, -1], pyarrow.timestamp("ms")),
            [datetime.datetime(1970, 1, 1, 0, 0, 0, 1000), None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)],
        ),
        (
            "DATETIME(6)",
            pyarrow.array([1999, None, 0], pyarrow.timestamp("ns", "Europe/Berlin")),
            [datetime.datetime(1970, 1, 1, 1, 0, 0, 1), None, datetime.datetime(1970, 1, 1, 1)],
        ),
        ("TIME(6)", pyarrow.array([5, None, 0], pyarrow.time64("us")), [datetime.timedelta(microseconds=5), None, datetime.timedelta()]),
        ("TIME", pyarrow.array([5, None, 0], pyarrow.time32("s")), [datetime.timedelta(seconds=5), None, datetime.timedelta()]),
        ("DECIMAL(40, 3)", pyarrow.array([decimal.Decimal("1.250"), None, 2], pyarrow.decimal256(40, 3)), [decimal.Decimal("1.250"), None, 2]),
    ],
)
def test_append_takes_every_type(connection, declared, array, expected):
    connection.execute("SET time_zone = '+01:00'")
    connection.execute(f"CREATE TABLE t (n INT PRIMARY KEY, v {declared})")
    connection.cursor().append("t", pyarrow.table({"n": [1, 2, 3], "v": array}))
    assert [row[0] for row in connection.execute("SELECT v FROM t ORDER BY n")] == expected


def test_append_refuses_what_it_cannot_store(connection):
    connection.execute("CREATE TABLE t (n INT PRIMARY KEY, v DOUBLE)")
    connection.autocommit = True
    cursor = connection.cursor()
    for wrong, kind in [
        ([1, 2], leafline.ProgrammingError),
        ({"n": [1]}, leafline.ProgrammingError),
        (pyarrow.table({"n": [[1]]}), leafline.NotSupportedError),
        (pyarrow.table({"n": [1, 2], "v": [1.0, float("nan")]}), leafline.DataError),
        (pyarrow.table({"n": [1, 2], "w": [1.0, 2.0]}), leafline.ProgrammingError),
        (pyarrow.table({"n": list(range(5000)) + [0]}), leafline.IntegrityError),
        (pyarrow.table({"n": [2**40]}), leafline.DataError),
        (pyarrow.table({}), leafline.ProgrammingError),
    ]:
        with pytest.raises(kind):
            cursor.append("t", wrong)
        assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)
    with pytest.raises(leafline.ProgrammingError):
        cursor.append("t` (n) SELECT 1 -- ", pyarrow.table({"n": [1]}))


def test_pandas(table):
    pandas = pytest.importorskip("pandas")
    frame = table.execute("SELECT id, name, ratio, at FROM t ORDER BY id").df()
    assert len(frame) == 30_000 and frame["id"].sum() == 30_000 * 30_001 // 2
    assert frame["ratio"].notna().sum() == 1 and frame["at"][0] == pandas.Timestamp(ROW[8])
    table.execute("CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(40), ratio DOUBLE, at DATETIME(6))")
    assert table.cursor().append("u", frame) == 30_000
    assert table.execute("SELECT id FROM u WHERE (name, ratio, at) = (?, ?, ?)", (ROW[5], 0.1, ROW[8])).fetchall() == [(1,)]


def test_polars(table):
    polars = pytest.importorskip("polars")
    frame = table.execute("SELECT id, name, price FROM t ORDER BY id").pl()
    assert frame.shape == (30_000, 3) and frame["name"][0] == "é🦀"
    assert polars.DataFrame(table.execute("SELECT id FROM t")).height == 30_000
    table.execute("CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10, 2))")
    assert table.cursor().append("u", frame) == 30_000
    assert table.execute("SELECT name, price FROM u WHERE id = 1").fetchone() == (ROW[5], ROW[2])


def test_duckdb(table):
    duckdb = pytest.importorskip("duckdb")
    rows = table.execute("SELECT id, name FROM t").fetch_record_batch_reader()
    assert duckdb.connect().execute("SELECT COUNT(*), SUM(id) FROM rows").fetchall() == [(30_000, 30_000 * 30_001 // 2)]


def test_who_keeps_the_interpreter_does_not_wait_forever(tmp_path):
    """Polars keeps the interpreter while it reads a stream, and the main thread's statement needs it to handle signals."""
    pytest.importorskip("polars")
    import subprocess
    import sys
    import textwrap

    source = """
        import leafline, polars, sys, threading, time
        connection = leafline.connect(sys.argv[1], "test", autocommit=True)
        connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(20_000)])
        cursor = connection.execute("SELECT id FROM t")
        ended = []
        def read():
            try:
                ended.append(polars.DataFrame(cursor).height)
            except Exception as error:
                ended.append(str(error))
        reading = threading.Thread(target=read)
        threading.Timer(0.3, reading.start).start()
        connection.execute("SELECT SLEEP(5)").fetchone()
        while not ended:
            time.sleep(0.01)
        print(ended[0], connection.execute("SELECT COUNT(*) FROM t").fetchone())
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(tmp_path / "db")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "(20000,)" in ended.stdout and ("another thread" in ended.stdout or "20000 (" in ended.stdout), ended
