"""Conversions between Python's values and SQL's."""

import datetime
import decimal
import json

import pytest

import leafline

D = decimal.Decimal


@pytest.mark.parametrize(
    "declared, given, expected",
    [
        ("TINYINT", -128, -128),
        ("BIGINT", -(2**63), -(2**63)),
        ("BIGINT UNSIGNED", 2**64 - 1, 2**64 - 1),
        ("INT", True, 1),
        ("BOOLEAN", False, 0),
        ("DECIMAL(65, 30)", D("-12345678901234567890123456789012345.123456789012345678901234567891"), None),
        ("DECIMAL(65)", 10**64, D(10**64)),
        ("DECIMAL(10, 2)", D("1E+3"), D("1000.00")),
        ("DECIMAL(10, 2)", 1.25, D("1.25")),
        ("DOUBLE", 0.1, 0.1),
        ("DOUBLE", -1.7976931348623157e308, None),
        ("FLOAT", 0.1, 0.1),
        ("VARCHAR(20)", "é🦀\0'\\\"%s?", None),
        ("TEXT", "x" * 60_000, None),
        ("LONGTEXT", "é" * 300_000, None),
        ("CHAR(4)", "ab", "ab"),
        ("VARBINARY(10)", b"\x00\xff'\\", None),
        ("LONGBLOB", bytes(range(256)) * 3000, None),
        ("VARBINARY(10)", bytearray(b"\x00\x01"), b"\x00\x01"),
        ("VARBINARY(10)", memoryview(b"\x00\x01"), b"\x00\x01"),
        ("BINARY(3)", b"a", b"a\0\0"),
        ("DATE", datetime.date(2024, 2, 29), None),
        ("DATE", datetime.date(9999, 12, 31), None),
        ("DATETIME(6)", datetime.datetime(1000, 1, 1, 23, 59, 59, 999999), None),
        ("DATETIME", datetime.datetime(2024, 2, 29, 1, 2, 3), None),
        ("TIMESTAMP(3)", datetime.datetime(2024, 2, 29, 1, 2, 3, 500000), None),
        ("TIME(6)", datetime.timedelta(hours=-838, minutes=-59, microseconds=-1), None),
        ("TIME(6)", datetime.timedelta(days=1, microseconds=5), None),
        ("TIME", datetime.time(23, 4, 5), datetime.timedelta(hours=23, minutes=4, seconds=5)),
        ("YEAR", 2024, 2024),
        ("BIT(10)", 513, b"\x02\x01"),
        ("BIT(64)", b"\x80" + b"\0" * 7, None),
        ("ENUM('a', 'b')", "b", "b"),
        ("SET('a', 'b', 'c')", "c,a", "a,c"),
        ("JSON", '{"b": [1, 2.5, null], "a": "é"}', None),
        ("INT", None, None),
    ],
)
def test_values_of_every_type_come_back(connection, declared, given, expected):
    expected = given if expected is None else expected
    connection.execute(f"CREATE TABLE t (id INT PRIMARY KEY, v {declared} NULL)")
    connection.execute("INSERT INTO t VALUES (1, ?)", (given,))
    for statement in ("SELECT v FROM t WHERE id = 1", "SELECT v FROM t", "SELECT v FROM t ORDER BY v, id"):
        (found,) = connection.execute(statement).fetchone()
        if declared == "JSON":
            assert isinstance(found, str) and json.loads(found) == json.loads(expected)
        else:
            assert (found, type(found)) == (expected, type(expected)), statement
    (many,) = connection.execute("SELECT v FROM t UNION ALL SELECT v FROM t WHERE id = ?", (1,)).fetchmany(1)
    assert type(many[0]) is type(found)


def test_expressions_have_types_too(connection):
    row = connection.execute("SELECT 1, 1.50, 1e0, 'x', x'00ff', NULL, DATE'2024-01-01', 1 = 1, b'101', ?", (2.5,)).fetchone()
    assert row == (1, D("1.50"), 1.0, "x", b"\x00\xff", None, datetime.date(2024, 1, 1), 1, b"\x05", 2.5)


