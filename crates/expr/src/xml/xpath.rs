//! The tree of an XPath expression, and its parser: the part of XPath 1.0 that MySQL supports.
//!
//! As in MySQL, names of functions and axes are accepted in any case, a test of the kind of a node (`text()`,
//! `node()`) passes every node, a relative path without a context begins at the root, only steps have predicates, and
//! two node sets are not compared.

use super::lexer::{Token, token};
use crate::{ArithmeticOp, CompareOp};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

/// An XPath expression.
#[derive(Debug, Clone)]
pub(crate) struct XPath(pub(crate) Expression);

/// A part of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Value),
    /// `$@name`.
    Variable(String),
    Negate(Box<Expression>),
    Arithmetic(ArithmeticOp, Box<Expression>, Box<Expression>),
    Compare(CompareOp, Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Union(Box<Expression>, Box<Expression>),
    Path {
        start: Start,
        steps: Vec<Step>,
    },
    Call(Function, Vec<Expression>),
}

/// The node at which a path begins.
#[derive(Debug, Clone)]
pub(crate) enum Start {
    Root,
    Context,
    Nodes(Box<Expression>),
}

/// A step of a path.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) axis: Axis,
    /// The name of the nodes; None for `*`.
    pub(crate) name: Option<String>,
    pub(crate) predicates: Vec<Expression>,
}

/// The direction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    /// The node itself, whatever its name.
    Here,
    SelfOfName,
    /// One of the axes that MySQL knows only by name: it holds no node.
    Nowhere,
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Last,
    Not,
    Number,
    Position,
    Round,
    StringLength,
    Substring,
    Sum,
    True,
}

/// The functions: name, fewest and most arguments.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("boolean", Function::Boolean, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("contains", Function::Contains, 2, 2),
    ("count", Function::Count, 1, 1),
    ("false", Function::False, 0, 0),
    ("floor", Function::Floor, 1, 1),
    ("last", Function::Last, 0, 0),
    ("not", Function::Not, 1, 1),
    ("number", Function::Number, 1, 1),
    ("position", Function::Position, 0, 0),
    ("round", Function::Round, 1, 1),
    ("string-length", Function::StringLength, 0, 1),
    ("substring", Function::Substring, 2, 3),
    ("sum", Function::Sum, 1, 1),
    ("true", Function::True, 0, 0),
];

const AXES: &[(&str, Axis)] = &[
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("following", Axis::Nowhere),
    ("following-sibling", Axis::Nowhere),
    ("namespace", Axis::Nowhere),
    ("parent", Axis::Parent),
    ("preceding", Axis::Nowhere),
    ("preceding-sibling", Axis::Nowhere),
    ("self", Axis::SelfOfName),
];

const NODE_KINDS: &[&str] = &["comment", "node", "processing-instruction", "text"];

/// The deepest nesting of expressions.
const MAX_DEPTH: usize = 100;

/// The number of characters of the expression that a message shows.
const SHOWN: usize = 32;

impl XPath {
    /// Parses an expression.
    ///
    /// # Errors
    /// 1105 if it is invalid.
    pub(crate) fn parse(text: &str) -> Result<XPath, MysqlError> {
        let mut parser = Parser { text, at: 0, depth: 0, in_predicate: false };
        let expression = parser.expression()?;
        match parser.peek() {
            Token::End => Ok(XPath(expression)),
            _ => Err(parser.syntax_error()),
        }
    }
}

impl Expression {
    /// Whether its value is a node set.
    pub(crate) fn is_nodes(&self) -> bool {
        matches!(self, Expression::Path { .. } | Expression::Union(..))
    }

    /// Whether it is the context, `.`.
    pub(crate) fn is_context(&self) -> bool {
        match self {
            Expression::Path { start: Start::Context, steps } => {
                steps.iter().all(|step| step.axis == Axis::Here && step.predicates.is_empty())
            }
            _ => false,
        }
    }

    /// Whether its value is a truth value.
    pub(crate) fn is_condition(&self) -> bool {
        use Function::{Boolean, Contains, False, Not, True};
        match self {
            Expression::Compare(..) | Expression::And(..) | Expression::Or(..) => true,
            Expression::Call(function, _) => matches!(function, Boolean | Contains | False | Not | True),
            _ => false,
        }
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

struct Parser<'p> {
    text: &'p str,
    at: usize,
    depth: usize,
    in_predicate: bool,
}

type Parsed = Result<Expression, MysqlError>;

impl<'p> Parser<'p> {
    fn peek(&self) -> Token<'p> {
        token(&self.text[self.at..]).0
    }

