//! Splits lines into statements and commands, for the shell's prompt and for scripts.
//!
//! A statement ends at `;`, `\g` or `\G` (rows one column a line), outside of strings, quoted names and comments.
//! Comments in front of a statement are dropped, those inside are kept: they may be hints. At the start of a
//! statement a line may be a command: `help`, `quit`, `exit`, `source FILE`, `timing on|off`, `use DATABASE`,
//! `delimiter XX`; the short forms `\h`, `\?`, `\q`, `\. FILE`, `\u DATABASE`, `\d XX` and `\c` (drop what was typed)
//! work everywhere outside of quotes.
//!
//! `delimiter` replaces the `;`, as in the mysql client: until then semicolons separate the statements of a text that
//! ends at the delimiter. Without it, semicolons in the body of a stored program belong to the program.

use leafline_syntax::{LexMode, is_open_program, split_statements};

/// A statement or a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A statement, without its end.
    Statement(Statement),
    /// A command of the shell itself.
    Command(Command),
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Its text.
    pub sql: String,
    /// The line of its first character, from 1.
    pub line: usize,
    /// Whether it ended in `\G`.
    pub vertical: bool,
}

/// A command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// `help`.
    Help,
    /// `quit`.
    Quit,
    /// `source FILE`.
    Source(String),
    /// `timing on|off`.
    Timing(bool),
    /// A backslash and a character that form no command.
    Unknown(char),
    /// A command whose argument is missing or wrong; holds its syntax.
    Usage(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    #[default]
    Plain,
    Quoted(u8),
    Comment,
}

/// The delimiter at first.
const SEMICOLON: &str = ";";

/// Splits lines into items.
#[derive(Debug)]
pub struct Reader {
    text: String,
    state: State,
    /// The text that ends a statement.
    delimiter: String,
    /// The place in `text` behind the last semicolon of the stored program that it begins.
    part: usize,
    /// The number of lines read.
    lines: usize,
    first_line: usize,
}

impl Default for Reader {
    fn default() -> Reader {
        let (text, state) = (String::new(), State::Plain);
        Reader { text, state, delimiter: SEMICOLON.to_owned(), part: 0, lines: 0, first_line: 0 }
    }
}

impl Reader {
    /// Takes one line, without its end, and returns the items that end in it.
    pub fn feed(&mut self, line: &str, mode: LexMode) -> Vec<Item> {
        self.lines += 1;
        let mut items = Vec::new();
        if self.is_empty()
            && let Some(items) = self.command_line(line)
        {
            return items;
        }
        let bytes = line.as_bytes();
        let mut start = 0;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let next = bytes.get(at + 1).copied();
            match (self.state, byte) {
                (State::Quoted(_), b'\\') if self.escapes(mode) && next.is_some() => at += 1,
                (State::Quoted(quote), _) if byte == quote => self.state = State::Plain,
                (State::Comment, b'*') if next == Some(b'/') => {
                    self.state = State::Plain;
                    at += 1;
                    if self.is_comment_only(&line[start..=at]) {
                        self.text.clear();
                        start = at + 1;
                    }
                }
                (State::Plain, _) if line.get(at..).is_some_and(|rest| rest.starts_with(&self.delimiter)) => {
                    self.append(&line[start..at]);
                    at += self.delimiter.len();
                    start = at;
                    if !self.is_inside_program(mode) {
                        items.extend(self.take(false, mode));
                    }
                    continue;
                }
                (State::Plain, b'\'' | b'"' | b'`') => self.state = State::Quoted(byte),
                (State::Plain, b'/') if next == Some(b'*') => {
                    self.state = State::Comment;
                    at += 1;
                }
                (State::Plain, b'#') => break,
                (State::Plain, b'-') if next == Some(b'-') && ends_dashes(bytes.get(at + 2)) => break,
                (State::Plain, b'\\') => {
                    self.append(&line[start..at]);
                    let rest = line.get(at + 1..).unwrap_or_default();
                    let Some(letter) = rest.chars().next() else {
                        start = at;
                        break;
                    };
                    let argument = &rest[letter.len_utf8()..];
                    if letter == 'd' {
                        items.extend(self.set_delimiter(argument));
                        return items;
                    }
                    if matches!(letter, '.' | 'u') {
                        items.push(with_argument(letter, argument));
                        return items;
                    }
                    items.extend(self.short_command(letter, mode));
                    at += letter.len_utf8();
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let is_comment = at < bytes.len() && bytes.get(at) != Some(&b'\\');
        let whole = line.get(start..).unwrap_or_default();
        let before = line.get(start..at).unwrap_or_default();
        // A comment to the end of the line is kept only inside of a statement.
        self.append(if is_comment && self.text.is_empty() && before.trim().is_empty() { "" } else { whole });
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        items
    }

    /// Returns the last statement, whose end may be missing, after the last line; behind another delimiter than `;`
    /// there may be several.
    pub fn finish(&mut self, mode: LexMode) -> Vec<Item> {
        let is_comment = self.state == State::Comment && self.is_comment_only("");
        self.state = State::Plain;
        if is_comment {
            self.text.clear();
        }
        self.take(false, mode)
    }

    /// Drops the unfinished statement.
    pub fn clear(&mut self) {
        self.text.clear();
        self.part = 0;
        self.state = State::Plain;
    }

    /// Whether there is no unfinished statement.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.state == State::Plain
    }

    /// Returns the prompt for the next line of a statement, as in the mysql client.
    pub fn continuation(&self) -> &'static str {
        match self.state {
            State::Plain => "->",
            State::Quoted(b'\'') => "'>",
            State::Quoted(b'"') => "\">",
            State::Quoted(_) => "`>",
            State::Comment => "/*>",
        }
    }

