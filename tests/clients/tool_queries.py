"""The statements that graphical tools and dump programs send, sent as they send them: none may fail.

Usage: tool_queries.py PORT, as root without a password: makes the database `clients_tools` anew. Each file of tools/ is one program; a line
is a statement and, behind `; --`, what has to come of it: `rows` (at least one), `N rows`, `error N`, or nothing in particular.
Ends with 1 and says what failed.
"""

import pathlib
import re
import sys

import pymysql

HERE = pathlib.Path(__file__).parent
LINE = re.compile(r"(?P<sql>.*?);(?: -- (?P<expected>.*))?$")


# Conversions of values; none is read, text is taken as it is: a tool that sets character_set_results to NULL gets the
# bytes that columns have.
WRITTEN = {key: value for key, value in pymysql.converters.conversions.items() if not isinstance(key, int)}


def connect(**more):
    account = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "root", "charset": "utf8mb4"}
    return pymysql.connect(**account, use_unicode=False, conv=WRITTEN, **more)


def make_database():
    flags = pymysql.constants.CLIENT.MULTI_STATEMENTS
    with connect(client_flag=flags) as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS clients_tools")
        cursor.execute("CREATE DATABASE clients_tools")
        cursor.execute("USE clients_tools")
        cursor.execute((HERE / "every_type.sql").read_text())
        while cursor.nextset():
            pass


def outcome(cursor, sql):
    """Returns the result of a statement: the number of its rows or of its error."""
    try:
        cursor.execute(sql)
        return len(cursor.fetchall()), None, ""
    except pymysql.MySQLError as error:
        return None, error.args[0], error.args[-1]


def is_right(expected, rows, code):
    match (expected or "").split():
        case []:
            return code is None
        case ["rows"]:
            return bool(rows)
        case [number, "rows"]:
            return rows == int(number)
        case ["error", number]:
            return code == int(number)
    raise ValueError(expected)


def main():
    make_database()
    failed = 0
    for path in sorted((HERE / "tools").glob("*.sql")):
        # Like the tools, one connection buffers all rows and cannot serve several results at once.
        with connect() as connection, connection.cursor() as cursor:
            for line in path.read_text().splitlines():
                if not line or line.startswith("--"):
                    continue
                sql, expected = LINE.match(line).group("sql", "expected")
                rows, code, message = outcome(cursor, sql)
                if not is_right(expected, rows, code):
                    failed += 1
                    print(f"{path.stem}: FAILED: {sql[:200]}\n    {rows} rows, error {code} {message}")
    print(f"what tools ask: {'FAILED' if failed else 'ok'}")
    sys.exit(failed > 0)


main()