    /// Returns the token behind the next one.
    fn peek_second(&self) -> Token<'p> {
        let (_, before, length) = token(&self.text[self.at..]);
        token(&self.text[self.at + before + length..]).0
    }

    fn advance(&mut self) -> Token<'p> {
        let (token, before, length) = token(&self.text[self.at..]);
        self.at += before + length;
        token
    }

    fn take(&mut self, wanted: &Token<'_>) -> bool {
        let found = self.peek() == *wanted;
        if found {
            self.advance();
        }
        found
    }

    fn take_sign(&mut self, sign: char) -> bool {
        self.take(&Token::Sign(sign))
    }

    fn expect(&mut self, sign: char) -> Result<(), MysqlError> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn rest(&self) -> &'p str {
        self.text[self.at..].trim_start()
    }

    fn syntax_error(&self) -> MysqlError {
        MysqlError::unknown_error(format!("XPATH syntax error: '{}'", excerpt(self.rest())))
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, MysqlError>) -> Result<T, MysqlError> {
        if self.depth == MAX_DEPTH {
            return Err(self.syntax_error());
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expression(&mut self) -> Parsed {
        self.nested(|parser| {
            parser.binary(
                |parser| {
                    parser.binary(Self::equality, |parser| {
                        parser.take(&Token::Name("and")).then_some(Expression::And as Make)
                    })
                },
                |parser| parser.take(&Token::Name("or")).then_some(Expression::Or as Make),
            )
        })
    }

    fn binary(
        &mut self,
        operand: impl Fn(&mut Self) -> Parsed,
        operator: impl Fn(&mut Self) -> Option<Make>,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(make) = operator(self) {
            let right = operand(self)?;
            left = make(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn equality(&mut self) -> Parsed {
        self.comparison(Self::relation, |token| match token {
            Token::Sign('=') => Some(CompareOp::Eq),
            Token::Comparison([b'!', _]) => Some(CompareOp::Ne),
            _ => None,
        })
    }

    fn relation(&mut self) -> Parsed {
        self.comparison(Self::sum, |token| match token {
            Token::Sign('<') => Some(CompareOp::Lt),
            Token::Sign('>') => Some(CompareOp::Gt),
            Token::Comparison([b'<', _]) => Some(CompareOp::Le),
            Token::Comparison([b'>', _]) => Some(CompareOp::Ge),
            _ => None,
        })
    }

    fn comparison(
        &mut self,
        operand: impl Fn(&mut Self) -> Parsed,
        operator: impl Fn(&Token<'_>) -> Option<CompareOp>,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(op) = operator(&self.peek()) {
            let place = excerpt(self.rest());
            self.advance();
            let right = operand(self)?;
            if left.is_nodes() && right.is_nodes() {
                let text = format!("XPATH error: comparison of two nodesets is not supported: '{place}'");
                return Err(MysqlError::unknown_error(text));
            }
            left = Expression::Compare(op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed {
        self.arithmetic(Self::product, |token| match token {
            Token::Sign('+') => Some(ArithmeticOp::Add),
            Token::Sign('-') => Some(ArithmeticOp::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Parsed {
        self.arithmetic(Self::unary, |token| match token {
            Token::Sign('*') => Some(ArithmeticOp::Multiply),
            Token::Name("div") => Some(ArithmeticOp::IntegerDivide),
            Token::Name("mod") => Some(ArithmeticOp::Modulo),
            _ => None,
        })
    }

    fn arithmetic(
        &mut self,
        operand: impl Fn(&mut Self) -> Parsed,
        operator: impl Fn(&Token<'_>) -> Option<ArithmeticOp>,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(op) = operator(&self.peek()) {
            self.advance();
            left = Expression::Arithmetic(op, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        if self.take_sign('-') {
            let operand = self.nested(Self::unary)?;
            return Ok(Expression::Negate(Box::new(operand)));
        }
        let mut left = self.path()?;
        while self.peek() == Token::Sign('|') {
            self.advance();
            let right = self.path()?;
            if !left.is_nodes() || !right.is_nodes() {
                return Err(self.syntax_error());
            }
            left = Expression::Union(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn path(&mut self) -> Parsed {
        if self.peek() == Token::Sign('/') {
            self.advance();
            let mut steps = Vec::new();
            if self.take_sign('/') {
                steps.push(ANY_BELOW);
            } else if !self.begins_step() {
                return Ok(Expression::Path { start: Start::Root, steps });
            }
            return self.steps(Start::Root, steps);
        }
        let is_primary = match self.peek() {
            Token::Name(name) => function(name).is_some() && self.peek_second() == Token::Sign('('),
            Token::Literal(_) | Token::Digits(_) | Token::Sign('$' | '(') => true,
            _ => false,
        };
        if !is_primary {
            return self.steps(Start::Context, Vec::new());
        }
        let primary = self.primary()?;
        if self.peek() != Token::Sign('/') {
            return Ok(primary);
        }
        if !primary.is_nodes() {
            return Err(self.syntax_error());
        }
        self.advance();
        let steps = if self.take_sign('/') { vec![ANY_BELOW] } else { Vec::new() };
        self.steps(Start::Nodes(Box::new(primary)), steps)
    }

    fn begins_step(&self) -> bool {
        matches!(self.peek(), Token::Name(_) | Token::Parent | Token::Sign('.' | '@' | '*'))
    }

    /// Parses steps with slashes between them, which follow `steps`.
    fn steps(&mut self, start: Start, mut steps: Vec<Step>) -> Parsed {
        loop {
            let step = self.step()?;
            steps.push(step);
            if !self.take_sign('/') {
                return Ok(Expression::Path { start, steps });
            }
            if self.take_sign('/') {
                steps.push(ANY_BELOW);
            }
        }
    }

    fn step(&mut self) -> Result<Step, MysqlError> {
        let bare = |axis| Step { axis, name: None, predicates: Vec::new() };
        if self.take_sign('.') {
            return Ok(bare(Axis::Here));
        }
        if self.take(&Token::Parent) {
            return Ok(bare(Axis::Parent));
        }
        let mut axis = Axis::Child;
        if self.take_sign('@') {
            axis = Axis::Attribute;
        } else if let (Token::Name(name), Token::Axis) = (self.peek(), self.peek_second()) {
            let known = AXES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            axis = known.ok_or_else(|| self.syntax_error())?.1;
            self.advance();
            self.advance();
        }
        let mut step = bare(axis);
        match self.peek() {
            Token::Sign('*') => {
                self.advance();
            }
            Token::Name(name) => {
                self.advance();
                let is_kind = NODE_KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(name));
                if is_kind && self.take_sign('(') {
                    if let Token::Literal(_) = self.peek() {
                        self.advance();
                    }
                    self.expect(')')?;
                    step.axis = Axis::Here;
                } else {
                    step.name = Some(name.to_owned());
                }
            }
            _ => return Err(self.syntax_error()),
        }
        while self.take_sign('[') {
            let outside = std::mem::replace(&mut self.in_predicate, true);
            step.predicates.push(self.expression()?);
            self.in_predicate = outside;
            self.expect(']')?;
        }
        Ok(step)
    }

    fn primary(&mut self) -> Parsed {
        let failed = self.syntax_error();
        match self.advance() {
            Token::Literal(text) => Ok(Expression::Literal(Value::string(text))),
            Token::Digits(digits) => self.number(digits),
            Token::Sign('(') => {
                let inner = self.expression()?;
                self.expect(')')?;
                Ok(inner)
            }
            Token::Sign('$') => self.variable(),
            Token::Name(name) => match function(name) {
                Some(function) => self.call(function),
                None => Err(failed),
            },
            _ => Err(failed),
        }
    }

    /// Parses a number whose first digits have been read.
    fn number(&mut self, digits: &str) -> Parsed {
        let rest = &self.text[self.at..];
        let fraction = rest.strip_prefix('.').filter(|rest| !rest.starts_with('.'));
        let Some(fraction) = fraction else {
            let number = digits.parse().map(Value::Int);
            return Ok(Expression::Literal(number.unwrap_or(Value::Int(i64::MAX))));
        };
        let length = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
        self.at += 1 + length;
        let number = format!("{digits}.{}", &fraction[..length]);
        match Decimal::parse(&number) {
            Some(number) => Ok(Expression::Literal(Value::Decimal(number))),
            None => Err(self.syntax_error()),
        }
    }

    /// Parses a user variable. `$name` would be a variable of a stored program.
    fn variable(&mut self) -> Parsed {
        let place = format!("${}", &self.text[self.at..]);
        let is_user = self.take_sign('@');
        match self.advance() {
            Token::Name(name) if is_user => Ok(Expression::Variable(name.to_owned())),
            Token::Name(_) => {
                let text = format!("Unknown XPATH variable at: '{}'", excerpt(&place));
                Err(MysqlError::unknown_error(text))
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// Parses the arguments of a function.
    fn call(&mut self, function: Function) -> Parsed {
        self.expect('(')?;
        let (least, most) = FUNCTIONS
            .iter()
            .find(|(_, known, ..)| *known == function)
            .map_or((0, 0), |(_, _, least, most)| (*least, *most));
        let mut args = Vec::new();
        while args.len() < most && self.peek() != Token::Sign(')') {
            if !args.is_empty() && !self.take_sign(',') {
                break;
            }
            args.push(self.expression()?);
        }
        if args.len() < least {
            return Err(self.syntax_error());
        }
        self.expect(')')?;
        let of_nodes = matches!(function, Function::Count | Function::Sum);
        let of_context = matches!(function, Function::Last | Function::Position)
            || function == Function::StringLength && args.is_empty();
        if of_nodes && !args[0].is_nodes() || of_context && !self.in_predicate {
            return Err(self.syntax_error());
        }
        Ok(Expression::Call(function, args))
    }
}

type Make = fn(Box<Expression>, Box<Expression>) -> Expression;

/// `//`: the node and everything below it.
const ANY_BELOW: Step = Step { axis: Axis::DescendantOrSelf, name: None, predicates: Vec::new() };

fn function(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)).map(|(_, function, ..)| *function)
}