    fn escapes(&self, mode: LexMode) -> bool {
        self.state != State::Quoted(b'`') && !mode.no_backslash_escapes
    }

    /// Adds a piece of the line; blanks do not begin a statement.
    fn append(&mut self, piece: &str) {
        if self.text.is_empty() {
            let piece = piece.trim_start();
            if !piece.is_empty() {
                self.first_line = self.lines;
            }
            self.text.push_str(piece);
        } else {
            self.text.push_str(piece);
        }
    }

    /// Returns the statement that ends here, or the statements if the delimiter is not `;`.
    fn take(&mut self, vertical: bool, mode: LexMode) -> Vec<Item> {
        self.part = 0;
        let text = std::mem::take(&mut self.text);
        let whole = text.trim_end();
        if whole.is_empty() {
            return Vec::new();
        }
        let parts = if self.delimiter == SEMICOLON { vec![whole] } else { split_statements(whole, mode) };
        let (mut behind, mut line) = (0, self.first_line);
        let statement = |sql: &str| {
            let rest = whole.get(behind..).unwrap_or_default();
            let at = rest.find(sql).unwrap_or_default();
            line += rest.get(..at).unwrap_or_default().matches('\n').count();
            let statement = Statement { sql: sql.to_owned(), line, vertical };
            line += sql.matches('\n').count();
            behind += at + sql.len();
            Item::Statement(statement)
        };
        parts.into_iter().map(statement).collect()
    }

    /// Whether a semicolon behind the text belongs to a stored program; adds it then.
    fn is_inside_program(&mut self, mode: LexMode) -> bool {
        if self.delimiter != SEMICOLON || self.text.is_empty() {
            return false;
        }
        self.text.push(';');
        let is_inside = is_open_program(&self.text, self.part, mode);
        match is_inside {
            true => self.part = self.text.len(),
            false => drop(self.text.pop()),
        }
        is_inside
    }

    /// Takes the argument of `delimiter`: its first word, which may be quoted. Returns a complaint if there is none.
    fn set_delimiter(&mut self, argument: &str) -> Option<Item> {
        let word = argument.split_whitespace().next().unwrap_or_default();
        let inside = |quote| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let word = ['\'', '"', '`'].into_iter().find_map(inside).unwrap_or(word);
        if word.is_empty() || word.contains('\\') {
            return Some(Item::Command(Command::Usage("delimiter XX, without a backslash")));
        }
        self.delimiter = word.to_owned();
        None
    }

    /// Whether the unfinished text, with `piece`, is only a comment without a meaning: neither a hint nor executed.
    fn is_comment_only(&self, piece: &str) -> bool {
        let begun = if self.text.is_empty() { piece.trim_start() } else { self.text.as_str() };
        let kept = ["/*!", "/*+", "/*M!"].iter().any(|mark| begun.starts_with(mark));
        let inside = begun.find("*/").is_some_and(|end| end + 2 < begun.trim_end().len());
        begun.starts_with("/*") && !kept && !inside
    }

