//! The parser's place in the token list, and the small steps that every rule consists of.

use leafline_types::CancelToken;
use leafline_types::error::MysqlError;
use leafline_types::memory::server;

use super::ParseLimits;
use super::ast::{Expr, Ident, Into, Span, StatementHints, TableName, TextString};
use super::error::{syntax_error, unsupported};
use super::lex_mode::LexMode;
use super::lexer::{Lexer, Symbol, Token, TokenKind};
use super::literal::{bit_bytes, hex_bytes, unquote, variable_name};
use super::reserved::is_reserved;
use super::scope::Scope;

/// The result of a rule of the grammar.
pub type Parsed<T> = Result<T, MysqlError>;

/// How deep parentheses, calls, queries and joins may nest together, unless [`ParseLimits::nesting`] says otherwise.
/// The limit bounds the stack that parsing needs: it fits the 2 MiB that every thread has, as the test
/// `the_deepest_statement_fits_a_small_stack` checks. A caller with more stack may raise it.
pub const MAX_NESTING: usize = 100;

/// How tall the tree of an expression may be, or a chain of joins or of set operations: `1 + 1 + 1` is as tall as it
/// has operators. The limit bounds the stack that binding, evaluating and dropping the tree need.
pub const MAX_HEIGHT: usize = 200;

/// The most tokens that are allocated for at first.
const FIRST_TOKENS: usize = 1 << 18;

/// The number of tokens between two checks for cancellation and for the memory limit.
const TOKENS_AT_ONCE: usize = 1024;

/// Reads all tokens. Fails if they, and the largest tree they can make, exceed the limits.
fn tokens_within(sql: &str, mode: LexMode, limits: ParseLimits<'_>) -> Parsed<Vec<Token>> {
    let mut lexer = Lexer::new(sql, mode);
    // A few long literals make up most of a very long text.
    let mut tokens = Vec::with_capacity((sql.len() / 5 + 2).min(FIRST_TOKENS));
    let mut bytes = 0;
    loop {
        if tokens.len() == tokens.capacity() {
            server::ask(2 * tokens.len() * size_of::<Token>())?;
            tokens.try_reserve(tokens.len()).map_err(|_| MysqlError::out_of_resources())?;
        }
        let token = lexer.next_token();
        tokens.push(token);
        bytes += tree_bytes(token);
        let at_end = token.kind == TokenKind::End;
        if !at_end && !tokens.len().is_multiple_of(TOKENS_AT_ONCE) {
            continue;
        }
        if bytes > limits.memory {
            let what = "parser_max_mem_size";
            let consequence = "Parser bailed out for this query.";
            return Err(MysqlError::capacity_exceeded(limits.memory, what, consequence));
        }
        limits.cancel.map_or(Ok(()), CancelToken::check)?;
        if at_end {
            return Ok(tokens);
        }
    }
}

/// The memory of a token and, at most, of the tree it becomes part of, in bytes. Every node takes at least one token
/// of its own; separators become no node.
fn tree_bytes(token: Token) -> u64 {
    let node = match token.kind {
        TokenKind::Symbol(Symbol::Comma | Symbol::RightParen | Symbol::Dot) => 0,
        _ => size_of::<Expr>() + (token.span.end - token.span.start) as usize,
    };
    (size_of::<Token>() + node) as u64
}

/// The maximum length of a name, in characters.
const MAX_NAME_CHARACTERS: usize = 64;

/// Checks a name. Returns error 1059 if it is too long, and the error that `wrong` makes if it is empty or ends with
/// a space.
pub(super) fn check_name<'n>(name: &'n str, wrong: impl FnOnce(&'n str) -> MysqlError) -> Parsed<()> {
    if name.len() > MAX_NAME_CHARACTERS && name.chars().count() > MAX_NAME_CHARACTERS {
        return Err(MysqlError::identifier_too_long(name));
    }
    match name.is_empty() || name.ends_with(' ') {
        true => Err(wrong(name)),
        false => Ok(()),
    }
}

