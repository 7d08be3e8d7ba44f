"""The measurements of python.sh. Engines take turns, a round each; it prints medians of the rounds, and Leafline's rate by SQLite's.

Both have what is their default: SQLite its rollback journal and `synchronous=FULL`, Leafline its log synced at each commit; a cache of 128 MiB each.
"""

import argparse
import datetime
import gc
import pathlib
import random
import shutil
import sqlite3
import statistics
import time

import pyarrow

import leafline

CREATE = {
    "leafline": "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(40), price DOUBLE, n INT)",
    "sqlite3": "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL, n INTEGER)",
}
COLUMNS = ("id", "name", "price", "n")
CACHE = 128 << 20


def connect(engine, place):
    if engine == "leafline":
        return leafline.connect(place / "leafline", "test", buffer_pool_size=CACHE)
    connection = sqlite3.connect(place / "sqlite")
    connection.execute(f"PRAGMA cache_size = -{CACHE >> 10}")
    return connection


def arrow(engine, cursor):
    if engine == "leafline":
        return cursor.fetch_arrow_table()
    columns = zip(*cursor.fetchall())
    return pyarrow.table(dict(zip(COLUMNS, map(pyarrow.array, columns))))


def measure(engine, place, rows, keys):
    """Returns rows a second of each workload, by elapsed time and by processor time of all threads."""
    rates = {}

    def timed(name, count, work):
        gc.collect()
        began, used = time.perf_counter(), time.process_time()
        result = work()
        rates[name] = count / (time.perf_counter() - began), count / (time.process_time() - used)
        return result

    connection = connect(engine, place)
    connection.execute(CREATE[engine])
    connection.commit()
    cursor = connection.cursor()
    insert = "INSERT INTO t VALUES (?, ?, ?, ?)"

    def insert_many():
        cursor.executemany(insert, rows)
        connection.commit()

    timed("insert, executemany", len(rows), insert_many)
    extra = [(len(rows) + n, "a name", 0.5, n) for n in range(len(keys) // 4)]

    def insert_one_by_one():
        for row in extra:
            cursor.execute(insert, row)
        connection.rollback()

    timed("insert, execute", len(extra), insert_one_by_one)

    def look_up():
        for key in keys:
            cursor.execute("SELECT name, price FROM t WHERE id = ?", (key,))
            cursor.fetchone()

    timed("look-up by key", len(keys), look_up)
    everything = "SELECT id, name, price, n FROM t"
    found = timed("scan, fetchall", len(rows), lambda: cursor.execute(everything).fetchall())
    assert len(found) == len(rows)
    del found
    table = timed("scan to an Arrow table", len(rows), lambda: arrow(engine, cursor.execute(everything)))
    assert table.num_rows == len(rows)
    grouped = "SELECT n, COUNT(*), SUM(price) FROM t GROUP BY n"
    timed("sums by group", len(rows), lambda: cursor.execute(grouped).fetchall())

    def change():
        cursor.executemany("UPDATE t SET price = price + 1 WHERE id = ?", [(key,) for key in keys])
        connection.commit()

    timed("update by key, executemany", len(keys), change)
    connection.close()
    return rates


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("work", type=pathlib.Path)
    arguments.add_argument("--rows", type=int, default=300_000)
    arguments.add_argument("--lookups", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments = arguments.parse_args()
    chance = random.Random(7)
    rows = [(n, f"name of {n % 1000}", chance.random(), n % 100) for n in range(arguments.rows)]
    keys = [chance.randrange(arguments.rows) for _ in range(arguments.lookups)]
    rounds = {"leafline": [], "sqlite3": []}
    for number in range(arguments.rounds):
        for engine in sorted(rounds, reverse=number % 2 == 1):
            place = arguments.work / "data"
            place.mkdir()
            rounds[engine].append(measure(engine, place, rows, keys))
            shutil.rmtree(place)
    print(f"{arguments.rows:,} rows, {arguments.lookups:,} look-ups, {arguments.rounds} rounds, {datetime.date.today()}, SQLite {sqlite3.sqlite_version}")
    print("| workload, rows a second | leafline | sqlite3 | leafline by sqlite3 | by time of processor |")
    print("|---|---:|---:|---:|---:|")
    for workload in rounds["leafline"][0]:
        ours, theirs = (statistics.median(one[workload][0] for one in rounds[engine]) for engine in ("leafline", "sqlite3"))
        pairs = list(zip(rounds["leafline"], rounds["sqlite3"]))
        ratios = [statistics.median(a[workload][kind] / b[workload][kind] for a, b in pairs) for kind in (0, 1)]
        print(f"| {workload} | {ours:,.0f} | {theirs:,.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |")


main()