    fn short_command(&mut self, letter: char, mode: LexMode) -> Vec<Item> {
        let command = match letter {
            'g' | 'G' => return self.take(letter == 'G', mode),
            'c' => {
                self.clear();
                return Vec::new();
            }
            'h' | '?' => Command::Help,
            'q' => Command::Quit,
            other => Command::Unknown(other),
        };
        vec![Item::Command(command)]
    }

    /// Returns the items of a whole line that is a command.
    fn command_line(&mut self, line: &str) -> Option<Vec<Item>> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if word.eq_ignore_ascii_case("delimiter") {
            return Some(self.set_delimiter(rest).into_iter().collect());
        }
        let line = line.strip_suffix(&*self.delimiter).unwrap_or(line);
        let line = line.strip_suffix(';').unwrap_or(line).trim_end();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let command = match word.to_ascii_lowercase().as_str() {
            "help" | "?" if rest.is_empty() => Command::Help,
            "quit" | "exit" if rest.is_empty() => Command::Quit,
            "clear" if rest.is_empty() => {
                self.clear();
                return Some(Vec::new());
            }
            "source" => return Some(vec![with_argument('.', rest)]),
            "use" if !rest.is_empty() && !rest.contains(';') => {
                let sql = format!("USE {rest}");
                return Some(vec![Item::Statement(Statement { sql, line: self.lines, vertical: false })]);
            }
            "timing" => match rest.to_ascii_lowercase().as_str() {
                "on" => Command::Timing(true),
                "off" => Command::Timing(false),
                _ => Command::Usage("timing on|off"),
            },
            _ => return None,
        };
        Some(vec![Item::Command(command)])
    }
}

