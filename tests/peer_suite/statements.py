"""Analyses a statement by its text: its kind, the names in it, and the names of the objects it writes."""

import re

COMMENT = re.compile(r"/\*(?![!M]).*?\*/|^\s*#[^\n]*\n|--\s[^\n]*\n", re.DOTALL)
STRING = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL)
NAME = re.compile(r"`((?:[^`]|``)+)`|(@?@?[A-Za-z_\x80-\xff][\w$\x80-\xff]*)")
TWO_WORDS = {"create", "drop", "alter", "show", "rename", "lock", "unlock", "load", "flush", "start", "xa"}
QUERIES = {"select", "with", "values", "table", "(select", "execute", "explain", "desc", "describe", "show", "checksum", "check", "handler",
           "analyze", "call", "help", "optimize", "repair", "do", "use", "begin", "start", "commit", "rollback", "savepoint", "release",
           "lock", "unlock", "kill", "flush", "signal", "resignal", "get", "xa", "reset", "cache"}
NOISE = re.compile(r"\b(or replace|if not exists|if exists|temporary|low_priority|high_priority|delayed|quick|ignore|unique|fulltext|spatial|"
                   r"online|algorithm\s*=\s*\w+|sql security \w+|definer\s*=\s*\S+)\b", re.IGNORECASE)


def bare(text):
    """Returns the text without comments (except for executable ones) and surrounding space."""
    return COMMENT.sub(" ", text + "\n").strip()


def kind(text):
    """Returns the first words: `select`, `create table`, .."""
    words = re.findall(r"[A-Za-z_]+|\(|/\*[!M]\d*", NOISE.sub(" ", text[:400]))
    words = [word.lower() for word in words if word != "(" and not word.startswith("/*")]
    if not words:
        return "nothing"
    if words[0] in TWO_WORDS and len(words) > 1:
        return " ".join(words[:2])
    return words[0]


def without_strings(text):
    return STRING.sub("''", text)


def names(text):
    """Returns each identifier of the text, in lower case, user variables with their `@`."""
    found = set()
    for quoted, plain in NAME.findall(without_strings(text)):
        found.add((quoted or plain).lower())
    return found


def listed(part):
    """Returns the names of a list of tables."""
    found = set()
    for item in part.split(","):
        parts = [(quoted or plain).lower() for quoted, plain in NAME.findall(item)]
        if parts:
            found.add(parts[0])
            if re.match(r"\s*\S+\s*\.\s*", item) and len(parts) > 1:
                found.add(parts[1])
    return found


TARGETS = [
    (re.compile(r"\s*create\s+(?:table|view|sequence|server|role)\s+([^\s(;]+(?:\s*\.\s*[^\s(]+)?)", re.IGNORECASE), None),
    (re.compile(r"\s*create\s+(?:database|schema)\s+([^\s;]+)", re.IGNORECASE), None),
    (re.compile(r"\s*create\s+(?:aggregate\s+)?(?:procedure|function|event|package(?:\s+body)?)\s+([^\s(;]+(?:\s*\.\s*[^\s(]+)?)", re.IGNORECASE), None),
    (re.compile(r"\s*create\s+trigger\s+\S+.*?\bon\s+([^\s(;]+)", re.IGNORECASE | re.DOTALL), None),
    (re.compile(r"\s*create\b.*?\bview\s+([^\s(;]+)", re.IGNORECASE | re.DOTALL), None),
    (re.compile(r"\s*(?:create|drop)\s+index\s+.*?\bon\s+([^\s(;]+)", re.IGNORECASE | re.DOTALL), None),
    (re.compile(r"\s*(?:drop|alter)\s+(?:table|tables|view|database|schema|procedure|function|trigger|event|user|role)\s+(.*?)(?:\bcascade\b|\brestrict\b|;|$)", re.IGNORECASE | re.DOTALL), "list"),
    (re.compile(r"\s*(?:insert|replace)\s+(?:into\s+)?([^\s(;]+)", re.IGNORECASE), None),
    (re.compile(r"\s*update\s+(.*?)\bset\b", re.IGNORECASE | re.DOTALL), "all"),
    (re.compile(r"\s*delete\s+(.*?)(?:\bwhere\b|\border\b|\blimit\b|$)", re.IGNORECASE | re.DOTALL), "all"),
    (re.compile(r"\s*truncate\s+(?:table\s+)?([^\s;]+)", re.IGNORECASE), None),
    (re.compile(r"\s*load\s+(?:data|xml)\b.*?\binto\s+table\s+([^\s(;]+)", re.IGNORECASE | re.DOTALL), None),
    (re.compile(r"\s*rename\s+tables?\s+(.*)", re.IGNORECASE | re.DOTALL), "all"),
    (re.compile(r"\s*prepare\s+([^\s;]+)", re.IGNORECASE), None),
]
VARIABLES = re.compile(r"(@[A-Za-z_][\w$]*)\s*:?=|\binto\s+((?:@[\w$]+\s*,?\s*)+)", re.IGNORECASE)


