"""Runs the files of MariaDB's test suite on MariaDB and Leafline in step, and records how the outcomes differ.

usage: driver.py --binary target/release/leafline --work DIRECTORY [--port 13800] [--out results.jsonl] FILE...

Each statement goes to both servers; its outcomes are compared (`compare`), and classed by the rules of `rules.toml`. A name (table,
view, variable, prepared statement, schema) that a statement has left in different states is *diverged*: what differs later and mentions
it is a consequence, so that each cause counts once.
"""

import argparse
import json
import os
import re
import shutil
import sys
import time

import script
import statements
from client import Connection, Done, Lost, Rows, ServerError, TimedOut, rows_of
from compare import compare, normalized, number
from links import Link
from rules import Rules
from servers import SUITE, Leafline, MariaDB

STATEMENT_SECONDS = 25
MODES = re.compile(r"\b(sql_mode|character_set_\w+|collation_\w+|time_zone|names|charset|autocommit|default_storage_engine|div_precision_increment"
                   r"|group_concat_max_len|max_allowed_packet|foreign_key_checks|unique_checks|sql_safe_updates|sql_select_limit|timestamp"
                   r"|tx_isolation|transaction_isolation|lc_time_names|auto_increment_\w+|sql_auto_is_null|max_sort_length|low_priority_updates"
                   r"|explicit_defaults_for_timestamp|transaction\s+isolation\s+level|old_mode|insert_id|last_insert_id|sql_quote_show_create|default_week_format"
                   r"|updatable_views_with_limit|max_join_size)\b", re.IGNORECASE)


class EndOfFile(Exception):
    """Ends the file: `exit`, `skip`, `die`, its time limit, or a lost server."""


class Pair:
    """A value for each server."""

    def __init__(self, reference, subject=None):
        self.both = (reference, reference if subject is None else subject)


