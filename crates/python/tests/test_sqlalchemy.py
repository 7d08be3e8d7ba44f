"""Everyday work of programs with SQLAlchemy over the embedded database. SQLAlchemy's own suite is in `suite`."""

import datetime
import decimal

import pytest

sa = pytest.importorskip("sqlalchemy", minversion="2")

from sqlalchemy.dialects.mysql import insert
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column, relationship, selectinload

import leafline


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
    cover = mapped_column(sa.LargeBinary)
    available = mapped_column(sa.Boolean, default=True)
    author = relationship("Author", back_populates="books")
    __table_args__ = (
        sa.Index("by_kind", "kind", "price"),
        sa.CheckConstraint("price >= 0", name="paid"),
        {"mysql_engine": "InnoDB"},
    )


@pytest.fixture
def engine(path):
    engine = sa.create_engine(f"leafline+embedded:///{path}?buffer_pool_size={32 << 20}")
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


def test_the_url(path, engine):
    assert engine.dialect.name == "mysql" and engine.dialect.driver == "leafline" and engine.dialect.paramstyle == "qmark"
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT DATABASE()")) == "main"
        assert connection.scalar(sa.text("SELECT @@innodb_buffer_pool_size")) == 32 << 20
    other = sa.create_engine(f"leafline:///{path}?schema=other")
    with other.connect() as connection:
        assert connection.scalar(sa.text("SELECT DATABASE()")) == "other"
    other.dispose()
    for wrong in ("leafline+embedded://", "leafline+embedded://host/path", "leafline+embedded:///x?page_size=many"):
        with pytest.raises(ValueError):
            sa.create_engine(wrong).connect()
    with pytest.raises(sa.exc.OperationalError, match="no database"):
        sa.create_engine(f"leafline+embedded:///{path}2?create=false").connect()


def test_orm(engine):
    at = datetime.datetime(2024, 2, 29, 1, 2, 3)
    with Session(engine) as session:
        author = Author(name="Ann")
        for number in range(10):
            kind = "novel" if number % 2 else "essay"
            author.books.append(
                Book(title=f"No {number}", price=number, extra={"n": [number]}, kind=kind, published=at, cover=b"\x00\xff")
            )
        session.add(author)
        session.commit()
        query = sa.select(Book).join(Book.author).where(Author.name == "Ann", Book.price > 4).order_by(Book.price.desc())
        found = session.scalars(query).all()
        assert [book.price for book in found] == [decimal.Decimal(n) for n in (9, 8, 7, 6, 5)]
        assert (found[0].extra, found[0].published, found[0].cover, found[0].available) == ({"n": [9]}, at, b"\x00\xff", True)
        # Loads lazily, while the rows of another query are read.
        assert {book.author.name for book in session.scalars(sa.select(Book).execution_options(yield_per=2))} == {"Ann"}
        loaded = session.scalars(sa.select(Author).options(selectinload(Author.books))).one()
        assert len(loaded.books) == 10
        found[0].title = "another"
        session.flush()
        session.rollback()
        assert session.get(Book, found[0].id).title == "No 9"
        session.delete(loaded)
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 0
        session.add_all([Author(name="Bob"), Author(name="Bob")])
        with pytest.raises(sa.exc.IntegrityError) as caught:
            session.commit()
        assert isinstance(caught.value.orig, leafline.IntegrityError) and caught.value.orig.errno == 1062


def test_reflection(engine):
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["author", "book"] and inspector.has_table("book") and not inspector.has_table("x")
    assert inspector.get_pk_constraint("book")["constrained_columns"] == ["id"]
    (key,) = inspector.get_foreign_keys("book")
    assert key["referred_table"] == "author" and key["options"] == {"ondelete": "CASCADE"}
    assert {index["name"] for index in inspector.get_indexes("book")} >= {"by_kind", "ix_book_author_id"}
    assert inspector.get_unique_constraints("author")[0]["column_names"] == ["name"]
    assert inspector.get_check_constraints("book")[0]["name"] == "paid"
    reflected = sa.MetaData()
    reflected.reflect(engine)
    types = {column.name: type(column.type).__name__ for column in reflected.tables["book"].columns}
    assert types["extra"] == "JSON" and types["kind"] == "ENUM" and types["price"] == "DECIMAL", types
    reflected.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []


def test_statements_of_mysql(engine):
    statement = insert(Author).values([{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}])
    with engine.begin() as connection:
        assert connection.execute(statement).rowcount == 2
        again = insert(Author).values(id=1, name="Cid")
        connection.execute(again.on_duplicate_key_update(name=again.inserted.name))
        assert connection.scalars(sa.select(Author.name).order_by(Author.id)).all() == ["Cid", "Bob"]
        assert connection.scalar(sa.select(sa.func.count()).where(Author.name.like("%b"), Author.name != "100%")) == 1
        result = connection.execute(sa.update(Author).values(name=Author.name))
        assert result.rowcount == 2
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.delete(Author))
        assert not connection.connection.dbapi_connection.in_transaction
    for level in ("READ COMMITTED", "REPEATABLE READ"):
        with engine.connect().execution_options(isolation_level=level) as connection:
            assert connection.get_isolation_level() == level


def test_savepoints_and_streams(engine):
    with engine.connect() as connection:
        with connection.begin():
            connection.execute(sa.insert(Author), [{"id": n, "name": f"name {n}"} for n in range(1, 5001)])
            with pytest.raises(KeyError):
                with connection.begin_nested():
                    connection.execute(sa.delete(Author))
                    raise KeyError
        result = connection.execution_options(stream_results=True, yield_per=100).execute(sa.select(Author.id).order_by(Author.id))
        assert [len(part) for part in result.partitions()] == [100] * 50


def test_pandas(engine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "n": range(3000),
            "x": [n / 8 for n in range(3000)],
            "s": [f"s{n}" if n % 5 else None for n in range(3000)],
            "at": pandas.date_range("2024-01-01", periods=3000, freq="h"),
            "b": [n % 2 == 0 for n in range(3000)],
        }
    )
    frame.to_sql("frame", engine, if_exists="replace", index=False, chunksize=1000)
    frame.to_sql("frame", engine, if_exists="append", index=False, chunksize=500, method="multi")
    read = pandas.read_sql_table("frame", engine)
    assert len(read) == 6000 and read["x"].sum() == 2 * frame["x"].sum() and read["s"].isna().sum() == 1200
    assert (read["at"][:3000] == frame["at"]).all()
    few = pandas.read_sql_query(sa.text("SELECT n, x FROM frame WHERE n < :n ORDER BY n DESC"), engine, params={"n": 3})
    assert list(few["n"]) == [2, 2, 1, 1, 0, 0]
