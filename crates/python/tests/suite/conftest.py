"""SQLAlchemy's own plugin, and the schemas that its suite expects in the database."""

import pytest

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F401,F403
from sqlalchemy.testing.provision import delete_from_all_tables, post_configure_engine, temp_table_keyword_args


@temp_table_keyword_args.for_db("leafline")
def _temporary_tables(cfg, eng):
    return {"prefixes": ["TEMPORARY"]}


@post_configure_engine.for_db("leafline")
def _schemas(url, engine, follower_ident):
    with engine.begin() as connection:
        for name in ("test_schema", "test_schema_2"):
            connection.exec_driver_sql(f"CREATE DATABASE IF NOT EXISTS {name}")


@delete_from_all_tables.for_db("leafline")
def _delete_from_all_tables(connection, cfg, metadata):
    connection.exec_driver_sql("SET foreign_key_checks = 0")
    try:
        delete_from_all_tables.call_original(connection, cfg, metadata)
    finally:
        connection.exec_driver_sql("SET foreign_key_checks = 1")