def targets(text):
    """Returns the names of the objects that the statement makes, changes or drops, user variables among them."""
    plain = re.sub(r"^\s*(analyze|explain|desc)\s+(format\s*=\s*\w+\s+|extended\s+|partitions\s+)?(?=update|insert|delete|replace)", "", NOISE.sub(" ", without_strings(text)), flags=re.IGNORECASE)
    found = set()
    for pattern, how in TARGETS:
        match = pattern.match(plain)
        if match:
            part = match.group(1)
            if how == "list" and re.match(r"\s*alter", plain, re.IGNORECASE):
                part = part.split()[0] if part.split() else ""
                renamed = re.search(r"\brename\s+(?:to\s+|as\s+)?(?!index|key|column)([^\s,;]+)", plain, re.IGNORECASE)
                found |= listed(renamed.group(1)) if renamed else set()
            found |= names(part) if how == "all" else listed(part)
            break
    for one, several in VARIABLES.findall(plain):
        if one and not one.startswith("@@"):
            found.add(one.lower())
        for name in re.findall(r"@[\w$]+", several):
            found.add(name.lower())
    return found


def is_query(text):
    """Whether the statement's rows answer a question about data."""
    return kind(text) in ("select", "with", "values", "table", "execute", "handler")


def prepares(text):
    """Returns the name of the statement that this one prepares, or `None`."""
    match = re.match(r"\s*prepare\s+`?(\w+)", text, re.IGNORECASE)
    return match.group(1).lower() if match else None


def executes(text):
    """Returns the name of the prepared statement that this one executes, or `None`."""
    match = re.match(r"\s*execute\s+(?!immediate\b)`?(\w+)", text, re.IGNORECASE)
    return match.group(1).lower() if match else None


def wrapped(text):
    """Returns the statement within an EXECUTE IMMEDIATE or a SET STATEMENT .. FOR, or an empty text."""
    match = re.match(r"\s*set\s+statement\b.*?\bfor\b(.*)", text, re.IGNORECASE | re.DOTALL)
    if match:
        return match.group(1)
    if re.match(r"\s*execute\s+immediate\b", text, re.IGNORECASE):
        return " ".join(literal[1:-1] for literal in STRING.findall(text))
    return ""


def dropped(text):
    """Returns the kind, TABLE or VIEW, and the names in a DROP, as they are written; `None` for other statements."""
    match = re.match(r"\s*drop\s+(?:temporary\s+)?(table|view)s?\s+(?:if\s+exists\s+)?(.*?)(?:\s+(?:restrict|cascade))?\s*;?\s*$", text, re.IGNORECASE | re.DOTALL)
    return (match.group(1), match.group(2).split(",")) if match else None


def defines(text):
    """Whether the statement makes, changes or drops tables, views and programs themselves, and not their rows."""
    return re.match(r"\s*(create|drop|alter|rename)\b", text, re.IGNORECASE)


def concatenated(expression, variables):
    """Returns the concatenation of literals and user variables of known text."""
    found = re.findall(r"'((?:[^'\\]|\\.|'')*)'|\"((?:[^\"\\]|\\.|\"\")*)\"|0x([0-9A-Fa-f]{2})\b|(@\w+)", expression, re.DOTALL)
    return "".join(single.replace("''", "'") + double.replace('""', '"') + (chr(int(code, 16)) if code else "") + variables.get(name.lower(), "")
                   for single, double, code, name in found)


def drops(text):
    return re.match(r"\s*drop\s+(?:temporary\s+)?(?:table|tables|view|database|schema|procedure|function|user|prepare|role)\b", text, re.IGNORECASE)


def makes(text):
    return re.match(r"\s*create\s+or\s+replace\b|\s*truncate\b", text, re.IGNORECASE)


def is_program(text):
    """Whether the statement is a block or a loop, or calls a procedure: it may change each object that it names."""
    return re.match(r"\s*(for|while|loop|repeat|if|case|begin\s+not\s+atomic|call|declare)\b", text, re.IGNORECASE)
