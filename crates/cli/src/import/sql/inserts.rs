//! Turns consecutive INSERT statements of literals for one table into one load.
//!
//! One load fills a table, however many statements a dump has for it: its trees are built from the rows, and it has
//! all of them or none. A separate session computes values that are not literals (`NOW()`, `CAST('..' AS JSON)`). A
//! statement that does more than insert rows (IGNORE, ON DUPLICATE KEY UPDATE, a query) runs unchanged instead.

use super::script::{Script, is_open_comment};
use leafline::Connection;
use leafline_sql::{Outcome, RowSource};
use leafline_syntax::LexMode;
use leafline_types::{Decimal, MysqlError, Value, value_at};
use std::io::{self, Read};

/// Bytes in which the head of a statement is looked for: names of up to 4,096 columns.
const HEAD: usize = 1 << 20;

/// `INSERT INTO database.table (columns) VALUES`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    pub database: Option<String>,
    pub table: String,
    pub columns: Option<Vec<String>>,
    /// Its length in bytes.
    length: usize,
}

impl Head {
    /// Parses the head at the current place; None if the statement is not such an INSERT.
    pub fn find(script: &mut Script<impl Read>) -> io::Result<Option<Head>> {
        if !script.peek(7)?.eq_ignore_ascii_case(b"INSERT ") {
            return Ok(None);
        }
        // Nearly all heads are short.
        if let Some(head) = Head::parse(script.peek(4096)?) {
            return Ok(Some(head));
        }
        Ok(Head::parse(script.peek(HEAD)?))
    }

    fn parse(text: &[u8]) -> Option<Head> {
        let mut words = Words { text, at: 0 };
        if !words.word(b"INSERT") || !words.word(b"INTO") {
            return None;
        }
        let mut table = words.name()?;
        let mut database = None;
        if words.symbol(b'.') {
            database = Some(std::mem::replace(&mut table, words.name()?));
        }
        let mut columns = None;
        if words.symbol(b'(') {
            let mut names = vec![words.name()?];
            while words.symbol(b',') {
                names.push(words.name()?);
            }
            if !words.symbol(b')') {
                return None;
            }
            columns = Some(names);
        }
        if !words.word(b"VALUES") && !words.word(b"VALUE") {
            return None;
        }
        words.blanks();
        // `VALUES ROW(..)`, and statements without rows, are not handled here.
        (words.text.get(words.at) == Some(&b'(')).then_some(Head {
            database,
            table,
            columns,
            length: words.at,
        })
    }

    fn is_same(&self, other: &Head) -> bool {
        (&self.database, &self.table, &self.columns) == (&other.database, &other.table, &other.columns)
    }
}

/// Words at the beginning of a statement.
struct Words<'t> {
    text: &'t [u8],
    at: usize,
}

impl Words<'_> {
    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        self.blanks();
        let found = self.rest().first() == Some(&symbol);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &[u8]) -> bool {
        self.blanks();
        let rest = self.rest();
        let found = rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !rest.get(word.len()).is_some_and(|byte| is_part_of_name(*byte));
        if found {
            self.at += word.len();
        }
        found
    }

    /// Reads a name, in backquotes or not.
    fn name(&mut self) -> Option<String> {
        let mut name = Vec::new();
        if self.symbol(b'`') {
            loop {
                let (&byte, rest) = self.rest().split_first()?;
                let is_doubled = byte == b'`' && rest.first() == Some(&b'`');
                self.at += 1 + usize::from(is_doubled);
                if byte == b'`' && !is_doubled {
                    break;
                }
                name.push(byte);
            }
        } else {
            name = self.rest().iter().copied().take_while(|byte| is_part_of_name(*byte)).collect();
            self.at += name.len();
        }
        String::from_utf8(name).ok().filter(|name| !name.is_empty())
    }
}

fn is_part_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 128
}

/// The rows of consecutive statements with one head.
pub struct Inserts<'s, R> {
    script: &'s mut Script<R>,
    head: Head,
    /// Positions of values that are skipped.
    left_out: &'s [usize],
    mode: LexMode,
    /// Computes values that are not literals.
    calculator: &'s mut Connection,
    state: State,
    /// The line of the current row.
    pub line: u64,
    text: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first row of a statement.
    First,
    /// Behind a row.
    Behind,
    Over,
}

