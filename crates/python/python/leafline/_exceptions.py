"""DB-API's exceptions. An exception of the database has MySQL's error number and SQLSTATE."""

from typing import Optional


class Warning(Exception):
    """The database changed or ignored something."""

    __module__ = "leafline"


class Error(Exception):
    """An error of the database, or of its use.

    ``errno`` is MySQL's error number, or None for an error in the use of the module; ``sqlstate`` likewise. The arguments
    are number and text, or the text.
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
    """The module does not support the request."""

    __module__ = "leafline"


class DatabaseError(Error):
    """An error of the database."""

    __module__ = "leafline"


class DataError(DatabaseError):
    """A value does not fit."""

    __module__ = "leafline"


class OperationalError(DatabaseError):
    """A failure outside the program's control: the disk is full, another transaction was in the way, a statement was stopped."""

    __module__ = "leafline"


class IntegrityError(DatabaseError):
    """A constraint does not hold: a key is a duplicate, a row refers to no row, a value must not be NULL."""

    __module__ = "leafline"


class InternalError(DatabaseError):
    """The database found an internal error."""

    __module__ = "leafline"


class ProgrammingError(DatabaseError):
    """A statement is wrong or names an object that does not exist, or an object is closed."""

    __module__ = "leafline"


class NotSupportedError(DatabaseError):
    """The database does not have this feature."""

    __module__ = "leafline"
