//! Tests of the grammar: which statements are accepted and how they nest, where errors point, and that nothing
//! panics.

mod expressions;
mod outcomes;
mod positions;
mod programs;
mod queries;
mod refused;
mod soup;
mod statements;

use super::ast::{Expr, ExprKind, Literal, SelectItem, Statement, StatementKind, WindowFunction};
use super::{LexMode, ParseLimits, parse, parse_within};
use leafline_types::CancelToken;
use leafline_types::statement::CancelReason;

/// Parses the statement, or panics with its text and the error.
fn parsed(sql: &str) -> Statement {
    parse(sql, LexMode::default()).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The number of the statement's error, 0 for none.
fn outcome(sql: &str) -> u16 {
    parse(sql, LexMode::default()).map_or_else(|e| e.code, |_| 0)
}

/// The first expression of `SELECT ..`.
fn expression(text: &str) -> Expr {
    let StatementKind::Query(query) = parsed(&format!("SELECT {text}")).kind else {
        panic!("{text}: no query")
    };
    let super::ast::QueryBody::Select(select) = query.body else { panic!("{text}: no SELECT") };
    match select.items.into_iter().next() {
        Some(SelectItem::Expr { expr, .. }) => expr,
        other => panic!("{text}: {other:?}"),
    }
}

/// Parsing stops at the memory limit and when the statement is cancelled.
#[test]
fn parsing_ends_at_its_limits() {
    let sql = format!("SELECT 1 IN ({}1)", "1, ".repeat(100_000));
    let code = |limits: ParseLimits<'_>| {
        parse_within(&sql, LexMode::default(), limits).map(drop).map_err(|error| error.code)
    };
    assert_eq!(code(ParseLimits { memory: 1 << 30, ..ParseLimits::default() }), Ok(()));
    assert_eq!(code(ParseLimits { memory: 10_000_000, ..ParseLimits::default() }), Err(3170));
    let cancel = CancelToken::new();
    assert_eq!(code(ParseLimits { cancel: Some(&cancel), ..ParseLimits::default() }), Ok(()));
    cancel.cancel(CancelReason::QueryKilled);
    assert_eq!(code(ParseLimits { cancel: Some(&cancel), ..ParseLimits::default() }), Err(1317));
}

fn shown(literal: &Literal) -> String {
    match literal {
        Literal::Null => "null".to_owned(),
        Literal::Boolean(value) => value.to_string(),
        Literal::Integer(value) => value.to_string(),
        Literal::Decimal(text) | Literal::Float(text) => text.clone(),
        Literal::String { value, .. } => format!("'{value}'"),
        Literal::Bytes { value, .. } => format!("{value:?}"),
        Literal::Encoded { value, charset } => format!("_{charset} {value:?}"),
        Literal::Temporal { kind, text } => format!("{kind:?}'{text}'"),
    }
}

