"""Everyday work of Python programs, through the packages that they use, against a running server.

Usage: python_clients.py PORT, as root without a password: makes the database `clients` anew. With LEAFLINE_PASSWORD, logins alone: over TCP,
TLS (LEAFLINE_CA is the server's certificate) and the socket (LEAFLINE_SOCKET). Ends with 1 and says what failed.
"""

import datetime
import decimal
import os
import sys
import traceback

HOST = "127.0.0.1"
PORT = int(sys.argv[1])


def connect(database=None):
    import pymysql

    return pymysql.connect(host=HOST, port=PORT, user="root", database=database, charset="utf8mb4")


def has_mysqlclient():
    try:
        import MySQLdb
    except ImportError:
        return False
    return "pymysql" not in MySQLdb.__name__


def make_database():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS clients")
        cursor.execute("CREATE DATABASE clients")


def mysqlclient(account):
    """Returns the name and a connection of mysqlclient, if it is installed."""
    if not has_mysqlclient():
        return []
    import MySQLdb

    return [("mysqlclient", MySQLdb.connect(**account, charset="utf8mb4"))]


def drivers():
    """PyMySQL and MySQL's own connector: types, parameters, transactions, errors, many rows, prepared statements."""
    import mysql.connector
    import pymysql

    values = (1, "é🦀", decimal.Decimal("12.50"), datetime.datetime(2024, 2, 29, 1, 2, 3), b"\x00\xff'\\", None)
    plain = dict(host=HOST, port=PORT, user="root", database="clients")
    for name, connection in [
        ("pymysql", connect("clients")),
        ("connector", mysql.connector.connect(**plain, use_pure=True)),
        ("connector in C", mysql.connector.connect(**plain)),
    ] + mysqlclient(plain):
        cursor = connection.cursor()
        cursor.execute("DROP TABLE IF EXISTS d")
        cursor.execute(
            "CREATE TABLE d (id INT PRIMARY KEY, t VARCHAR(20), n DECIMAL(10, 2), at DATETIME, b VARBINARY(9), x INT)"
        )
        cursor.execute("INSERT INTO d VALUES (%s, %s, %s, %s, %s, %s)", values)
        cursor.executemany("INSERT INTO d (id, t) VALUES (%s, %s)", [(id, f"row {id}") for id in range(2, 5002)])
        assert cursor.rowcount == 5000, (name, cursor.rowcount)
        connection.commit()
        cursor.execute("SELECT * FROM d WHERE id = %s", (1,))
        row = tuple(bytes(v) if isinstance(v, bytearray) else v for v in cursor.fetchone())
        assert row == values, (name, row)
        cursor.execute("UPDATE d SET x = 1 WHERE id > 4000")
        connection.rollback()
        cursor.execute("SELECT COUNT(x), COUNT(*) FROM d")
        assert cursor.fetchall()[0] == (0, 5001), name
        try:
            cursor.execute("INSERT INTO d (id) VALUES (1)")
            raise AssertionError(f"{name}: a key twice")
        except AssertionError:
            raise
        except Exception as error:
            assert error.args[0] == 1062 and "IntegrityError" in type(error).__name__, error
        connection.close()
    connection = mysql.connector.connect(**plain, use_pure=True)
    cursor = connection.cursor(prepared=True)
    for id in (1, 7, 5001):
        cursor.execute("SELECT id, t, n, at, b FROM d WHERE id = ?", (id,))
        row = cursor.fetchone()
        assert row[0] == id and (id != 1 or tuple(row) == values[:5]), row
        cursor.fetchall()
    connection.close()