/// The positions of the `||` operators of a concatenation, and the concatenation's beginning and end.
#[derive(Debug, Clone)]
pub(super) struct Concatenation {
    pub start: u32,
    pub operators: Vec<u32>,
    pub end: u32,
}

/// A recursive-descent parser over one statement's tokens.
pub(super) struct Parser<'a> {
    pub(super) sql: &'a str,
    pub(super) mode: LexMode,
    tokens: Vec<Token>,
    limits: ParseLimits<'a>,
    position: usize,
    /// The number of `?` seen so far.
    pub(super) parameters: usize,
    /// Whether an expression assigns to a variable.
    pub(super) assigns_variables: bool,
    /// The INTO clause of the statement.
    pub(super) into: Option<Into>,
    /// Hints for the whole statement.
    pub(super) statement_hints: StatementHints,
    /// The number of query blocks begun.
    pub(super) blocks: usize,
    /// The names declared around the statement, inside a program's body.
    pub(super) scope: Option<Box<Scope>>,
    /// The value of `depth` where the current statement began.
    pub(super) statement_depth: usize,
    /// The number of rules entered and not yet left.
    pub(super) depth: usize,
    /// The table being defined, whose name may qualify those of its columns: its database, if written, and its name.
    pub(super) defined: Option<(Option<String>, String)>,
    /// The `||` operators that concatenate strings.
    pub(super) concatenations: Vec<Concatenation>,
    /// The positions of the NOTs that bind like `!`.
    pub(super) high_negations: Vec<u32>,
    /// The height of the tallest expression tree in the current rule.
    pub(super) height: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(sql: &'a str, mode: LexMode, limits: ParseLimits<'a>) -> Parsed<Self> {
        Ok(Parser::at(sql, mode, limits, (tokens_within(sql, mode, limits)?, 0)))
    }

    /// Makes a parser over the tokens of `sql`, at one of them.
    pub(super) fn at(
        sql: &'a str,
        mode: LexMode,
        limits: ParseLimits<'a>,
        (tokens, position): (Vec<Token>, usize),
    ) -> Self {
        Parser {
            sql,
            mode,
            tokens,
            limits,
            position,
            parameters: 0,
            assigns_variables: false,
            into: None,
            statement_hints: StatementHints::default(),
            blocks: 0,
            scope: None,
            statement_depth: 0,
            depth: 0,
            defined: None,
            concatenations: Vec::new(),
            high_negations: Vec::new(),
            height: 0,
        }
    }

    /// Gives the tokens back.
    pub(super) fn into_tokens(self) -> Vec<Token> {
        self.tokens
    }

    // --- looking ---

    /// The token `ahead` places after the current one; the end token repeats.
    pub(super) fn token(&self, ahead: usize) -> Token {
        let last = self.tokens.len().saturating_sub(1);
        let end = Token {
            kind: TokenKind::End,
            span: Span { start: self.sql.len() as u32, end: self.sql.len() as u32 },
        };
        self.tokens.get((self.position + ahead).min(last)).copied().unwrap_or(end)
    }

    pub(super) fn text(&self, token: Token) -> &'a str {
        token.span.text(self.sql)
    }

    pub(super) fn span(&self) -> Span {
        self.token(0).span
    }

    /// The span from `start` to the last token taken.
    pub(super) fn span_from(&self, start: Span) -> Span {
        match self.position.checked_sub(1).and_then(|p| self.tokens.get(p)) {
            Some(last) if last.span.end > start.start => Span { start: start.start, end: last.span.end },
            _ => Span { start: start.start, end: start.start },
        }
    }

    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.token(ahead);
        token.kind == TokenKind::Word && self.text(token).eq_ignore_ascii_case(word)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(super) fn at_any_word(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.at_word(w))
    }

    /// Returns whether these words come next, in this order.
    pub(super) fn at_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(i, w)| self.is_word_at(i, w))
    }

    pub(super) fn is_symbol_at(&self, ahead: usize, symbol: Symbol) -> bool {
        self.token(ahead).kind == TokenKind::Symbol(symbol)
    }

    pub(super) fn at_symbol(&self, symbol: Symbol) -> bool {
        self.is_symbol_at(0, symbol)
    }

    pub(super) fn is_end_at(&self, ahead: usize) -> bool {
        self.token(ahead).kind == TokenKind::End
    }

    pub(super) fn at_end(&self) -> bool {
        self.token(0).kind == TokenKind::End
    }

    // --- taking ---

    pub(super) fn advance(&mut self) -> Token {
        let token = self.token(0);
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the words if they come next in this order; otherwise takes nothing.
    pub(super) fn accept_words(&mut self, words: &[&str]) -> bool {
        let found = self.at_words(words);
        if found {
            words.iter().for_each(|_| {
                self.advance();
            });
        }
        found
    }

    pub(super) fn accept_any_word(&mut self, words: &[&str]) -> bool {
        words.iter().any(|w| self.accept_word(w))
    }

    pub(super) fn accept_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.syntax_error()) }
    }

    pub(super) fn expect_any_word(&mut self, words: &[&str]) -> Parsed<()> {
        if self.accept_any_word(words) { Ok(()) } else { Err(self.syntax_error()) }
    }

    pub(super) fn expect_words(&mut self, words: &[&str]) -> Parsed<()> {
        words.iter().try_for_each(|w| self.expect_word(w))
    }

    pub(super) fn expect_symbol(&mut self, symbol: Symbol) -> Parsed<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.syntax_error()) }
    }

    // --- errors ---

    /// Error 1064 at the next token.
    pub(super) fn syntax_error(&self) -> MysqlError {
        syntax_error(self.sql, self.span().start as usize)
    }

    /// Error 1064 at a token already taken.
    pub(super) fn syntax_error_at(&self, span: Span) -> MysqlError {
        syntax_error(self.sql, span.start as usize)
    }

    /// Returns error 1235 in place of a result of any type.
    pub(super) fn refuse<T>(&self, what: &str) -> Parsed<T> {
        Err(unsupported(what))
    }

    // --- nesting ---

    /// Runs a rule one level deeper.
    pub(super) fn nested<T>(&mut self, rule: fn(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.enter()?;
        let result = rule(self);
        self.leave();
        result
    }

    pub(super) fn enter(&mut self) -> Parsed<()> {
        if self.depth >= self.limits.nesting {
            return Err(MysqlError::nested_too_deeply(self.limits.nesting));
        }
        self.depth += 1;
        self.check_cancelled()
    }

    /// Returns the cancellation's error if the statement is to stop.
    pub(super) fn check_cancelled(&self) -> Parsed<()> {
        self.limits.cancel.map_or(Ok(()), CancelToken::check)
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Adds a level to the height of the current expression's tree.
    pub(super) fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > MAX_HEIGHT { Err(MysqlError::nested_too_deeply(MAX_HEIGHT)) } else { Ok(()) }
    }

    // --- names and simple values ---

    /// Returns whether the token `ahead` can be a name.
    pub(super) fn is_ident_at(&self, ahead: usize) -> bool {
        let token = self.token(ahead);
        match token.kind {
            TokenKind::QuotedIdent => true,
            TokenKind::Word => !is_reserved(self.text(token)) && !self.is_function_keyword_at(ahead),
            _ => false,
        }
    }

    fn ident_of(&self, token: Token) -> Ident {
        let text = self.text(token);
        let value =
            if token.kind == TokenKind::QuotedIdent { unquote(text, self.mode) } else { text.to_owned() };
        Ident { value, span: token.span }
    }

    pub(super) fn ident(&mut self) -> Parsed<Ident> {
        if !self.is_ident_at(0) {
            return Err(self.syntax_error());
        }
        let token = self.advance();
        Ok(self.ident_of(token))
    }

    /// A name after a dot, where reserved words are names too.
    pub(super) fn ident_after_dot(&mut self) -> Parsed<Ident> {
        let token = self.token(0);
        if token.kind == TokenKind::Word || self.is_ident_at(0) {
            self.advance();
            return Ok(self.ident_of(token));
        }
        Err(self.syntax_error())
    }

    /// Takes any word as a name, reserved or not (`SET x = ON`, `ENGINE = MEMORY`).
    pub(super) fn any_word(&mut self) -> Parsed<Ident> {
        self.ident_after_dot()
    }

    /// Takes a name or a string: aliases and the names of engines and character sets.
    pub(super) fn ident_or_string(&mut self) -> Parsed<Ident> {
        if self.token(0).kind == TokenKind::String {
            let span = self.span();
            return Ok(Ident { value: self.string()?, span });
        }
        self.ident()
    }

    /// Parses the name of a table. Returns error 1059, 1102 or 1103 if a table or its database cannot have the name.
    pub(super) fn table_name(&mut self) -> Parsed<TableName> {
        let first = self.ident()?;
        let name = match self.accept_symbol(Symbol::Dot) {
            true => TableName { name: self.ident_after_dot()?, database: Some(first) },
            false => TableName { database: None, name: first },
        };
        if let Some(database) = &name.database {
            check_name(&database.value, MysqlError::wrong_database_name)?;
        }
        check_name(&name.name.value, MysqlError::wrong_table_name)?;
        Ok(name)
    }

    /// Parses the name of a database. Returns error 1059 or 1102 if a database cannot have the name.
    pub(super) fn database_name(&mut self) -> Parsed<Ident> {
        let name = self.ident()?;
        check_name(&name.value, MysqlError::wrong_database_name)?;
        Ok(name)
    }

    /// Parses the name of a database; `None` for an empty name.
    pub(super) fn database_or_nothing(&mut self) -> Parsed<Option<Ident>> {
        let name = self.ident()?;
        if name.value.is_empty() {
            return Ok(None);
        }
        check_name(&name.value, MysqlError::wrong_database_name)?;
        Ok(Some(name))
    }

    pub(super) fn table_names(&mut self) -> Parsed<Vec<TableName>> {
        self.comma_list(Self::table_name)
    }

    pub(super) fn comma_list<T>(&mut self, mut rule: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut list = vec![rule(self)?];
        while self.accept_symbol(Symbol::Comma) {
            let item = rule(self)?;
            server::push(&mut list, item)?;
        }
        Ok(list)
    }

    /// Parses `(item, ..)` with at least one item.
    pub(super) fn parenthesised_list<T>(
        &mut self,
        rule: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect_symbol(Symbol::LeftParen)?;
        let list = self.comma_list(rule)?;
        self.expect_symbol(Symbol::RightParen)?;
        Ok(list)
    }

    /// One string literal token.
    pub(super) fn string(&mut self) -> Parsed<String> {
        let token = self.token(0);
        if token.kind != TokenKind::String {
            return Err(self.syntax_error());
        }
        self.advance();
        Ok(unquote(self.text(token), self.mode))
    }

    /// A string, hexadecimal or bit literal.
    pub(super) fn text_string(&mut self) -> Parsed<TextString> {
        let token = self.token(0);
        let bytes = match token.kind {
            TokenKind::Hex => hex_bytes(self.text(token)),
            TokenKind::Bit => bit_bytes(self.text(token)),
            _ => return self.string().map(TextString::Text),
        };
        self.advance();
        Ok(TextString::Bytes(bytes))
    }

    /// An unsigned integer literal of at most 64 bits.
    pub(super) fn integer(&mut self) -> Parsed<u64> {
        let token = self.token(0);
        match self.text(token).parse() {
            Ok(value) if token.kind == TokenKind::Integer => {
                self.advance();
                Ok(value)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// `@name`.
    pub(super) fn user_variable(&mut self) -> Parsed<String> {
        let token = self.token(0);
        if token.kind != TokenKind::UserVariable {
            return Err(self.syntax_error());
        }
        self.advance();
        Ok(variable_name(self.text(token), self.mode))
    }

    pub(super) fn if_exists(&mut self) -> Parsed<bool> {
        let found = self.accept_word("IF");
        if found {
            self.expect_word("EXISTS")?;
        }
        Ok(found)
    }

    pub(super) fn if_not_exists(&mut self) -> Parsed<bool> {
        let found = self.accept_word("IF");
        if found {
            self.expect_words(&["NOT", "EXISTS"])?;
        }
        Ok(found)
    }
}