def test_dates_that_are_no_days_are_text(connection):
    connection.execute("SET sql_mode = 'ALLOW_INVALID_DATES'")
    connection.execute("CREATE TABLE t (d DATE, t DATETIME(3))")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?)",
        [("0000-00-00", "0000-00-00 00:00:00"), ("2024-00-10", "2024-00-10 01:02:03"), ("2024-02-31", "2024-02-31 01:02:03")],
    )
    assert connection.execute("SELECT d, t FROM t ORDER BY d").fetchall() == [
        ("0000-00-00", "0000-00-00 00:00:00.000"),
        ("2024-00-10", "2024-00-10 01:02:03.000"),
        ("2024-02-31", "2024-02-31 01:02:03.000"),
    ]


def test_times_with_a_zone_are_shown_in_the_sessions(connection):
    connection.execute("SET time_zone = '+02:00'")
    connection.execute("CREATE TABLE t (a DATETIME, b TIMESTAMP)")
    moment = datetime.datetime(2024, 6, 1, 12, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))
    connection.execute("INSERT INTO t VALUES (?, ?)", (moment, moment))
    shown = datetime.datetime(2024, 6, 1, 19, 0)
    assert connection.execute("SELECT a, b FROM t").fetchone() == (shown, shown)
    assert connection.execute("SELECT COUNT(*) FROM t WHERE b = ?", (moment,)).fetchone() == (1,)
    connection.execute("SET time_zone = '+00:00'")
    assert connection.execute("SELECT b FROM t").fetchone() == (datetime.datetime(2024, 6, 1, 17, 0),)
    with pytest.raises(leafline.ProgrammingError):
        connection.execute("SELECT ?", (datetime.time(1, tzinfo=datetime.timezone.utc),))


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), D("NaN"), D("Infinity"), 10**70, -(10**70), datetime.timedelta(hours=839), 1 << 100_000],
    ids=["nan", "inf", "Decimal nan", "Decimal inf", "10^70", "-10^70", "839 hours", "2^100000"],
)
def test_what_sql_has_no_value_for_is_refused(connection, value):
    with pytest.raises(leafline.DataError):
        connection.execute("SELECT ?", (value,))


def test_subclasses_and_integers_by_index(connection):
    import enum

    class Colour(enum.IntEnum):
        RED = 7

    class Name(str):
        pass

    class Index:
        def __index__(self):
            return 9

    assert connection.execute("SELECT ?, ?, ?", (Colour.RED, Name("x"), Index())).fetchone() == (7, "x", 9)


def test_text_that_is_no_text_is_refused(connection):
    with pytest.raises((leafline.Error, UnicodeEncodeError)):
        connection.execute("SELECT ?", ("\ud800",))
    with pytest.raises((leafline.Error, UnicodeEncodeError)):
        connection.execute("SELECT '\ud800'")


def test_numpy_scalars(connection):
    numpy = pytest.importorskip("numpy")
    values = [numpy.int64(-5), numpy.uint8(5), numpy.float32(0.5), numpy.float64(0.25), numpy.bool_(True)]
    assert connection.execute("SELECT ?, ?, ?, ?, ?", values).fetchone() == (-5, 5, 0.5, 0.25, 1)
    moment = numpy.datetime64("2024-02-29T01:02:03")
    assert connection.execute("SELECT CAST(? AS DATETIME)", (moment,)).fetchone() == (datetime.datetime(2024, 2, 29, 1, 2, 3),)


def test_nothing_in_pandas(connection):
    pandas = pytest.importorskip("pandas")
    given = (pandas.NaT, pandas.NA, pandas.Timestamp("2024-02-29 01:02:03"))
    assert connection.execute("SELECT ?, ?, CAST(? AS DATETIME)", given).fetchone() == (
        None,
        None,
        datetime.datetime(2024, 2, 29, 1, 2, 3),
    )
