"""Fixtures that the tests share: each test has its own database."""

import pytest

import leafline


@pytest.fixture
def path(tmp_path):
    return tmp_path / "db"


@pytest.fixture
def connection(path):
    connection = leafline.connect(path, database="test", buffer_pool_size=32 << 20)
    yield connection
    connection.close()


@pytest.fixture
def cursor(connection):
    return connection.cursor()