fn nested(e: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(nested).collect::<Vec<_>>().join(" ");
    let not = |negated: bool| if negated { "not-" } else { "" };
    match &e.kind {
        ExprKind::Literal(literal) => shown(literal),
        ExprKind::Column(name) => {
            let parts = [name.database.as_ref(), name.table.as_ref(), Some(&name.column)];
            parts.iter().flatten().map(|i| i.value.as_str()).collect::<Vec<_>>().join(".")
        }
        ExprKind::Parameter(number) => format!("?{number}"),
        ExprKind::UserVariable(name) => format!("@{name}"),
        ExprKind::AssignVariable { name, value } => format!("[:= @{name} {}]", nested(value)),
        ExprKind::SystemVariable { scope, name } => {
            format!("@@{}{name}", scope.map_or(String::new(), |s| format!("{s:?}.")))
        }
        ExprKind::Unary { op, operand } => format!("[{op:?} {}]", nested(operand)),
        ExprKind::Binary { op, left, right } => format!("[{op:?} {} {}]", nested(left), nested(right)),
        ExprKind::Compare { op, left, right } => format!("[{op:?} {} {}]", nested(left), nested(right)),
        ExprKind::CompareQuantified { op, all, left, .. } => {
            format!("[{op:?}-{} {} query]", if *all { "all" } else { "any" }, nested(left))
        }
        ExprKind::And(items) => format!("[and {}]", list(items)),
        ExprKind::Or(items) => format!("[or {}]", list(items)),
        ExprKind::Xor(left, right) => format!("[xor {} {}]", nested(left), nested(right)),
        ExprKind::Not(operand) => format!("[not {}]", nested(operand)),
        ExprKind::Is { operand, test, negated } => {
            format!("[is-{}{test:?} {}]", not(*negated), nested(operand))
        }
        ExprKind::Between { operand, low, high, negated } => {
            format!("[{}between {} {} {}]", not(*negated), nested(operand), nested(low), nested(high))
        }
        ExprKind::InList { operand, list: items, negated } => {
            format!("[{}in {} {}]", not(*negated), nested(operand), list(items))
        }
        ExprKind::InQuery { operand, negated, .. } => {
            format!("[{}in {} query]", not(*negated), nested(operand))
        }
        ExprKind::Like { operand, pattern, escape, negated } => {
            let escape = escape.as_ref().map_or(String::new(), |e| format!(" {}", nested(e)));
            format!("[{}like {} {}{escape}]", not(*negated), nested(operand), nested(pattern))
        }
        ExprKind::Regexp { operand, pattern, negated } => {
            format!("[{}regexp {} {}]", not(*negated), nested(operand), nested(pattern))
        }
        ExprKind::Case { operand, branches, otherwise } => {
            let mut text = "[case".to_owned();
            operand.iter().for_each(|e| text += &format!(" {}", nested(e)));
            branches.iter().for_each(|(a, b)| text += &format!(" {}=>{}", nested(a), nested(b)));
            otherwise.iter().for_each(|e| text += &format!(" else {}", nested(e)));
            text + "]"
        }
        ExprKind::Cast { operand, target } => format!("[cast {} {:?}]", nested(operand), target.kind),
        ExprKind::ConvertUsing { operand, charset } => {
            format!("[convert {} {}]", nested(operand), charset.value)
        }
        ExprKind::Collate { operand, collation } => {
            format!("[collate {} {}]", nested(operand), collation.value)
        }
        ExprKind::DateArithmetic { operand, amount, unit, subtract } => {
            format!(
                "[{} {} {} {unit:?}]",
                if *subtract { "date-" } else { "date+" },
                nested(operand),
                nested(amount)
            )
        }
        ExprKind::Extract { unit, operand } => format!("[extract {unit:?} {}]", nested(operand)),
        ExprKind::GroupConcat { distinct, args, order_by, separator } => {
            let order: Vec<String> = order_by.iter().map(|key| nested(&key.expr)).collect();
            let distinct = if *distinct { "distinct-" } else { "" };
            format!("[{distinct}concat {} by {} '{separator}']", list(args), order.join(" "))
        }
        ExprKind::Grouping(keys) => format!("[grouping {}]", list(keys)),
        ExprKind::Window(call) => windowed(&call.function),
        ExprKind::JsonValue(value) => format!("[json-value {} '{}']", nested(&value.document), value.path),
        ExprKind::Match(search) => format!("[match {:?} {}]", search.mode, nested(&search.query)),
        ExprKind::CharUsing { codes, charset } => format!("[char {} {}]", list(codes), charset.value),
        ExprKind::Trim { side, remove, operand } => {
            let remove = remove.as_ref().map_or(String::new(), |e| format!(" {}", nested(e)));
            format!("[trim {side:?}{remove} {}]", nested(operand))
        }
        ExprKind::Function { name, args } => format!("{}({})", name.value, list(args)),
        ExprKind::Aggregate { function, distinct, args } => {
            format!("{function:?}({}{})", if *distinct { "distinct " } else { "" }, list(args))
        }
        ExprKind::Subquery(_) => "query".to_owned(),
        ExprKind::Exists(_) => "[exists query]".to_owned(),
        ExprKind::Row(items) => format!("[row {}]", list(items)),
        ExprKind::Default(None) => "default".to_owned(),
        ExprKind::InsertedValue(column) => format!("[values {}]", column.column.value),
        ExprKind::Default(Some(column)) => format!("[default {}]", column.column.value),
        ExprKind::StoredCall(call) => format!("{}({})", call.name.dotted(), list(&call.arguments)),
        ExprKind::Unit(unit) => format!("{unit:?}"),
    }
}

fn windowed(function: &WindowFunction) -> String {
    match function {
        WindowFunction::Own(function, args) => {
            let args: Vec<String> = args.iter().map(nested).collect();
            format!("[{function:?}({}) over]", args.join(" "))
        }
        WindowFunction::Aggregate(aggregate) => format!("[{} over]", nested(aggregate)),
    }
}
