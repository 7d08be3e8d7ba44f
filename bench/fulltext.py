#!/usr/bin/env python3
"""FULLTEXT of Leafline beside InnoDB's and SQLite's FTS5: size, build, inserts, searches. Run by fulltext.sh.

The documents are made: their words are drawn from a vocabulary of 50,000 words whose frequencies follow Zipf's law, as those of
natural languages do, and one document in four contains one of 1,000 pairs of words that belong together.
"""

import os
import random
import sqlite3
import subprocess
import sys
import time

CONSONANTS, VOWELS = "bcdfghjklmnprstvz", "aeiou"
SEED = 28


def vocabulary(size):
    """Returns so many different words, the most frequent first."""
    draw, words, known = random.Random(SEED), [], set()
    while len(words) < size:
        word = "".join(draw.choice(CONSONANTS) + draw.choice(VOWELS) for _ in range(draw.choice((2, 2, 3, 3, 4))))
        if word not in known:
            known.add(word)
            words.append(word)
    return words


def pairs(words):
    draw = random.Random(SEED + 1)
    return [(draw.choice(words[100:5000]), draw.choice(words[100:5000])) for _ in range(1000)]


def documents(words, count):
    """Yields documents of 10 to 60 words."""
    draw = random.Random(SEED + 2)
    weights, total = [], 0.0
    for rank in range(len(words)):
        total += 1.0 / (rank + 3) ** 1.05
        weights.append(total)
    together = pairs(words)
    for _ in range(count):
        text = draw.choices(words, cum_weights=weights, k=draw.randint(10, 60))
        if draw.random() < 0.25:
            at = draw.randrange(len(text))
            text[at:at] = draw.choice(together)
        yield " ".join(text)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A server that a client reaches over a socket."""

    def __init__(self, name, socket, pid, directory):
        self.name, self.pid, self.directory = name, pid, directory
        self.command = ["mariadb", "--no-defaults", "--skip-ssl", "--local-infile=1", "-uroot", "-S", socket, "-N", "-B", "-D", "bench"]

    def run(self, sql):
        """Runs statements; returns their output, and the seconds that passed and that the server's processor time took."""
        before, begun = cpu_seconds(self.pid), time.monotonic()
        result = subprocess.run(self.command, input=sql, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.name}: {result.stderr}")
        return result.stdout, time.monotonic() - begun, cpu_seconds(self.pid) - before

    def create(self):
        self.run("CREATE TABLE IF NOT EXISTS docs (id INT PRIMARY KEY, body TEXT NOT NULL) ENGINE=InnoDB")

    def load(self, path):
        return self.run(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE docs")

    def build(self):
        return self.run("ALTER TABLE docs ADD FULLTEXT body (body)")

    def size(self):
        total = 0
        for folder, _, files in os.walk(self.directory):
            total += sum(os.path.getsize(os.path.join(folder, name)) for name in files if self.counts(name))
        return total

    def counts(self, name):
        return True

    def search(self, query, times):
        return self.run("".join(query.server(n) + ";\n" for n in range(times)))


class MariaDb(Server):
    def counts(self, name):
        return name.startswith("FTS_") or name.startswith("docs")


class Leafline(Server):
    def size(self):
        out, _, _ = self.run(
            "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_NAME = 'docs'"
        )
        return int(out)


class Fts5:
    """SQLite in this process."""

    name = "FTS5"

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")

    def measured(self, work):
        before, begun = time.process_time(), time.monotonic()
        out = work()
        return out, time.monotonic() - begun, time.process_time() - before

    def create(self):
        self.db.execute("CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")

    def load(self, path):
        def work():
            self.db.execute("BEGIN")
            rows = (line.rstrip("\n").split("\t") for line in open(path))
            self.db.executemany("INSERT INTO docs VALUES (?, ?)", rows)
            self.db.execute("COMMIT")

        return self.measured(work)

    def build(self):
        def work():
            self.db.execute("CREATE VIRTUAL TABLE words USING fts5(body, content = 'docs', content_rowid = 'id')")
            self.db.execute("INSERT INTO words (words) VALUES ('rebuild')")

        return self.measured(work)

    def size(self):
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return os.path.getsize(self.path)

    def search(self, query, times):
        def work():
            return "".join(
                "\t".join(map(str, row)) + "\n" for n in range(times) for row in self.db.execute(query.sqlite(n))
            )

        return self.measured(work)


class Query:
    """A kind of search; `words` gives the words of the n-th one."""

    def __init__(self, name, words, server, sqlite):
        self.name, self.words, self.of_server, self.of_sqlite = name, words, server, sqlite

    def server(self, n):
        return self.of_server.format(*self.words(n))

    def sqlite(self, n):
        return self.of_sqlite.format(*self.words(n))


def queries(words):
    together = pairs(words)
    count = "SELECT COUNT(*) FROM docs WHERE MATCH (body) AGAINST ('{}' IN BOOLEAN MODE)"
    count5 = "SELECT COUNT(*) FROM words WHERE words MATCH '{}'"
    best = "SELECT id FROM docs WHERE MATCH (body) AGAINST ('{}') ORDER BY MATCH (body) AGAINST ('{}') DESC LIMIT 10"
    best5 = "SELECT rowid FROM words WHERE words MATCH '{}' ORDER BY rank LIMIT 10"
    frequent = lambda n: (words[10 + 7 * n % 50],)
    rare = lambda n: (words[2000 + 37 * n],)
    two = lambda n: (words[20 + 7 * n % 50], words[300 + 11 * n])
    pair = lambda n: together[n]
    return [
        Query("a rare word, counted", rare, count, count5),
        Query("a frequent word, counted", frequent, count, count5),
        Query("both of two words, counted", two, count.replace("{}", "+{} +{}"), count5.replace("{}", "{} AND {}")),
        Query("a phrase, counted", pair, count.replace("{}", '"{} {}"'), count5.replace("{}", '"{} {}"')),
        Query("the best 10, one frequent word", lambda n: frequent(n) * 2, best, best5),
        Query(
            "the best 10, one of two words",
            lambda n: two(n) * 2,
            best.replace("{}", "{} {}"),
            best5.replace("'{}'", "'{} OR {}'"),
        ),
    ]


def main():
    work, leafline_socket, leafline_pid, mariadb_socket, mariadb_pid, count, times = sys.argv[1:]
    count, times = int(count), int(times)
    words = vocabulary(50_000)
    path = os.path.join(work, "documents.tsv")
    with open(path, "w") as out:
        for number, text in enumerate(documents(words, count), 1):
            out.write(f"{number}\t{text}\n")
    engines = [
        Leafline("Leafline", leafline_socket, leafline_pid, ""),
        MariaDb("InnoDB", mariadb_socket, mariadb_pid, os.path.join(work, "mariadb-fulltext", "bench")),
        Fts5(os.path.join(work, "fts5.db")),
    ]
    print(f"{count} documents, {os.path.getsize(path) / 1e6:.0f} MB; seconds elapsed (of the processor)")
    without, rows = [], []
    for engine in engines:
        engine.create()
        engine.load(path)
        without.append(engine.size())
    rows.append(("build", [engine.build()[1:] for engine in engines]))
    sizes = [engine.size() - before for engine, before in zip(engines, without)]
    for query in queries(words):
        taken = []
        answers = [engine.search(query, 2)[0] for engine in engines]
        if "counted" in query.name and len(set(answers)) > 1:
            sys.exit(f"{query.name}: answers differ: {answers}")
        for engine in engines:
            _, elapsed, cpu = min((engine.search(query, times) for _ in range(3)), key=lambda taken: taken[1])
            taken.append((elapsed / times, cpu / times))
        rows.append((query.name, taken))
    print("| | " + " | ".join(engine.name for engine in engines) + " | of InnoDB | of FTS5 |")
    print("|---|---|---|---|---|---|")
    ours, theirs, fts5 = sizes
    print(f"| size, MB | {ours / 1e6:.1f} | {theirs / 1e6:.1f} | {fts5 / 1e6:.1f} | {ours / theirs:.2f} | {ours / fts5:.2f} |")
    for name, taken in rows:
        cells = " | ".join(f"{elapsed:.5f} ({cpu:.5f})" for elapsed, cpu in taken)
        (ours, _), (theirs, _), (fts5, _) = taken
        print(f"| {name} | {cells} | {ours / theirs:.2f} | {ours / fts5:.2f} |")


main()
