"""Threads, signals, forks, memory, and closing a database."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import leafline


def run(source, *arguments, **options):
    command = [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_connections_of_a_process_share_the_database(path):
    one = leafline.connect(path, "test")
    two = leafline.connect(str(path), database="test")
    one.execute("CREATE TABLE t (id INT)")
    one.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    one.commit()
    one.close()
    assert two.execute("SELECT COUNT(*) FROM t").fetchone() == (2,)
    with pytest.raises(leafline.ProgrammingError, match="buffer_pool_size"):
        leafline.connect(path, buffer_pool_size=64 << 20)
    with pytest.raises(leafline.ProgrammingError, match="variables"):
        leafline.connect(path, variables={"sql_mode": "ANSI"})
    other = run("import leafline, sys; leafline.connect(sys.argv[1])", path)
    assert other.returncode != 0 and "already open" in other.stderr, other.stderr
    two.close()
    assert run("import leafline, sys; leafline.connect(sys.argv[1]).close()", path).returncode == 0


def test_how_a_database_is_opened(path, tmp_path):
    with pytest.raises(leafline.OperationalError, match="no database"):
        leafline.connect(path, create=False)
    connection = leafline.connect(path, page_size=4096, buffer_pool_size=32 << 20, variables={"sql_mode": "ANSI_QUOTES"})
    row = connection.execute("SELECT @@innodb_page_size, @@innodb_buffer_pool_size, @@sql_mode, DATABASE()").fetchone()
    assert row == (4096, 32 << 20, "ANSI_QUOTES", None)
    with pytest.raises(leafline.ProgrammingError) as caught:
        leafline.connect(path, "nowhere", create=False)
    assert caught.value.errno == 1049
    odd = leafline.connect(path, 'a`b."c')
    assert odd.execute("SELECT DATABASE()").fetchone() == ('a`b."c',)
    odd.close()
    connection.close()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("mine")
    with pytest.raises(leafline.OperationalError, match="not empty"):
        leafline.connect(tmp_path / "full")
    with pytest.raises(leafline.OperationalError):
        leafline.connect(tmp_path / "full" / "letter")
    with pytest.raises(leafline.DatabaseError) as caught:
        leafline.connect(tmp_path / "new", variables={"no_such_thing": 1})
    assert caught.value.errno == 1193


def test_many_threads_each_with_a_connection(path):
    first = leafline.connect(path, "test", autocommit=True)
    first.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    failed = []

    def work(number):
        try:
            connection = leafline.connect(path, "test")
            for turn in range(50):
                with connection:
                    connection.execute("INSERT INTO t VALUES (?, ?)", (number * 1000 + turn, turn))
            found = connection.execute("SELECT COUNT(*) FROM t WHERE id BETWEEN ? AND ?", (number * 1000, number * 1000 + 999))
            assert found.fetchone() == (50,)
            connection.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    assert first.execute("SELECT COUNT(*) FROM t").fetchone() == (400,)
    first.close()


def test_threads_share_a_connection_by_turns(connection):
    connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    failed = []

    def work(number):
        try:
            cursor = connection.cursor()
            cursor.executemany("INSERT INTO t VALUES (?)", [(number * 10_000 + n,) for n in range(3000)])
            cursor.execute("SELECT id FROM t WHERE id BETWEEN ? AND ? ORDER BY id", (number * 10_000, number * 10_000 + 9999))
            assert cursor.fetchall() == [(number * 10_000 + n,) for n in range(3000)]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (12_000,)


def test_other_threads_run_while_a_statement_does(connection):
    ended = []

    def sleep():
        with pytest.raises(leafline.OperationalError) as caught:
            connection.execute("SELECT SLEEP(60)")
        ended.append(caught.value.errno)

    asleep = threading.Thread(target=sleep)
    asleep.start()
    # The statement has released the interpreter, and this thread can stop it.
    while asleep.is_alive():
        connection.interrupt()
        asleep.join(0.01)
    assert ended == [1317]


INTERRUPTED = """
    import leafline, os, signal, sys, threading, time
    connection = leafline.connect(sys.argv[1], "test")
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INT)")
    def soon():
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)
    statement = sys.argv[2]
    if statement == "wait for a thread":
        threading.Thread(target=lambda: connection.execute("SELECT SLEEP(3)"), daemon=True).start()
        time.sleep(0.3)
        statement = "SELECT 1"
    threading.Thread(target=soon).start()
    try:
        connection.execute(statement).fetchall()
        print("ran")
    except KeyboardInterrupt:
        connection.interrupt()
        print("stopped", connection.execute("SELECT 1").fetchone())
    connection.close()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "DO SLEEP(600)",
        "WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT COUNT(*) FROM c a, c b, c d WHERE a.n + b.n * d.n < 0",
        "wait for a thread",
    ],
)
def test_ctrl_c_stops_a_statement(path, statement):
    ended = run(INTERRUPTED, path, statement)
    assert ended.stdout == "stopped (1,)\n", ended


