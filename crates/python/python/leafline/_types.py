"""DB-API's type objects: a type code of ``Cursor.description`` equals that of its kind.

Type codes are MySQL's numbers of types. Strings of bytes all have BLOB's, which strings of characters never have.
"""

from typing import FrozenSet


class TypeObject(FrozenSet[int]):
    """A kind of types: equal to the code of each of its types."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return other in self
        return frozenset.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


# VARCHAR and TEXT, CHAR with ENUM and SET, JSON.
STRING = TypeObject([253, 254, 245])
# BINARY, VARBINARY and BLOB; BIT.
BINARY = TypeObject([252, 16])
# TINYINT, SMALLINT, INT, FLOAT, DOUBLE, BIGINT, MEDIUMINT, YEAR, DECIMAL.
NUMBER = TypeObject([1, 2, 3, 4, 5, 8, 9, 13, 246])
# TIMESTAMP, DATE, TIME, DATETIME.
DATETIME = TypeObject([7, 10, 11, 12])
# Empty: rows have no row number.
ROWID = TypeObject()