fn ends_dashes(byte: Option<&u8>) -> bool {
    byte.is_none_or(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// Returns `\. FILE` or `\u DATABASE`, whose argument is the rest of the line.
fn with_argument(letter: char, argument: &str) -> Item {
    let argument = argument.trim();
    let argument = argument.strip_suffix(';').unwrap_or(argument).trim_end();
    match (letter, argument) {
        ('.', "") => Item::Command(Command::Usage("source FILE")),
        ('.', file) => Item::Command(Command::Source(file.to_owned())),
        (_, "") => Item::Command(Command::Usage("use DATABASE")),
        (_, name) => Item::Statement(Statement { sql: format!("USE {name}"), line: 0, vertical: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns statements as `line:text`, with `\G` if they end so, and commands as their debug text.
    fn read(script: &str) -> Vec<String> {
        let mut reader = Reader::default();
        let mut items: Vec<Item> =
            script.lines().flat_map(|line| reader.feed(line, LexMode::default())).collect();
        items.extend(reader.finish(LexMode::default()));
        let show = |item| match item {
            Item::Statement(s) => format!("{}:{}{}", s.line, s.sql, if s.vertical { "\\G" } else { "" }),
            Item::Command(command) => format!("{command:?}"),
        };
        items.into_iter().map(show).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let script =
            "SELECT ';', \";\", `;` ; SELECT 2\n  + 3 -- a;b\n; /* x; */ SELECT 4 # y;\n, 5\\G\nSELECT 6";
        let items =
            ["1:SELECT ';', \";\", `;`", "1:SELECT 2\n  + 3 -- a;b", "3:SELECT 4 # y;\n, 5\\G", "5:SELECT 6"];
        assert_eq!(read(script), items);
    }

    #[test]
    fn quotes_go_over_lines_and_have_escapes() {
        assert_eq!(
            read("SELECT 'a\\';\nb''c;';\nSELECT `\\`;"),
            ["1:SELECT 'a\\';\nb''c;'", "3:SELECT `\\`"]
        );
        let mut reader = Reader::default();
        let mode = LexMode { no_backslash_escapes: true, ..LexMode::default() };
        assert_eq!(reader.feed("SELECT '\\';", mode).len(), 1);
        assert!(reader.is_empty());
    }

    #[test]
    fn comments_in_front_are_dropped_unless_they_are_executed() {
        assert_eq!(read("-- a\n# b\n/* c\n d */ -- e\n\nSELECT 1;"), ["6:SELECT 1"]);
        assert_eq!(read("/*!40101 SET a=1 */;\n-- x"), ["1:/*!40101 SET a=1 */"]);
        assert_eq!(read("SELECT /* a\n;b */ 1; /* open"), ["1:SELECT /* a\n;b */ 1"]);
        assert_eq!(read("SELECT 1--2;\nSELECT 1 --;"), ["1:SELECT 1--2", "2:SELECT 1 --"]);
    }

    #[test]
    fn commands_stand_at_the_start_of_a_statement() {
        assert_eq!(
            read("help\nquit;\n source a b.sql ;\ntiming OFF\ntiming"),
            ["Help", "Quit", "Source(\"a b.sql\")", "Timing(false)", "Usage(\"timing on|off\")"]
        );
        assert_eq!(read("use tpch\nSELECT\nhelp;"), ["1:USE tpch", "2:SELECT\nhelp"]);
        assert_eq!(
            read("SELECT 1 \\c SELECT 2;\n\\. x.sql\n\\u db\n\\z"),
            ["1:SELECT 2", "Source(\"x.sql\")", "0:USE db", "Unknown('z')"]
        );
    }

    #[test]
    fn a_delimiter_replaces_the_semicolon() {
        let script = "DELIMITER //\nCREATE PROCEDURE p()\nBEGIN\nSELECT '//', 1; -- //\nEND; //\n\
                      SELECT 1;\nSELECT 2\n// SELECT 3//\nuse d//\ndelimiter ;\nSELECT 4; SELECT 5";
        let items = [
            "2:CREATE PROCEDURE p()\nBEGIN\nSELECT '//', 1; -- //\nEND",
            "6:SELECT 1",
            "7:SELECT 2",
            "8:SELECT 3",
            "9:USE d",
            "11:SELECT 4",
            "11:SELECT 5",
        ];
        assert_eq!(read(script), items);
        assert_eq!(read("Delimiter '$$' x\nSELECT 1; $$\n\\d ;\nSELECT 2;"), ["2:SELECT 1", "4:SELECT 2"]);
        assert_eq!(read("DELIMITER ;;\nSELECT 1;;\nSELECT 2\\G"), ["2:SELECT 1", "3:SELECT 2\\G"]);
        assert_eq!(read("SELECT\ndelimiter;"), ["1:SELECT\ndelimiter"]);
        let usage = "Usage(\"delimiter XX, without a backslash\")";
        assert_eq!(read("delimiter\ndelimiter \\\nSELECT 1;"), [usage, usage, "3:SELECT 1"]);
    }

    #[test]
    fn a_stored_program_ends_with_its_body() {
        let script =
            "CREATE PROCEDURE p()\nBEGIN\n  SELECT ';'; IF 1 THEN\n SELECT 2; END IF;\nEND; SELECT 3;";
        let program = "1:CREATE PROCEDURE p()\nBEGIN\n  SELECT ';'; IF 1 THEN\n SELECT 2; END IF;\nEND";
        assert_eq!(read(script), [program, "5:SELECT 3"]);
        let wrong = "CREATE PROCEDURE p() BEGIN SELEC 1; SELECT 2; END; SELECT 3;";
        assert_eq!(read(wrong), ["1:CREATE PROCEDURE p() BEGIN SELEC 1; SELECT 2; END", "1:SELECT 3"]);
        assert_eq!(read("CREATE PROCEDURE p() BEGIN SELECT 1; \\c SELECT 2;"), ["1:SELECT 2"]);
        let mut reader = Reader::default();
        assert_eq!(reader.feed("CREATE PROCEDURE p() BEGIN SELECT 1;", LexMode::default()), []);
        assert!(!reader.is_empty() && reader.continuation() == "->");
        assert_eq!(reader.feed("END;", LexMode::default()).len(), 1);
        assert!(reader.is_empty());
    }

    #[test]
    fn the_prompt_tells_what_is_open() {
        let mut reader = Reader::default();
        for (line, prompt) in
            [("SELECT", "->"), ("'a", "'>"), ("' , \"", "\">"), ("\", `", "`>"), ("` /*", "/*>")]
        {
            reader.feed(line, LexMode::default());
            assert_eq!(reader.continuation(), prompt);
        }
        reader.clear();
        assert!(reader.is_empty());
    }
}