impl<'s, R: Read> Inserts<'s, R> {
    /// Begins with a script that stands before a statement with this head.
    pub fn new(
        script: &'s mut Script<R>,
        (head, left_out): (Head, &'s [usize]),
        mode: LexMode,
        calculator: &'s mut Connection,
    ) -> Self {
        let line = script.line;
        script.skip(head.length);
        Inserts { script, head, left_out, mode, calculator, state: State::First, line, text: Vec::new() }
    }

    fn row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError> {
        if self.state == State::Over || (self.state == State::Behind && !self.is_before_row()?) {
            return Ok(false);
        }
        self.blanks()?;
        self.line = self.script.line;
        self.expect(b'(')?;
        loop {
            self.blanks()?;
            let value = self.value()?;
            row.push(value);
            self.blanks()?;
            match self.script.next().map_err(lost)? {
                Some(b',') => self.script.skip(1),
                _ => {
                    self.expect(b')')?;
                    self.state = State::Behind;
                    return Ok(true);
                }
            }
        }
    }

    /// Behind a row: whether another one follows, in this statement or the next.
    fn is_before_row(&mut self) -> Result<bool, MysqlError> {
        self.blanks()?;
        match self.script.next().map_err(lost)? {
            Some(b',') => {
                self.script.skip(1);
                Ok(true)
            }
            Some(b';') => {
                self.script.skip_to_statement().map_err(lost)?;
                let next = Head::find(self.script).map_err(lost)?.filter(|head| head.is_same(&self.head));
                match next {
                    Some(head) => self.script.skip(head.length),
                    None => self.state = State::Over,
                }
                Ok(self.state != State::Over)
            }
            None => Err(cut_off()),
            Some(_) => Err(self.strange("behind a row")),
        }
    }

    fn blanks(&mut self) -> Result<(), MysqlError> {
        self.script.skip_blanks().map_err(lost)
    }

    fn expect(&mut self, symbol: u8) -> Result<(), MysqlError> {
        match self.script.next().map_err(lost)? {
            Some(byte) if byte == symbol => {
                self.script.skip(1);
                Ok(())
            }
            None => Err(cut_off()),
            Some(_) => Err(self.strange("in a row")),
        }
    }

    fn strange(&mut self, place: &str) -> MysqlError {
        let near = self
            .script
            .peek(40)
            .map_or_else(|_| String::new(), |near| String::from_utf8_lossy(near).into_owned());
        MysqlError::unknown_error(format!(
            "what stands {place} of an INSERT is not understood, near '{near}'"
        ))
    }

    fn value(&mut self) -> Result<Value, MysqlError> {
        let start = self.script.peek(2).map_err(lost)?;
        match (start.first().copied(), start.get(1).copied()) {
            (None, _) => Err(cut_off()),
            (Some(b'\''), _) => self.string(),
            (Some(b'"'), _) if !self.mode.ansi_quotes => self.string(),
            (Some(b'0'), Some(b'x')) => {
                self.script.skip(2);
                let digits = self.word()?;
                hexadecimal(&digits).ok_or_else(|| self.strange("as hexadecimal digits"))
            }
            (Some(b'x' | b'X' | b'b' | b'B'), Some(b'\'')) => {
                let is_bits = matches!(start.first(), Some(b'b' | b'B'));
                self.script.skip(1);
                self.script.text(self.mode, &mut self.text).map_err(lost)?;
                let value = if is_bits { bits(&self.text) } else { hexadecimal(&self.text) };
                value.ok_or_else(|| self.strange("as digits"))
            }
            (Some(b'0'..=b'9' | b'-' | b'+' | b'.'), _) => {
                let word = self.word()?;
                self.blanks()?;
                match (number(&word), self.script.next().map_err(lost)?) {
                    (Some(value), Some(b',' | b')')) => Ok(value),
                    _ => self.computed([&word[..], b" "].concat()),
                }
            }
            _ => self.named(),
        }
    }

    /// Reads a string, or several that stand for one.
    fn string(&mut self) -> Result<Value, MysqlError> {
        self.script.text(self.mode, &mut self.text).map_err(lost)?;
        if !matches!(self.script.next().map_err(lost)?, Some(b',' | b')')) {
            self.blanks()?;
            if !matches!(self.script.next().map_err(lost)?, Some(b',' | b')')) {
                let text = String::from_utf8_lossy(&self.text).replace('\\', "\\\\").replace('\'', "''");
                return self.computed(format!("'{text}' ").into_bytes());
            }
        }
        Ok(match std::str::from_utf8(&self.text) {
            Ok(text) => Value::string(text),
            Err(_) => Value::bytes(&self.text[..]),
        })
    }

    /// Reads NULL, TRUE, FALSE, a string with its character set, or another expression.
    fn named(&mut self) -> Result<Value, MysqlError> {
        let word = self.word()?;
        let upper = word.to_ascii_uppercase();
        let value = match &upper[..] {
            b"NULL" => Some(Value::Null),
            b"TRUE" => Some(Value::Int(1)),
            b"FALSE" => Some(Value::Int(0)),
            _ => None,
        };
        self.blanks()?;
        let next = self.script.next().map_err(lost)?;
        match (value, next) {
            (Some(value), Some(b',' | b')')) => Ok(value),
            (None, Some(b'\'')) if upper == b"_BINARY" => match self.string()? {
                Value::String(text) => Ok(Value::bytes(text.as_bytes())),
                other => Ok(other),
            },
            (None, Some(b'\'')) if upper == b"_UTF8MB4" || upper == b"_UTF8MB3" => self.string(),
            _ => self.computed([&word[..], b" "].concat()),
        }
    }

    /// Reads the characters of a number or a name.
    fn word(&mut self) -> Result<Vec<u8>, MysqlError> {
        let mut word = Vec::new();
        while let Some(byte) = self.script.next().map_err(lost)? {
            let is_sign = matches!(byte, b'-' | b'+') && matches!(word.last(), None | Some(b'e' | b'E'));
            if !is_sign && byte != b'.' && !is_part_of_name(byte) {
                break;
            }
            word.push(byte);
            self.script.skip(1);
        }
        Ok(word)
    }

    /// Computes an expression that begins with `text` and goes on to the end of the value.
    fn computed(&mut self, mut text: Vec<u8>) -> Result<Value, MysqlError> {
        let mut depth = 0;
        loop {
            match self.script.next().map_err(lost)? {
                None => return Err(cut_off()),
                Some(b',' | b')') if depth == 0 => break,
                Some(quote @ (b'\'' | b'"' | b'`')) => {
                    let mut inside = Vec::new();
                    self.script.text(self.mode, &mut inside).map_err(lost)?;
                    let quote = char::from(quote);
                    let inside = String::from_utf8_lossy(&inside).replace('\\', "\\\\");
                    let doubled = format!("{quote}{quote}");
                    text.extend(format!("{quote}{}{quote}", inside.replace(quote, &doubled)).bytes());
                }
                Some(byte) => {
                    depth += i32::from(byte == b'(') - i32::from(byte == b')');
                    text.push(byte);
                    self.script.skip(1);
                }
            }
        }
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        let session = self.calculator.session();
        let Outcome::Rows(mut rows) = session.execute(&format!("SELECT {text}"))? else {
            return Err(self.strange("as a value"));
        };
        let types = rows.types();
        let batch = rows.next_batch(session)?;
        match (batch.as_ref().and_then(|batch| batch.columns.first()), &types[..]) {
            (Some(column), [ty]) => Ok(value_at(column, 0, ty)),
            _ => Err(self.strange("as a value")),
        }
    }
}

impl<R: Read> RowSource for Inserts<'_, R> {
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError> {
        let there = self.row(row)?;
        for at in self.left_out.iter().rev() {
            if *at < row.len() {
                row.remove(*at);
            }
        }
        Ok(there)
    }
}

