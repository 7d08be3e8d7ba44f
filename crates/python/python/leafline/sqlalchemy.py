"""SQLAlchemy's dialect of the embedded database: ``leafline+embedded:///path/to/directory``.

It is SQLAlchemy's dialect of MySQL over this package's DB-API, and goes by the name ``mysql`` as far as constructs and options of tables are
concerned. Of the URL the part after ``///`` is the directory of the database, relative or absolute. What may follow after ``?``:

==================== ============================================================
``schema``           the schema that tables are in, ``main`` unless told; it is made
``buffer_pool_size`` as in ``leafline.connect``; so are the next two
``page_size``
``create``
anything else        a system variable
==================== ============================================================

Over the wire, a served database is ``mysql+pymysql://``.
"""

from sqlalchemy import util
from sqlalchemy.dialects.mysql.base import MySQLDialect

_PLAIN = {"buffer_pool_size": int, "page_size": int}


class Dialect(MySQLDialect):
    """MySQL's dialect over ``leafline``."""

    driver = "leafline"
    supports_statement_cache = True
    supports_native_decimal = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    default_paramstyle = "qmark"

    @classmethod
    def import_dbapi(cls):
        import leafline

        return leafline

    def create_connect_args(self, url):
        if url.host or url.port or url.username or url.password:
            raise ValueError("an embedded database has no host and no user: leafline+embedded:///path")
        if not url.database:
            raise ValueError("the URL names no directory: leafline+embedded:///path")
        query = dict(url.query)
        options = {"database": query.pop("schema", "main")}
        options.update((name, kind(query.pop(name))) for name, kind in _PLAIN.items() if name in query)
        if "create" in query:
            options["create"] = util.asbool(query.pop("create"))
        if query:
            options["variables"] = query
        return [url.database], options

    def do_executemany(self, cursor, statement, parameters, context=None):
        cursor.executemany(statement, parameters)
        if context is not None:
            context._rowcount = cursor.rowcount

    def do_ping(self, dbapi_connection):
        dbapi_connection.execute("DO 1").close()
        return True

    def is_disconnect(self, e, connection, cursor):
        return isinstance(e, self.dbapi.ProgrammingError) and "connection is closed" in str(e)

    def get_isolation_level_values(self, dbapi_connection):
        return ("READ COMMITTED", "REPEATABLE READ", "AUTOCOMMIT")

    def set_isolation_level(self, dbapi_connection, level):
        dbapi_connection.autocommit = level == "AUTOCOMMIT"
        if level != "AUTOCOMMIT":
            super().set_isolation_level(dbapi_connection, level)

    def detect_autocommit_setting(self, dbapi_connection):
        return dbapi_connection.autocommit

    def _extract_error_code(self, exception):
        return exception.errno

    def _detect_charset(self, connection):
        return "utf8mb4"
