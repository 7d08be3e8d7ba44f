"""Leafline: an embedded relational database with MySQL's dialect.

This is DB-API 2.0 (PEP 249), and results as Arrow::

    import leafline

    connection = leafline.connect("./data", database="shop")
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40), price DECIMAL(8, 2))")
    cursor.executemany("INSERT INTO item (name, price) VALUES (?, ?)", [("pen", "1.20"), ("ink", 4)])
    connection.commit()
    for name, price in cursor.execute("SELECT name, price FROM item WHERE price > ?", (2,)):
        print(name, price)
    frame = cursor.execute("SELECT * FROM item").df()

Parameters are ``?``. Many threads may each have a connection; those of one process to one directory share the database.
"""

import atexit as _atexit
import datetime as _datetime
import time as _time

from ._exceptions import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ._native import Connection, Cursor, _close_all, connect
from ._types import BINARY, DATETIME, NUMBER, ROWID, STRING, TypeObject

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

Date = _datetime.date
Time = _datetime.time
Timestamp = _datetime.datetime
Binary = bytes


def DateFromTicks(ticks):
    """Returns the local date ``ticks`` seconds after the epoch."""
    return Date(*_time.localtime(ticks)[:3])


def TimeFromTicks(ticks):
    """Returns the local time of day ``ticks`` seconds after the epoch."""
    return Time(*_time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks):
    """Returns the local date and time ``ticks`` seconds after the epoch."""
    return Timestamp(*_time.localtime(ticks)[:6])


# Flushes and closes databases that are still open before the interpreter ends.
_atexit.register(_close_all)

__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "TypeObject",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