class Run:
    def __init__(self, servers, rules, out, seconds):
        self.servers, self.rules, self.out, self.seconds = servers, rules, out, seconds

    # Connections

    def open(self, name, user="root", password="", database="test"):
        link = Link()
        link.login = (user, password, database)
        errors = []
        for side, server in enumerate(self.servers):
            try:
                link.ends[side] = Connection(path=server.socket, user=user.encode("latin-1"), password=password.encode("latin-1"),
                                             database=database.encode("latin-1"))
                errors.append(0)
            except ServerError as error:
                errors.append(error.number)
            except (Lost, TimedOut):
                errors.append(2013)
        self.links[name] = link
        if errors[0] != errors[1] and not (errors[0] and errors[1]):
            self.record(0, f"connect {user}", "apart", f"connect {errors}", rule="accounts and roles")
            link.refused = True
        return link

    def reopen(self, side):
        """Opens another connection in place of one that is lost or hangs."""
        user, password, database = self.link.login
        if self.link.ends[side]:
            self.link.ends[side].close()
        try:
            self.link.ends[side] = Connection(path=self.servers[side].socket, user=user.encode(), password=password.encode(), database=database.encode())
        except (Lost, TimedOut, ServerError):
            self.link.ends[side] = None
        self.link.mark("connection", True)

    # Records

    def record(self, line, text, verdict, detail, rule="", results=None):
        entry = {"file": self.name, "line": line, "kind": statements.kind(text), "verdict": verdict}
        if detail:
            entry["detail"] = detail
        if rule:
            entry["rule"] = rule
        if verdict != "equal":
            entry["text"] = text[:1500]
            if results:
                entry["reference"], entry["subject"] = (brief(result) for result in results)
        self.out.write(json.dumps(entry) + "\n")

    # Statements

    def statement(self, line, text, eval=True):
        if time.monotonic() > self.until:
            self.record(line, text, "file cut", "time")
            raise EndOfFile()
        pair = self.evaluate(text) if eval else Pair(text)
        if re.match(r"\s*(shutdown|kill\s+\d+\s*$)", text, re.IGNORECASE):
            raise EndOfFile()
        self.count += 1
        self.send(line, pair)
        self.reap()

    def send(self, line, pair):
        if self.link.sent:
            self.reap()
        pair = Pair(self.rules.rewritten(pair.both[0], "reference"), self.rules.rewritten(pair.both[1], "subject"))
        self.link.sent = (line, pair)
        for side, end in enumerate(self.link.ends):
            if end:
                try:
                    end.send(pair.both[side].encode("latin-1"))
                except Lost:
                    pass

    def reap(self):
        if not self.link.sent:
            return
        line, pair = self.link.sent
        self.link.sent = None
        results = [self.answer(side, line, pair.both[side]) for side in (0, 1)]
        self.errno = Pair(*(str(number(result)) if result else "2013" for result in results))
        self.results = results
        self.judge(line, pair, results)

    def answer(self, side, line, text):
        end = self.link.ends[side]
        if end is None:
            return None
        try:
            return end.reap(STATEMENT_SECONDS)
        except Lost:
            time.sleep(0.3)
            if not self.servers[side].alive():
                self.died(side, line, text)
            self.reopen(side)
            return [ServerError(2013, "connection lost")]
        except TimedOut:
            try:
                self.servers[side].admin.query(f"KILL QUERY {end.id}".encode())
                result = end.reap(10)
                return result if side == 0 else [ServerError(3024, "too slow for the driver")]
            except (TimedOut, Lost, ServerError):
                if not self.servers[side].alive():
                    self.died(side, line, text)
                if side == 1:
                    # The statement takes processor time and memory as long as it runs: later results would mean
                    # nothing.
                    self.servers[side].process.kill()
                    self.servers[side].process.wait()
                    self.died(side, line, text, "hangs, deaf to KILL")
                self.reopen(side)
                return [ServerError(3024, "hangs, deaf to KILL")]

    def died(self, side, line, text, how=""):
        server = self.servers[side]
        server.crashes += 1
        self.record(line, text, "server died", f"{server.name} {how or server.process.poll()}")
        self.out.flush()
        print(f"{server.name} died at {self.name}:{line}: {text[:200]}", file=sys.stderr)
        server.admin.close()
        try:
            server.start()
        except RuntimeError:
            server.begin_anew()
        raise EndOfFile()

    def judge(self, line, pair, results):
        text = pair.both[0]
        plain = statements.bare(text)
        if results[0] is None or results[1] is None:
            if self.link.refused:
                self.diverge(statements.targets(plain), "accounts and roles")
                self.record(line, text, "follows", "no connection", rule="accounts and roles")
            else:
                self.record(line, text, "consequence", "no connection")
            return
        if not plain and number(results[0]) == 1065:
            return
        verdict, detail = compare(plain, results[0], results[1], lambda rows: neutral(self.servers, rows))
        if verdict == "other error" and (number(results[0]), number(results[1])) in self.rules.same:
            verdict, detail = "equal", ""
        if any(isinstance(result, ServerError) and result.number in (2013,) for result in (results[0][-1], results[1][-1])) and verdict == "equal":
            detail = "lost"
        self.note_prepared(plain)
        held = self.held(plain)
        words = statements.names(plain) | statements.names(held)
        touched = statements.targets(plain)
        if not statements.prepares(plain):
            touched = touched | statements.targets(held)
        if not statements.defines(plain):
            words, touched = self.with_tables(words), self.with_tables(touched)
        if statements.is_program(plain):
            touched = touched | self.changeable(words)
        mentioned = {name: self.diverged[name] for name in words if name in self.diverged}
        self.drop_too(plain, results)
        if self.link.login[0].lower() in self.accounts:
            mentioned["account"] = "accounts and roles"
        always = next((name for name, when in self.rules.rule(plain, True)), None)
        apart, before = always, {**mentioned, **self.link.diverged}
        if verdict != "equal" and not apart:
            apart = self.apart(plain, text, verdict, detail, bool(before))
        self.follow(plain, held, verdict, words, touched, mentioned, number(results[0]), apart)
        if verdict == "equal" and not always:
            self.record(line, text, "equal", "")
        elif apart:
            self.record(line, text, "apart", detail if always else f"{verdict} {detail}", rule=apart, results=None if always else results)
        elif before and None not in before.values():
            self.record(line, text, "follows", detail, rule=sorted(before.values())[0])
        elif before:
            self.record(line, text, "consequence", detail)
        else:
            self.record(line, text, verdict, detail, results=results)

    def apart(self, plain, text, verdict, detail, is_consequence):
        """Returns the reason to count a difference apart, if there is one."""
        executed = self.prepared.get(statements.executes(plain))
        texts = [(plain, text)] + ([(executed, executed)] if executed else [])
        known = None
        for plain, text in texts:
            for name, when in self.rules.rule(plain, False):
                if when == "differs" or verdict in ("rows differ", "affected rows differ"):
                    return name
            known = known or self.rules.known(self.name, text, f"{verdict} {detail}")
        if verdict == "rows differ" and detail == "limit":
            return "LIMIT without ORDER BY"
        if verdict == "rows differ" and not known and not is_consequence and statements.is_query(plain) and self.not_determined(text):
            return "columns that GROUP BY does not determine"
        return known

    def not_determined(self, text):
        """Whether the subject reports, by 1055, 1140, 3029 or 3065, that the query does not determine the values of the result."""
        end = self.link.ends[1]
        if end is None or not re.match(r"[\s(]*(select|with)\b", text, re.IGNORECASE):
            return False
        try:
            mode = rows_of(end, "SELECT @@sql_mode")[0][0]
            end.query(b"SET sql_mode = 'ONLY_FULL_GROUP_BY," + mode + b"'")
            results = end.query(b"EXPLAIN " + text.encode("latin-1"))
            end.query(b"SET sql_mode = '" + mode + b"'")
            return number(results) in (1055, 1140, 3029, 3065)
        except (Lost, TimedOut, ServerError):
            return False

    def held(self, plain):
        """Returns the statement that this one prepares, executes or wraps, or an empty text."""
        return self.prepared.get(statements.prepares(plain) or statements.executes(plain)) or statements.wrapped(plain)

    def drop_too(self, plain, results):
        """Drops on the subject, name by name, what only the reference has dropped, so that later statements meet the same names on both:
        MySQL 8 drops everything that a DROP lists or nothing."""
        dropped = statements.dropped(plain)
        end = self.link.ends[1]
        if not dropped or not end or number(results[0]) not in (0, 1051, 4092) or number(results[1]) == 0:
            return
        kind, names = dropped
        try:
            for name in names:
                end.query(f"DROP {kind} IF EXISTS {name}".encode("latin-1"))
        except (Lost, TimedOut):
            self.reopen(1)

    def changeable(self, names):
        """Returns the names that a program which mentions them may change: tables of this file and user variables."""
        return {name for name in self.with_tables(names) if name in self.made or re.match(r"@\w", name)}

    def with_tables(self, names):
        """Returns the names, and the tables below the views among them."""
        below = set().union(*(self.views[name] for name in names if name in self.views)) - names
        return self.with_tables(names | below) if below else names

    def note_prepared(self, plain):
        """Keeps the text of a prepared statement: the rules for that text apply to its execution."""
        match = re.match(r"\s*prepare\s+`?(\w+)`?\s+from\s+(?:'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"|(@\w+))", plain, re.IGNORECASE | re.DOTALL)
        if match:
            name, single, double, variable = match.groups()
            text = self.texts.get(variable.lower(), "") if variable else (single or double or "").replace("''", "'").replace('""', '"')
            self.prepared[name.lower()] = text.strip()
        match = re.match(r"\s*set\s+(@\w+)\s*:?=\s*(['\"].*['\"]|concat\s*\(.*\))\s*$", plain, re.IGNORECASE | re.DOTALL)
        if match:
            self.texts[match.group(1).lower()] = statements.concatenated(match.group(2), self.texts)

    def follow(self, plain, held, verdict, words, touched, mentioned, reference, apart):
        """Keeps the names whose state differs, each with the rule that counts it apart, or with None."""
        if verdict == "equal":
            why = None
        elif apart:
            why = apart
        else:
            why = self.blamed({**mentioned, **self.link.diverged})
        lowered = plain.lower()
        self.note_program(lowered, words, touched, verdict, why)
        self.note_accounts(lowered, verdict, why)
        for table, names in self.triggers.values():
            if table in touched:
                self.diverge(self.changeable(names), "programs")
        if statements.drops(plain):
            if verdict == "equal" or reference == 0 or reference in (1051, 1008):
                self.forget(touched)
                self.triggers = {program: (table, names) for program, (table, names) in self.triggers.items() if table not in touched}
            else:
                self.diverge(touched, why)
            return
        if lowered.startswith("use "):
            self.link.mark("schema", verdict != "equal", why)
            return
        setting = plain if lowered.startswith("set ") else held if statements.executes(plain) and held.lower().startswith("set ") else ""
        if not (verdict == "equal" and reference):
            for mode in MODES.findall(setting):
                self.link.mark(mode.lower(), verdict != "equal" or bool(mentioned), why if verdict != "equal" else self.blamed(mentioned))
        if lowered.startswith(("commit", "rollback", "begin", "start transaction", "xa ", "lock ", "unlock ", "flush table")) and verdict != "equal":
            self.link.mark("transaction", True, why)
        elif lowered.startswith(("commit", "rollback", "unlock")):
            self.link.mark("transaction", False)
        if verdict != "equal" and not (verdict == "rows differ" and not touched):
            self.diverge(touched, why)
            for name in words & self.bodies.keys():
                self.diverge(self.changeable(self.bodies[name]), why)
        elif statements.makes(plain):
            self.forget(touched - mentioned.keys())
        elif touched and (mentioned or self.character_sets(plain)):
            self.diverge(touched, self.blamed({**mentioned, **self.character_sets(plain)}))
        if re.match(r"\s*create\s", lowered):
            self.made |= touched
            if re.match(r"\s*create\b.*?\bview\b", lowered):
                self.views.update((name, (words & self.made) - touched) for name in touched)
        if re.search(r"\brand\s*\(\s*\)|\buuid(_short)?\s*\(", lowered):
            self.diverge(touched, "another each time")

    def note_program(self, lowered, words, touched, verdict, why):
        """Keeps the names in the body of a program: they differ once it runs on one server only; for a trigger, with each change of its table."""
        made = re.match(r"\s*(create|drop)\b.*?\b(procedure|function|trigger|event|package)\s+(?:if\s+(?:not\s+)?exists\s+)?([\w`.]+)", lowered, re.DOTALL)
        if not made or re.match(r"\s*create\s+(table|view|temporary)", lowered):
            return
        program = made.group(3).strip("`").split(".")[-1]
        self.triggers.pop(program, None)
        if made.group(1) == "create":
            for name in touched | {program}:
                self.bodies[name] = words
            if made.group(2) == "trigger" and verdict != "equal":
                self.triggers.update((program, (table, words)) for table in touched)
            if verdict != "equal":
                self.diverge({program}, why)

    def note_accounts(self, lowered, verdict, why):
        """Keeps the accounts whose privileges differ."""
        named = re.match(r"(?:(?:grant|revoke)\b.*?\b(?:to|from)|((?:create|drop|alter|rename)\s+)(?:user|role)(?:\s+if\s+(?:not\s+)?exists)?)\s+(.*)", lowered, re.DOTALL)
        if named and verdict != "equal":
            self.accounts |= statements.listed(named.group(2).replace("@", ","))
        elif named and lowered.startswith("drop"):
            self.accounts -= statements.listed(named.group(2).replace("@", ","))
        elif re.match(r"set\s+(default\s+)?role\b", lowered):
            self.link.mark("role", verdict != "equal", why)

    def character_sets(self, plain):
        """Returns the differences of the session's character sets and collations, if a statement makes an object that has one."""
        if not re.match(r"\s*(create|alter)\s+(temporary\s+)?table\b|\s*set\b.*@@(character_set|collation)_", plain, re.IGNORECASE):
            return {}
        return {name: why for name, why in self.link.diverged.items() if re.match(r"names|charset|character_set_|collation_", name)}

    @staticmethod
    def blamed(causes):
        return sorted(causes.values())[0] if causes and None not in causes.values() else None

    def diverge(self, names, why):
        """Notes that names have different states. A difference that Leafline causes stays one."""
        for name in names:
            self.diverged[name] = None if name in self.diverged and self.diverged[name] is None else why

    def forget(self, names):
        for name in names:
            self.diverged.pop(name, None)

    # The language

    def evaluate(self, text):
        """Replaces variables by their values, for each side."""
        if "$" not in text and "\\" not in text:
            return Pair(text)
        return Pair(*(self.expand(text, side) for side in (0, 1)))

    def expand(self, text, side):
        parts, at = [], 0
        while at < len(text):
            character = text[at]
            if character == "\\" and text[at + 1:at + 2] in ("\\", "$", '"'):
                parts.append(text[at + 1])
                at += 2
                continue
            match = re.compile(r"\$(?:\{(\w+)\}|(\w+))").match(text, at) if character == "$" else None
            if match:
                parts.append(self.value(match.group(1) or match.group(2), side))
                at = match.end()
                continue
            parts.append(character)
            at += 1
        return "".join(parts)

    def value(self, name, side):
        if name in ("mysql_errno",):
            return self.errno.both[side]
        found = self.variables.get(name)
        if found is None and name[-1:].isdigit() and name[:-1] in self.variables and len(name) > 3:
            return self.variables[name[:-1]].both[side] + name[-1]
        return found.both[side] if found else ""

    def ask(self, query, column=None, row=1):
        """Returns the value of a query in back quotes or of `query_get_value`, for each side."""
        pair = self.evaluate(query)
        answers = []
        for side in (0, 1):
            end, answer = self.link.ends[side], ""
            if end and not (side == 1 and re.search(r"\bsleep\s*\(", query, re.IGNORECASE)):
                try:
                    results = end.query(pair.both[side].encode("latin-1"), 15)
                    rows = next((result for result in results if isinstance(result, Rows)), None)
                    if rows and column is None and rows.rows:
                        answer = "\t".join((value or b"").decode("latin-1") for value in rows.rows[0])
                    elif rows and column is not None:
                        at = [name.decode("latin-1").lower() for name in rows.columns].index(column.lower())
                        answer = (rows.rows[row - 1][at] or b"NULL").decode("latin-1") if len(rows.rows) >= row else "No such row"
                    elif side == 1 and isinstance(results[-1], ServerError):
                        answer = None
                except (Lost, TimedOut):
                    if not self.servers[side].alive():
                        self.died(side, 0, pair.both[side])
                    self.reopen(side)
                except ValueError:
                    answer = None
            answers.append(answer)
        differs = any(name in self.diverged for name in statements.names(query))
        return Pair(answers[0] or "", answers[0] if answers[1] is None or differs else answers[1])

    def right_side(self, text):
        text = text.strip()
        if len(text) > 1 and text.startswith("`") and text.endswith("`"):
            return self.ask(text[1:-1])
        match = re.match(r"query_get_value\s*\(\s*(.*),\s*([^,]+?)\s*,\s*([^,]+?)\s*\)\s*$", text, re.IGNORECASE | re.DOTALL)
        if match:
            query, column, row = (part.strip() for part in match.groups())
            row = self.expand(row, 0)
            return self.ask(query.strip("\"'"), self.expand(column, 0).strip("\"'`"), int(row) if row.isdigit() else 1)
        if text.lower().startswith("convert_error"):
            return Pair("0")
        return self.evaluate(text)

    def condition(self, text):
        text = text.strip()
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1].strip()
        negated = text.startswith("!") and not text.startswith("!=")
        if negated:
            text = text[1:].strip()
        match = None if text.startswith("`") else re.match(r"(\$\w+|\w+)\s*(==|!=|<=|>=|<|>)\s*(.*)$", text, re.DOTALL)
        if match:
            left, right = self.expand(match.group(1), 0), self.right_side(match.group(3).strip().strip("'\"")).both[0]
            try:
                left, right = int(left), int(right)
            except ValueError:
                pass
            if type(left) is not type(right):
                left, right = str(left), str(right)
            truth = {"==": left == right, "!=": left != right, "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[match.group(2)]
        else:
            value = self.right_side(text).both[0].strip()
            truth = not re.fullmatch(r"[+-]?0*", value)
        return truth != negated

    def run_commands(self, commands):
        for command in commands:
            if time.monotonic() > self.until:
                self.record(command[0], "", "file cut", "time")
                raise EndOfFile()
            word = command[1]
            if word == "if":
                if self.condition(command[2]):
                    self.run_commands(command[3])
            elif word == "while":
                while self.condition(command[2]):
                    self.run_commands(command[3])
                    if time.monotonic() > self.until:
                        self.record(command[0], "", "file cut", "time")
                        raise EndOfFile()
            else:
                self.command(command[0], word, command[2], command[3] if len(command) > 3 else None)

    def command(self, line, word, rest, body):
        if word == "query":
            self.statement(line, rest, eval=False)
        elif word in ("eval", "evalp", "query_vertical", "query_horizontal"):
            self.statement(line, rest)
        elif word in ("send", "send_eval"):
            if rest:
                self.count += 1
                self.send(line, self.evaluate(rest) if word == "send_eval" else Pair(rest))
            else:
                self.send_next = True
        elif word == "reap":
            self.reap()
        elif word == "let":
            match = re.match(r"\$?(\w+)\s*=?\s*(.*)$", rest, re.DOTALL)
            if match:
                self.variables[match.group(1)] = self.right_side(match.group(2))
        elif word in ("inc", "dec"):
            name = rest.strip().lstrip("$")
            step = 1 if word == "inc" else -1
            self.variables[name] = Pair(*(str((int(value) if re.fullmatch(r"-?\d+", value) else 0) + step) for value in self.variables.get(name, Pair("0")).both))
        elif word == "source":
            self.source(self.expand(rest, 0))
        elif word in ("connect", "connection", "disconnect", "dirty_close", "send_quit", "change_user", "reset_connection"):
            self.connections(word, self.expand(rest, 0))
        elif word in ("exit", "skip", "die", "shutdown_server", "send_shutdown"):
            raise EndOfFile()
        elif word in ("write_file", "append_file", "write_line"):
            self.write(word, rest, body)
        elif word in ("remove_file", "copy_file", "mkdir", "rmdir", "remove_files_wildcard"):
            self.files(word, rest)

    def write(self, word, rest, body):
        for side in (0, 1):
            path = self.expand(rest if word != "write_line" else rest.split()[-1], side)
            if path.startswith(self.servers[side].folder):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w" if word == "write_file" else "a", encoding="latin-1") as file:
                    file.write(body if body is not None else self.expand(rest.rsplit(None, 1)[0], side) + "\n")

    def files(self, word, rest):
        for side in (0, 1):
            paths = self.expand(rest, side).split()
            if len(paths) < (2 if word == "copy_file" else 1) or not paths[-1 if word == "copy_file" else 0].startswith(self.servers[side].folder):
                continue
            try:
                if word == "copy_file":
                    shutil.copyfile(paths[0], paths[1])
                elif word == "mkdir":
                    os.mkdir(paths[0])
                elif word == "rmdir":
                    os.rmdir(paths[0])
                elif word == "remove_file":
                    os.unlink(paths[0])
            except OSError:
                pass

    def source(self, name):
        base = os.path.basename(name)
        if base in ("wait_condition.inc", "wait_condition_with_debug.inc", "wait_show_condition.inc"):
            for _ in range(20):
                found = self.ask(self.variables.get("wait_condition", Pair("select 1")).both[0])
                if all(value not in ("", "0") for value in found.both):
                    return
                time.sleep(0.1)
            return
        if base in ("count_sessions.inc", "wait_until_count_sessions.inc", "wait_until_disconnected.inc", "search_pattern_in_file.inc",
                    "wait_until_connected_again.inc", "protocol.inc", "wait_until_rows_count.inc"):
            return
        if base in ("restart_mysqld.inc", "kill_mysqld.inc", "start_mysqld.inc", "shutdown_mysqld.inc", "not_embedded.inc.", "master-slave.inc"):
            raise EndOfFile()
        for folder in (SUITE, os.path.dirname(self.path), os.path.join(SUITE, "main")):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                if path not in self.parsed:
                    self.parsed[path] = script.read(path)
                self.run_commands(self.parsed[path])
                return

    def connections(self, word, rest):
        if word == "connect":
            arguments = [argument.strip().strip("'\"") for argument in rest.strip().strip("()").split(",")] + [""] * 5
            name, host, user, password, database = arguments[:5]
            database = "" if database == "*NO-ONE*" else database or "test"
            self.link = self.open(name, user or "root", password, database)
        elif word == "connection":
            found = self.links.get(rest.strip())
            if found:
                self.link = found
        elif word in ("disconnect", "dirty_close", "send_quit"):
            found = self.links.pop(rest.strip(), None) if rest.strip() != "default" else None
            for side in (0, 1):
                if found and found.ends[side]:
                    found.ends[side].close()
                    found.ends[side] = None
        elif word == "reset_connection" or word == "change_user":
            arguments = [argument.strip() for argument in rest.split(",")] + ["", "", ""]
            name = next((name for name, link in self.links.items() if link is self.link), "default")
            for end in self.link.ends:
                if end:
                    end.close()
            if word == "reset_connection":
                self.link = self.open(name, *self.link.login)
            else:
                self.link = self.open(name, arguments[0] or "root", arguments[1], arguments[2] or "test")

    def file(self, path):
        self.path, self.name = path, os.path.relpath(path, SUITE).removesuffix(".test")
        self.until = time.monotonic() + self.seconds
        self.variables, self.links, self.parsed = {}, {}, {}
        self.diverged, self.bodies, self.triggers, self.views, self.made, self.accounts = {}, {}, {}, {}, set(), set()
        self.errno, self.count = Pair("0"), 0
        self.prepared, self.texts = {}, {}
        first, second = self.servers
        for name, end in (("MYSQLTEST_VARDIR", ""), ("MYSQL_TMP_DIR", "/tmp"), ("MYSQLD_DATADIR", "/mysqld.1/data"), ("MYSQL_TEST_DIR", None),
                          ("MASTER_MYSOCK", "/socket")):
            self.variables[name] = Pair(SUITE) if end is None else Pair(first.folder + end, second.folder + end)
        self.variables["MASTER_MYPORT"] = Pair(str(first.port), str(second.port))
        self.variables["DEFAULT_MASTER_PORT"] = self.variables["MASTER_MYPORT"]
        self.link = self.open("default")
        try:
            self.run_commands(script.read(path))
        except EndOfFile:
            pass
        except (RecursionError, ValueError, IndexError, OSError, RuntimeError, ServerError, Lost, TimedOut) as error:
            self.record(0, "", "file cut", f"{type(error).__name__} {error}")
        for link in self.links.values():
            for end in link.ends:
                if end:
                    end.close()


def brief(results):
    """Returns a short form of a result for a reader."""
    last = results[-1]
    if isinstance(last, ServerError):
        return f"{last.number} {last.message[:300]}"
    shown = []
    for result in results:
        if isinstance(result, Rows):
            rows = sorted(result.rows, key=lambda row: [(value is not None, value or b"") for value in row])
            shown.append([["NULL" if value is None else value[:120].decode("utf-8", "backslashreplace") for value in row[:12]] for row in rows[:12]])
        else:
            shown.append(f"affected {result.affected}")
    return shown[0] if len(shown) == 1 else shown[:3]


# The account that the test connects as has another host in each server.
ACCOUNTS = [(b"`root`@`%`", b"`root`@`localhost`"), (b"root@%", b"root@localhost")]


def neutral(servers, rows):
    """Replaces each server's own folders and ports in the rows by common names, and the host of root by MariaDB's."""
    names = [(server.folder.encode(), b"VAR") for server in servers]
    if not any(value and (b"/" in value or b"root" in value) for row in rows.rows[:50] for value in row):
        return rows

    def same(value):
        for name, common in names + ACCOUNTS:
            if value and name in value:
                value = value.replace(name, common)
        return value
    return Rows(rows.columns, [tuple(same(value) for value in row) for row in rows.rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--port", type=int, default=13800)
    parser.add_argument("--out", default="results.jsonl")
    parser.add_argument("--seconds", type=float, default=120, help="the time for a file")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    rules = Rules()
    work = os.path.abspath(options.work)
    servers = [MariaDB(os.path.join(work, "reference"), options.port), Leafline(os.path.join(work, "subject"), options.port + 1, os.path.abspath(options.binary))]
    sys.setrecursionlimit(5000)
    try:
        for server in servers:
            shutil.rmtree(server.data, ignore_errors=True)
            server.start()
        with open(options.out, "w") as out:
            for path in options.files:
                with open(path, encoding="latin-1") as file:
                    text = file.read()
                reason = rules.skipped(path, text)
                if reason:
                    out.write(json.dumps({"file": os.path.relpath(path, SUITE).removesuffix(".test"), "verdict": "file skipped", "rule": reason}) + "\n")
                    continue
                begun = time.monotonic()
                run = Run(servers, rules, out, options.seconds)
                run.file(path)
                out.flush()
                print(f"{run.name}: {run.count} statements, {time.monotonic() - begun:.1f} s", flush=True)
                for server in servers:
                    try:
                        fresh = server.alive() and server.reset()
                    except (Lost, TimedOut, ServerError):
                        fresh = False
                    if not fresh:
                        print(f"{server.name} begins anew", flush=True)
                        server.begin_anew()
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