def sqlalchemy():
    """create_all, reflection, and an ORM with relationships."""
    import sqlalchemy as sa
    from sqlalchemy.orm import DeclarativeBase, Session, mapped_column, relationship, selectinload

    class Base(DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "author"
        id = mapped_column(sa.Integer, primary_key=True)
        name = mapped_column(sa.String(40), nullable=False, unique=True)
        books = relationship("Book", back_populates="author", cascade="all, delete-orphan")

    class Book(Base):
        __tablename__ = "book"
        id = mapped_column(sa.BigInteger, primary_key=True)
        author_id = mapped_column(sa.ForeignKey("author.id", ondelete="CASCADE"), index=True)
        title = mapped_column(sa.String(100))
        price = mapped_column(sa.Numeric(8, 2))
        published = mapped_column(sa.DateTime)
        extra = mapped_column(sa.JSON)
        kind = mapped_column(sa.Enum("novel", "essay", name="kind"))
        author = relationship("Author", back_populates="books")
        __table_args__ = (sa.Index("by_kind", "kind", "price"), sa.CheckConstraint("price >= 0", name="paid"))

    for driver in ("pymysql", "mysqlconnector") + (("mysqldb",) if has_mysqlclient() else ()):
        engine = sa.create_engine(f"mysql+{driver}://root@{HOST}:{PORT}/clients")
        Base.metadata.drop_all(engine)
        Base.metadata.create_all(engine)
        with Session(engine) as session:
            author = Author(name="Ann")
            for number in range(10):
                author.books.append(
                    Book(title=f"No {number}", price=number, extra={"n": [number]}, kind="novel" if number % 2 else "essay")
                )
            session.add(author)
            session.commit()
            found = session.scalars(
                sa.select(Book).join(Book.author).where(Author.name == "Ann", Book.price > 4).order_by(Book.price.desc())
            ).all()
            assert [int(book.price) for book in found] == [9, 8, 7, 6, 5]
            assert found[0].extra == {"n": [9]}
            loaded = session.scalars(sa.select(Author).options(selectinload(Author.books))).one()
            assert len(loaded.books) == 10
            session.delete(loaded)
            session.commit()
            assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 0
        inspector = sa.inspect(engine)
        assert set(inspector.get_table_names()) >= {"author", "book"}
        assert inspector.get_pk_constraint("book")["constrained_columns"] == ["id"]
        (key,) = inspector.get_foreign_keys("book")
        assert key["referred_table"] == "author" and key["options"] == {"ondelete": "CASCADE"}, key
        assert {index["name"] for index in inspector.get_indexes("book")} >= {"by_kind", "ix_book_author_id"}
        assert inspector.get_unique_constraints("author")[0]["column_names"] == ["name"]
        assert inspector.get_check_constraints("book")[0]["name"] == "paid"
        reflected = sa.MetaData()
        reflected.reflect(engine)
        types = {column.name: type(column.type).__name__ for column in reflected.tables["book"].columns}
        assert types["extra"] == "JSON" and types["kind"] == "ENUM" and types["price"] == "DECIMAL", types
        engine.dispose()


def django():
    """Migrations of Django's own applications, and introspection."""
    import pymysql

    if not has_mysqlclient():
        # Django checks mysqlclient's version.
        pymysql.version_info = (2, 2, 7, "final", 0)
        pymysql.install_as_MySQLdb()
    import django
    from django.conf import settings

    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS clients_django")
        cursor.execute("CREATE DATABASE clients_django")
    database = {"ENGINE": "django.db.backends.mysql", "NAME": "clients_django", "USER": "root", "HOST": HOST, "PORT": PORT}
    settings.configure(
        DATABASES={"default": database},
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "django.contrib.sessions",
            "django.contrib.admin",
            "django.contrib.messages",
        ],
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()
    from django.contrib.auth.models import Group, Permission, User
    from django.core.management import call_command
    from django.db import connection, transaction

    call_command("migrate", verbosity=0)
    user = User.objects.create_user("ann", "ann@example.org", "secret")
    group = Group.objects.create(name="readers")
    group.permissions.set(Permission.objects.filter(codename__startswith="view"))
    user.groups.add(group)
    assert User.objects.filter(groups__permissions__codename="view_user").count() == 1
    try:
        with transaction.atomic():
            User.objects.create_user("bob")
            raise KeyError("undone")
    except KeyError:
        pass
    assert not User.objects.filter(username="bob").exists()
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        assert "auth_user" in tables and len(tables) >= 9, tables
        names = [column.name for column in connection.introspection.get_table_description(cursor, "auth_user")]
        assert "date_joined" in names, names
        keys = connection.introspection.get_constraints(cursor, "auth_user_groups")
        assert sum(key["foreign_key"] is not None for key in keys.values()) == 2, keys
    call_command("migrate", "auth", "zero", verbosity=0)
    call_command("migrate", verbosity=0)


def pandas():
    """Writes and reads frames."""
    import pandas
    import sqlalchemy as sa

    engine = sa.create_engine(f"mysql+pymysql://root@{HOST}:{PORT}/clients")
    frame = pandas.DataFrame(
        {
            "n": range(3000),
            "x": [n / 8 for n in range(3000)],
            "s": [f"s{n}" if n % 5 else None for n in range(3000)],
            "at": pandas.date_range("2024-01-01", periods=3000, freq="h"),
        }
    )
    frame.to_sql("frame", engine, if_exists="replace", index=False, chunksize=1000, method="multi")
    read = pandas.read_sql_table("frame", engine)
    assert len(read) == 3000 and read["x"].sum() == frame["x"].sum() and read["s"].isna().sum() == 600
    assert (read["at"] == frame["at"]).all()
    few = pandas.read_sql_query(sa.text("SELECT n, x FROM frame WHERE n < :n ORDER BY n DESC"), engine, params={"n": 3})
    assert list(few["n"]) == [2, 1, 0]
    engine.dispose()


def logins():
    """Each driver over each transport: logins, prepared statements, many rows, errors, transactions."""
    import mysql.connector
    import pymysql

    account = dict(user="root", password=os.environ["LEAFLINE_PASSWORD"])
    tcp = dict(host=HOST, port=PORT)
    ca, socket = os.environ["LEAFLINE_CA"], dict(unix_socket=os.environ["LEAFLINE_SOCKET"])
    ways = {
        "pymysql, tcp": lambda: pymysql.connect(**account, **tcp, ssl_disabled=True),
        "pymysql, tls": lambda: pymysql.connect(**account, **tcp, ssl={"ca": ca}),
        "pymysql, socket": lambda: pymysql.connect(**account, **socket, ssl_disabled=True),
    }
    for pure in (True, False) if mysql.connector.HAVE_CEXT else (True,):
        for compress in (False, True):
            more = dict(use_pure=pure, compress=compress)
            name = f"connector{'' if pure else ' in C'}{', compressed' if compress else ''}"
            join = mysql.connector.connect
            ways |= {
                f"{name}, tcp": lambda more=more: join(**account, **tcp, **more, ssl_disabled=True),
                f"{name}, tls": lambda more=more: join(**account, **tcp, **more, ssl_ca=ca, ssl_verify_cert=True),
                f"{name}, socket": lambda more=more: join(**account, **socket, **more),
            }
    try:
        import MySQLdb

        ways |= {
            "mysqlclient, tls": lambda: MySQLdb.connect(**account, **tcp, ssl={"ca": ca}),
            "mysqlclient, compressed": lambda: MySQLdb.connect(**account, **tcp, compress=True),
            "mysqlclient, socket": lambda: MySQLdb.connect(**account, **socket),
        }
    except ImportError:
        print("mysqlclient: not here")
    for name, connect in ways.items():
        connection = connect()
        cursor = connection.cursor()
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        encrypted = bool(cursor.fetchall()[0][1])
        assert encrypted == ("tls" in name) or "mysqlclient" in name, name
        cursor.execute("CREATE DATABASE IF NOT EXISTS clients")
        cursor.execute("DROP TABLE IF EXISTS clients.l")
        cursor.execute("CREATE TABLE clients.l (id INT PRIMARY KEY, t VARCHAR(90))")
        cursor.executemany("INSERT INTO clients.l VALUES (%s, %s)", [(id, f"é🦀 {id}" * 5) for id in range(500)])
        connection.commit()
        cursor.execute("DELETE FROM clients.l")
        connection.rollback()
        cursor.execute("SELECT a.id, b.t FROM clients.l a, clients.l b")
        assert len(cursor.fetchall()) == 250_000, name
        try:
            cursor.execute("INSERT INTO clients.l (id) VALUES (1)")
            raise AssertionError(f"{name}: a key twice")
        except Exception as error:
            assert error.args[0] == 1062, (name, error)
        if "connector" in name:
            prepared = connection.cursor(prepared=True)
            for id in (1, 499):
                prepared.execute("SELECT t FROM clients.l WHERE id = ?", (id,))
                assert prepared.fetchall() == [(f"é🦀 {id}" * 5,)], name
            attributes = connection.cursor()
            attributes.add_attribute("trace", "7-1")
            attributes.execute("SELECT mysql_query_attribute_string('trace')")
            assert attributes.fetchall() == [("7-1",)], name
        connection.close()
    wrong = account | {"password": "wrong"}
    for connect in (pymysql.connect, mysql.connector.connect):
        try:
            connect(**wrong, **tcp)
            raise AssertionError("let in by a wrong password")
        except (pymysql.OperationalError, mysql.connector.Error) as error:
            assert error.args[0] == 1045, error


def main():
    failed = 0
    parts = (logins,)
    if "LEAFLINE_PASSWORD" not in os.environ:
        make_database()
        parts = (drivers, sqlalchemy, django, pandas)
    for part in parts:
        try:
            part()
            print(f"{part.__name__}: ok")
        except Exception:
            failed += 1
            print(f"{part.__name__}: FAILED")
            traceback.print_exc()
    sys.exit(failed > 0)


main()
