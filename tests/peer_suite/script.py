"""Reads files in the language of mysqltest into trees of commands.

A command is `(line, word, rest)`, a block is `(line, word, condition, commands)` with the word `if` or `while`. What is not a command of
mysqltest is a statement for the server, with the word `query`. Files are read as Latin-1, so that every byte comes back as it was.
"""

import re

COMMANDS = set("""
append_file cat_file change_user character_set chmod connect connection copy_file copy_files_wildcard dec delimiter die diff_files
dirty_close disable_abort_on_error disable_async_client disable_column_names disable_connect_log disable_cursor_protocol disable_info
disable_metadata disable_non_blocking_api disable_parsing disable_prepare_warnings disable_ps2_protocol disable_ps_protocol
disable_query_log disable_reconnect disable_result_log disable_service_connection disable_session_track_info disable_testcase
disable_view_protocol disable_warnings disconnect echo enable_abort_on_error enable_async_client enable_column_names enable_connect_log
enable_cursor_protocol enable_info enable_metadata enable_non_blocking_api enable_parsing enable_prepare_warnings enable_ps2_protocol
enable_ps_protocol enable_query_log enable_reconnect enable_result_log enable_service_connection enable_session_track_info
enable_testcase enable_view_protocol enable_warnings end end_timer error eval evalp exec execw exit file_exists horizontal_results if inc
let list_files list_files_append_file list_files_write_file lowercase_result mkdir move_file output perl ping query query_attributes
query_get_value query_horizontal query_vertical real_sleep reap remove_file remove_files_wildcard replace_column replace_regex
replace_result require reset_connection result_format rmdir save_master_pos send send_eval send_quit send_shutdown shutdown_server skip
sleep sorted_result source start_timer sync_slave_with_master sync_with_master system vertical_results wait_for_slave_to_stop while
write_file write_line force-rmdir force-cpdir
""".split())
WITH_BODY = {"perl", "write_file", "append_file"}
WORD = re.compile(r"[A-Za-z_0-9-]+")


class Reader:
    """The text of a file, and the position of the reader."""

    def __init__(self, text, delimiter=";"):
        self.text, self.at, self.line, self.delimiter = text, 0, 1, delimiter
        self.skipping = False

    def _take(self, end):
        part = self.text[self.at:end]
        self.line += part.count("\n")
        self.at = end
        return part

    def _line_rest(self):
        end = self.text.find("\n", self.at)
        part = self._take(len(self.text) if end < 0 else end)
        self._take(min(self.at + 1, len(self.text)))
        return part

    def _body(self, end_word):
        """Returns the lines up to one that begins with `end_word`."""
        lines = []
        while self.at < len(self.text):
            line = self._line_rest()
            if line.startswith(end_word):
                break
            lines.append(line)
        return "".join(line + "\n" for line in lines)

    def raw(self):
        """Returns the next `(line, text, from_comment)`, `None` at the end. `from_comment`: the line began with `--`."""
        text = self.text
        while True:
            while self.at < len(text) and text[self.at] in " \t\r\n\f\v\0":
                self._take(self.at + 1)
            if self.at >= len(text):
                return None
            line = self.line
            if text[self.at] == "#":
                self._line_rest()
                continue
            if text.startswith("--", self.at):
                self._take(self.at + 2)
                return line, self._line_rest().strip(), True
            if text[self.at] == "-":
                self._line_rest()
                continue
            if text.startswith(self.delimiter, self.at):
                self._take(self.at + len(self.delimiter))
                continue
            if text[self.at] == "}":
                self._take(self.at + 1)
                return line, "}", False
            return line, self._statement(), False

    def _statement(self):
        text, at, quote, slash = self.text, self.at, None, False
        start = at
        while at < len(text):
            character = text[at]
            if quote:
                if character == "\\" and quote != "`":
                    at += 2
                    continue
                if character == quote:
                    quote = None
            elif text.startswith(self.delimiter, at):
                part = self._take(at)
                self._take(at + len(self.delimiter))
                return part
            elif character == "{" and re.match(r"(while|if)\b", text[start:start + 6], re.IGNORECASE):
                part = self._take(at)
                self._take(at + 1)
                return part + "{"
            elif character in "'\"`" and not slash:
                quote = character
            slash = character == "\\"
            at += 1
        return self._take(len(text))

    def block(self, nested=False):
        """Returns the commands up to the end of the block or file."""
        commands = []
        while (found := self.raw()) is not None:
            line, text, comment = found
            if text == "}" and not comment:
                if nested:
                    return commands
                continue
            match = WORD.match(text)
            word = match.group().lower() if match else ""
            if word.startswith("--") or word not in COMMANDS:
                if not comment and not self.skipping:
                    commands.append((line, "query", text))
                continue
            if word == "connection" and not re.match(r"\s*[\w$-]+\s*$", text[match.end():]):
                continue
            rest = text[match.end():].strip()
            self._command(commands, line, word, rest, comment)
        return commands

    def _command(self, commands, line, word, rest, comment):
        if word == "delimiter":
            self.delimiter = rest or ";"
            return
        if word in ("enable_parsing", "disable_parsing", "enable_testcase", "disable_testcase"):
            self.skipping = word.startswith("disable")
            return
        if word in ("if", "while"):
            if not rest.endswith("{"):
                rest = rest + self._up_to_brace()
            inner = self.block(nested=True)
            if not self.skipping:
                commands.append((line, word, rest.rstrip("{").strip(), inner))
            return
        body = None
        if word in WITH_BODY:
            parts = rest.split()
            end_word = "EOF"
            if word == "perl" and parts:
                end_word = parts[0]
            elif word != "perl" and len(parts) > 1:
                end_word = parts[1]
            if not comment:
                self._line_rest()
            body = self._body(end_word)
        if self.skipping:
            return
        if body is not None:
            commands.append((line, word, (rest.split() or [""])[0], body))
        else:
            commands.append((line, word, rest))

    def _up_to_brace(self):
        end = self.text.find("{", self.at)
        if end < 0:
            return self._take(len(self.text))
        part = self._take(end)
        self._take(end + 1)
        return part + "{"


def read(path, delimiter=";"):
    with open(path, encoding="latin-1") as file:
        return Reader(file.read(), delimiter).block()