def test_a_handler_that_raises_nothing_stops_nothing(connection):
    seen = []

    def handler(number, frame):
        seen.append(number)
        # The connection is busy, and raises an error.
        with pytest.raises(leafline.ProgrammingError, match="interrupted"):
            connection.execute("SELECT 1")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        assert connection.execute("SELECT SLEEP(1)").fetchone() == (0,)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]


def test_a_fork_is_refused_and_harmless(path):
    ended = run(
        """
        import leafline, os, sys
        connection = leafline.connect(sys.argv[1], "test", autocommit=True)
        connection.execute("CREATE TABLE t (id INT)")
        connection.execute("INSERT INTO t VALUES (1)")
        cursor = connection.execute("SELECT id FROM t UNION ALL SELECT id FROM t")
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (
                lambda: connection.execute("SELECT 1"),
                connection.commit,
                connection.close,
                lambda: leafline.connect(sys.argv[1]),
                lambda: leafline.connect(sys.argv[1] + "2"),
            ):
                try:
                    use()
                except leafline.InterfaceError as error:
                    refused += "fork" in str(error)
            del cursor, connection
            print("refused", refused, flush=True)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        connection.execute("INSERT INTO t VALUES (2)")
        print(connection.execute("SELECT COUNT(*) FROM t").fetchone(), cursor.fetchall())
        connection.close()
        if os.fork() == 0:
            print(leafline.connect(sys.argv[1], "test").execute("SELECT COUNT(*) FROM t").fetchone(), flush=True)
            sys.exit(0)
        os.wait()
        """,
        path,
    )
    assert ended.stdout.splitlines() == ["refused 5", "(2,) [(1,), (1,)]", "(2,)"], ended


@pytest.mark.parametrize("how", ["sys.exit(3)", "raise KeyError", "threading.Thread(target=sleep, daemon=True).start(); time.sleep(0.2)"])
def test_the_interpreters_end_closes_what_is_open(path, how):
    ended = run(
        f"""
        import leafline, sys, threading, time
        connection = leafline.connect(sys.argv[1], "test")
        connection.execute("CREATE TABLE t (id INT)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        connection.execute("INSERT INTO t VALUES (2)")
        rows = connection.execute("SELECT id FROM t")
        other = leafline.connect(sys.argv[1], "test")
        def sleep():
            other.execute("SELECT SLEEP(30)")
        {how}
        """,
        path,
    )
    assert ended.returncode == {"s": 3, "r": 1, "t": 0}[how[0]], ended
    assert "panicked" not in ended.stderr and ("Traceback" in ended.stderr) == (how[0] == "r"), ended.stderr
    connection = leafline.connect(path, "test")
    assert connection.execute("SELECT id FROM t").fetchall() == [(1,)]
    # The database was closed: there was nothing to recover.
    connection.close()


def test_kill_9_loses_nothing_that_was_committed(path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                """
                import leafline, sys
                connection = leafline.connect(sys.argv[1], "test")
                connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
                n = 0
                while True:
                    n += 1
                    connection.executemany("INSERT INTO t VALUES (?)", [(n * 2,), (n * 2 + 1,)])
                    connection.commit()
                    print(n, flush=True)
                """
            ),
            str(path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    said = 0
    while said < 50:
        said = int(process.stdout.readline())
    process.kill()
    said = max([said] + [int(line) for line in process.stdout.read().split()])
    process.wait()
    connection = leafline.connect(path, "test")
    (count,) = connection.execute("SELECT COUNT(*) FROM t").fetchone()
    assert count % 2 == 0 and count >= 2 * said
    connection.close()


def test_a_huge_result_needs_little_memory(path):
    ended = run(
        """
        import leafline, resource, sys
        connection = leafline.connect(sys.argv[1], "test", buffer_pool_size=16 << 20)
        connection.execute("SET cte_max_recursion_depth = 3000")
        rows = connection.execute(
            "WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n + 1 FROM c WHERE n < 3000) "
            "SELECT a.n, b.n, 'some text that is rather long, so that a million of these take space' FROM c a, c b"
        )
        rows.fetchone()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = 1
        for row in rows:
            count += 1
            if count == 1_000_000:
                break
        print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """,
        path,
    )
    count, grown = map(int, ended.stdout.split())
    assert count == 1_000_000 and grown < 64 << 10, ended


def test_objects_that_are_dropped_close_what_they_have(path):
    connection = leafline.connect(path, "test")
    connection.execute("CREATE TABLE t (id INT)")
    del connection
    gc.collect()
    assert run("import leafline, sys; leafline.connect(sys.argv[1]).close()", path).returncode == 0


def test_a_commit_is_not_in_the_way_of_who_waits(path):
    """Two connections update one row: the second waits without the interpreter, and then gets the row."""
    one, two = leafline.connect(path, "test"), leafline.connect(path, "test")
    one.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    one.execute("INSERT INTO t VALUES (1, 0)")
    one.commit()
    one.execute("UPDATE t SET n = n + 1")
    waiting = threading.Thread(target=lambda: two.execute("UPDATE t SET n = n + 10"))
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    one.commit()
    waiting.join()
    two.commit()
    assert one.execute("SELECT n FROM t").fetchone() == (11,)
    one.close()
    two.close()