/// Makes the error that the script cannot be read, or ends too early.
fn lost(error: io::Error) -> MysqlError {
    match error.kind() {
        _ if is_open_comment(&error) => MysqlError::unknown_error(error),
        io::ErrorKind::UnexpectedEof => cut_off(),
        io::ErrorKind::FileTooLarge => MysqlError::unknown_error("a value has more than 1 GiB"),
        _ => MysqlError::unknown_error(error),
    }
}

fn cut_off() -> MysqlError {
    MysqlError::unknown_error("the file ends within a statement: it was cut off")
}

fn number(word: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(word).ok()?;
    if let Ok(number) = text.parse() {
        return Some(Value::Int(number));
    }
    if let Ok(number) = text.parse() {
        return Some(Value::UInt(number));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E')) {
        return None;
    }
    match text.contains(['e', 'E']) {
        true => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Double),
        false => Decimal::parse(text).map(Value::Decimal),
    }
}

fn hexadecimal(digits: &[u8]) -> Option<Value> {
    let bytes = match digits.len().is_multiple_of(2) {
        true => hex::decode(digits),
        // 0xABC is 0x0ABC.
        false => hex::decode([b"0", digits].concat()),
    };
    bytes.ok().map(Value::bytes)
}

fn bits(digits: &[u8]) -> Option<Value> {
    let number = digits.iter().try_fold(0u64, |number, digit| match digit {
        b'0' | b'1' => Some(number.checked_mul(2)? | u64::from(digit - b'0')),
        _ => None,
    })?;
    let bytes = digits.len().div_ceil(8);
    Some(Value::bytes(number.to_be_bytes().get(8usize.checked_sub(bytes)?..)?))
}
