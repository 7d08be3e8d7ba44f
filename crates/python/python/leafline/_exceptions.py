"""DB-API's exceptions. Those of the database have MySQL's error number and SQLSTATE."""

from typing import Optional


class Warning(Exception):
    """Something was changed or ignored."""

    __module__ = "leafline"


class Error(Exception):
    """An error of the database, or of its use.

    ``errno`` is MySQL's error number, or None where there is none: where the error is one of use. ``sqlstate`` likewise. The arguments are
    number and text, or the text.
    """

    __module__ = "leafline"
    sqlstate: Optional[str] = None

    @property
    def errno(self) -> Optional[int]:
        return self.args[0] if len(self.args) == 2 else None

    @property
    def message(self) -> str:
        return str(self.args[-1]) if self.args else ""

    def __str__(self) -> str:
        if self.errno is None:
            return self.message
        return f"{self.errno} ({self.sqlstate}): {self.message}"


class InterfaceError(Error):
    """The module cannot do what is asked of it here."""

    __module__ = "leafline"


class DatabaseError(Error):
    """An error of the database."""

    __module__ = "leafline"


class DataError(DatabaseError):
    """A value does not fit."""

    __module__ = "leafline"


class OperationalError(DatabaseError):
    """Something that a program cannot help: the disk is full, another transaction was in the way, a statement was stopped."""

    __module__ = "leafline"


class IntegrityError(DatabaseError):
    """A constraint does not hold: a key is there twice, a row refers to none, NULL where there must be none."""

    __module__ = "leafline"


class InternalError(DatabaseError):
    """The database has a fault."""

    __module__ = "leafline"


class ProgrammingError(DatabaseError):
    """A statement is wrong, or names what is not there, or an object is closed."""

    __module__ = "leafline"


class NotSupportedError(DatabaseError):
    """There is no such thing in this database."""

    __module__ = "leafline"
