"""Compares the answers of the two servers to one statement."""

import json
import re
from collections import Counter
from decimal import Decimal, localcontext

from client import Done, Rows, ServerError


def normalized(message):
    """Removes the names, values and numbers from a message."""
    message = re.sub(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\"[^\"]*\"", "'..'", message)
    message = re.sub(r"\d+", "N", message)
    return message.split(" near ")[0][:110]


def number(results):
    return results[-1].number if isinstance(results[-1], ServerError) else 0


def as_number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def near(one, other):
    """Whether two values are the same number except for the last digits of a double."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    a, b = as_number(one), as_number(other)
    if a is None or b is None or not (b"." in one or b"e" in one or b"." in other or b"e" in other):
        return False
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-300)


def same_but_scale(one, other):
    """Whether the second number is the first, rounded to 30 digits behind the point."""
    if one == other:
        return True
    if one is None or other is None or not all(re.fullmatch(rb"-?\d*\.\d{30,}", value) for value in (one, other)):
        return False
    with localcontext() as context:
        context.prec = 200
        return Decimal(one.decode()).quantize(Decimal(1).scaleb(-30)) == Decimal(other.decode())


def same_list(one, other):
    """Whether two texts have the same elements in another order, as GROUP_CONCAT without ORDER BY may return them."""
    return one is not None and other is not None and b"," in one and sorted(one.split(b",")) == sorted(other.split(b","))


def document(text):
    """Reads a text as a JSON document, with booleans that differ from the numbers 0 and 1; `None` if it is none."""
    def marked(value):
        if isinstance(value, list):
            return [marked(element) for element in value]
        if isinstance(value, dict):
            return {key: marked(element) for key, element in value.items()}
        return (value,) if isinstance(value, bool) else value
    try:
        return marked(json.loads(text, parse_int=Decimal, parse_float=Decimal))
    except (ValueError, RecursionError, ArithmeticError):
        return None


def same_document(one, other):
    """Whether two texts are the same JSON document, written in different ways."""
    if one is None or other is None:
        return False
    first = document(one)
    return first is not None and first == document(other)


def rows_alike(one, other, alike):
    if len(one) != len(other):
        return False
    key = lambda row: tuple((value is not None, value or b"") for value in row)
    return all(len(a) == len(b) and all(x == y or alike(x, y) for x, y in zip(a, b)) for a, b in zip(sorted(one, key=key), sorted(other, key=key)))


def outermost(statement):
    """Returns the statement without the text in parentheses."""
    text = re.sub(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"", "''", statement)
    while True:
        less = re.sub(r"\([^()]*\)", " ", text)
        if less == text:
            return text
        text = less


def order_columns(statement, columns):
    """Returns the positions in the result of the columns of the last ORDER BY; `None` if it orders by anything else."""
    found = re.findall(r"\border\s+by\s+(.*?)(?:\blimit\b|\bfor\s+update\b|\block\s+in\b|\binto\b|$)", statement, re.IGNORECASE | re.DOTALL)
    if not found:
        return []
    lowered = [column.lower().decode("latin-1") for column in columns]
    positions = []
    for item in found[-1].split(","):
        item = re.sub(r"\s+(asc|desc)\s*$", "", item.strip(), flags=re.IGNORECASE).strip("`; \n()").lower()
        if item.isdigit() and 0 < int(item) <= len(columns):
            positions.append(int(item) - 1)
        elif item in lowered:
            positions.append(lowered.index(item))
        elif item.split(".")[-1].strip("`") in lowered:
            positions.append(lowered.index(item.split(".")[-1].strip("`")))
        else:
            return None
    return positions


def compare_rows(statement, reference, subject):
    """Returns `None` if the rows are equal as sets, and in order where the statement orders them; otherwise a description of the difference."""
    one, other = reference.rows, subject.rows
    if one == other:
        return None
    ordered = re.search(r"\border\s+by\b", outermost(statement), re.IGNORECASE)
    if Counter(one) == Counter(other):
        if not ordered:
            return None
        positions = order_columns(statement, reference.columns)
        if positions is not None and [[row[p] for p in positions] for row in one] == [[row[p] for p in positions] for row in other]:
            return None
        lowered = [[[row[p] and row[p].decode("utf-8", "surrogateescape").casefold() for p in positions or []] for row in rows] for rows in (one, other)]
        return "order of cases" if positions and lowered[0] == lowered[1] else "order"
    if rows_alike(one, other, same_but_scale):
        return "scale"
    if rows_alike(one, other, near):
        return "digits"
    if rows_alike(one, other, same_document):
        return "form of JSON"
    if rows_alike(one, other, same_list):
        return "list order"
    if rows_alike(one, other, lambda a, b: a is not None and b is not None and a.lower() == b.lower()):
        return "case"
    if len(one) == len(other) and re.search(r"\blimit\b", statement, re.IGNORECASE):
        positions = order_columns(statement, reference.columns) if ordered else []
        if ordered and positions and [[row[p] for p in positions] for row in one] == [[row[p] for p in positions] for row in other]:
            return None
        return "limit of ordered rows" if ordered else "limit"
    return "rows"


def compare(statement, reference, subject, neutral):
    """Returns the verdict on two lists of results: `(class, detail)`. `neutral` maps the names of a server's own folders to the same bytes."""
    ours, theirs = number(subject), number(reference)
    if ours != theirs:
        if theirs == 0:
            return "error here", f"{ours} {normalized(subject[-1].message)}"
        if ours == 0:
            return "no error here", f"{theirs} {normalized(reference[-1].message)}"
        return "other error", f"{theirs} {normalized(reference[-1].message)} -> {ours} {normalized(subject[-1].message)}"
    if len(reference) != len(subject):
        return "rows differ", "number of results"
    for one, other in zip(reference, subject):
        if isinstance(one, Rows) != isinstance(other, Rows):
            return "rows differ", "rows on one side only"
        if isinstance(one, Rows):
            if len(one.columns) != len(other.columns):
                return "rows differ", "number of columns"
            how = compare_rows(statement, neutral(one), neutral(other))
            if how:
                return "rows differ", how
        elif isinstance(one, Done) and one.affected != other.affected:
            return "affected rows differ", f"{one.affected} {other.affected}" if max(one.affected, other.affected) < 5 else "many"
    return "equal", ""
