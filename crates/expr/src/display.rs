//! Writes expressions as SQL text, in the manner of MySQL's EXPLAIN: operators in parentheses, keywords in lower
//! case.

use std::fmt;

use super::ir::{Expr, ExprKind, MatchCall, ProgramName, RowList, Subquery, SubqueryUse};
use leafline_types::convert;
use leafline_types::value::{SqlType, Value};
use leafline_words::MatchMode;

impl Expr {
    /// Shows the expression with the column names that `name` returns; a column without one has the name of the
    /// column that it was read from.
    pub fn display_with<'a>(&'a self, name: &'a dyn Fn(usize) -> Option<String>) -> impl fmt::Display + 'a {
        Named { e: self, name: Some(name) }
    }
}

impl fmt::Display for Expr {
    /// Writes the form for messages: with the full names of columns, or `#0`, `#1`, ... if these are unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Named { e: self, name: None }.fmt(f)
    }
}

/// The names of columns by their numbers; None in messages, which show full names.
type Names<'a> = Option<&'a dyn Fn(usize) -> Option<String>>;

struct Named<'a> {
    e: &'a Expr,
    name: Names<'a>,
}

impl Named<'_> {
    /// Returns the name of a column, of this row or of an enclosing query's.
    fn column(&self, number: usize, is_outer: bool) -> String {
        let origin = &self.e.ty.origin;
        let found = match self.name {
            None => origin.full(),
            Some(_) if is_outer => origin.short(),
            Some(name) => name(number).or_else(|| origin.short()),
        };
        found.unwrap_or_else(|| if is_outer { format!("outer#{number}") } else { format!("#{number}") })
    }
}

struct Joined<'a> {
    list: &'a [Expr],
    separator: &'a str,
    name: Names<'a>,
}

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, e) in self.list.iter().enumerate() {
            if n > 0 {
                f.write_str(self.separator)?;
            }
            Named { e, name: self.name }.fmt(f)?;
        }
        Ok(())
    }
}

impl Named<'_> {
    /// Writes the rows of a list, and the closing parenthesis.
    fn rows(&self, rows: &RowList, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in 0..rows.rows() {
            let parts: Vec<Expr> = rows.row(row).cloned().collect();
            let parts = Joined { list: &parts, separator: ",", name: self.name };
            write!(f, "{}({parts})", if row == 0 { "" } else { "," })?;
        }
        f.write_str("))")
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |e| Named { e, name: self.name };
        let list = |list, separator| Joined { list, separator, name: self.name };
        let not = |negated: &bool| if *negated { "not " } else { "" };
        match &self.e.kind {
            ExprKind::Literal(v) => literal(v, &self.e.ty.sql, f),
            ExprKind::Column(n) => f.write_str(&self.column(*n, false)),
            ExprKind::Parameter(_) => f.write_str("?"),
            ExprKind::Outer(n) => f.write_str(&self.column(*n, true)),
            ExprKind::Subquery(subquery) => subquery_text(subquery, self.name, f),
            ExprKind::Program(call) => {
                let ProgramName { database, name } = &*call.function;
                write!(f, "`{database}`.`{name}`({})", list(&call.args, ","))
            }
            ExprKind::Match(call) => search_text(call, self.name, f),
            ExprKind::Call { function, args } => {
                let name = function.definition().name.to_ascii_lowercase();
                match (name.as_str(), args.as_slice()) {
                    ("date_add" | "date_sub", [date, count, unit]) => {
                        let sign = if name == "date_add" { '+' } else { '-' };
                        write!(f, "({} {sign} interval {} {})", of(date), of(count), keyword(unit))
                    }
                    ("extract", [unit, e]) => write!(f, "extract({} from {})", keyword(unit), of(e)),
                    ("&" | "|" | "^" | "<<" | ">>", [left, right]) => {
                        write!(f, "({} {name} {})", of(left), of(right))
                    }
                    (":=", [variable, value]) => write!(f, "(@{} := {})", word(variable), of(value)),
                    ("shown digits", [e]) => of(e).fmt(f),
                    ("@", [variable, _]) => write!(f, "@{}", word(variable)),
                    ("last_insert_id_of", args) => write!(f, "last_insert_id({})", list(args, ",")),
                    ("~", [operand]) => write!(f, "~({})", of(operand)),
                    ("timestampdiff", [unit, from, to]) => {
                        write!(f, "timestampdiff({},{},{})", keyword(unit).to_uppercase(), of(from), of(to))
                    }
                    ("get_format", [what, standard]) => {
                        write!(f, "get_format({},{})", keyword(what).to_uppercase(), of(standard))
                    }
                    ("char_using", args) => {
                        write!(f, "char({} using {})", list(args, ","), self.e.ty.collation.charset().name())
                    }
                    ("trim_leading", [e, what]) => write!(f, "trim(leading {} from {})", of(what), of(e)),
                    ("trim_trailing", [e, what]) => write!(f, "trim(trailing {} from {})", of(what), of(e)),
                    ("trim_both", [e, what]) => write!(f, "trim(both {} from {})", of(what), of(e)),
                    (name, args) => write!(f, "{name}({})", list(args, ",")),
                }
            }
            ExprKind::Arithmetic { op, left, right } => write!(f, "({} {op} {})", of(left), of(right)),
            ExprKind::Negate(e) => write!(f, "-({})", of(e)),
            ExprKind::And(conditions) => write!(f, "({})", list(conditions, " and ")),
            ExprKind::Or(conditions) => write!(f, "({})", list(conditions, " or ")),
            ExprKind::Xor(left, right) => write!(f, "({} xor {})", of(left), of(right)),
            ExprKind::Not(e) => write!(f, "(not {})", of(e)),
            ExprKind::Compare { op, left, right, .. } => write!(f, "({} {op} {})", of(left), of(right)),
            ExprKind::IsNull { operand, negated } => write!(f, "({} is {}null)", of(operand), not(negated)),
            ExprKind::IsTruth { operand, truth, negated } => {
                write!(f, "({} is {}{truth})", of(operand), not(negated))
            }
            ExprKind::InList { needle, list: members, negated, .. } => {
                write!(f, "({} {}in ({}))", of(needle), not(negated), list(members, ","))
            }
            ExprKind::InRows { needle, list: rows, negated } => {
                write!(f, "(({}) {}in (", list(needle, ","), not(negated))?;
                self.rows(rows, f)
            }
            ExprKind::Like { value, pattern, escape, negated, .. } => {
                write!(f, "({} {}like {}", of(value), not(negated), of(pattern))?;
                match escape {
                    Some('\\') => f.write_str(")"),
                    Some(c) => write!(f, " escape {})", Quoted(&c.to_string())),
                    None => f.write_str(" escape '')"),
                }
            }
            ExprKind::Case { operand, whens, otherwise } => {
                f.write_str("(case")?;
                if let Some(e) = operand {
                    write!(f, " {}", of(e))?;
                }
                for when in whens {
                    write!(f, " when {} then {}", of(&when.condition), of(&when.result))?;
                }
                if let Some(e) = otherwise {
                    write!(f, " else {}", of(e))?;
                }
                f.write_str(" end)")
            }
            ExprKind::Coalesce(candidates) => write!(f, "coalesce({})", list(candidates, ",")),
            ExprKind::Cast { operand } => {
                write!(f, "cast({} as ", of(operand))?;
                match &self.e.ty.sql {
                    SqlType::BigInt { unsigned: false } => f.write_str("signed)"),
                    SqlType::BigInt { unsigned: true } => f.write_str("unsigned)"),
                    SqlType::Varchar { len } => write!(f, "char({len}))"),
                    SqlType::Text { .. } => f.write_str("char)"),
                    SqlType::Varbinary { len: u32::MAX } => f.write_str("binary)"),
                    SqlType::Varbinary { len } => write!(f, "binary({len}))"),
                    other => write!(f, "{other})"),
                }
            }
        }
    }
}

fn search_text(call: &MatchCall, name: Names<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mode = match call.search.mode {
        MatchMode::Natural => "",
        MatchMode::Expanded => " with query expansion",
        MatchMode::Boolean => " in boolean mode",
    };
    let columns = Joined { list: &call.columns, separator: ",", name };
    write!(f, "(match {columns} against ({}{mode}))", Named { e: &call.query, name })
}

fn subquery_text(subquery: &Subquery, name: Names<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (number, needle) = (subquery.number, Joined { list: &subquery.needle, separator: ",", name });
    match &subquery.question {
        SubqueryUse::Value => write!(f, "(subquery {number}"),
        SubqueryUse::Exists => write!(f, "exists(subquery {number}"),
        SubqueryUse::Any(_) => write!(f, "(({needle}) any (subquery {number})"),
        SubqueryUse::Row(_) => write!(f, "(({needle}) row (subquery {number})"),
    }?;
    if !subquery.outer.is_empty() {
        write!(f, " of {}", Joined { list: &subquery.outer, separator: ",", name })?;
    }
    f.write_str(")")
}

/// Returns the text of a literal string.
fn word(e: &Expr) -> &str {
    e.as_literal().and_then(Value::as_str).unwrap_or("?")
}

/// Returns the text of a unit, which is stored as a string literal.
fn keyword(unit: &Expr) -> String {
    word(unit).to_ascii_lowercase()
}

fn literal(v: &Value, ty: &SqlType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match v {
        Value::Null => f.write_str("NULL"),
        Value::String(s) => write!(f, "{}", Quoted(s)),
        Value::Bytes(b) => {
            f.write_str("x'")?;
            b.iter().try_for_each(|b| write!(f, "{b:02X}"))?;
            f.write_str("'")
        }
        Value::Date(d) => write!(f, "DATE'{d}'"),
        Value::DateTime(t) => write!(f, "TIMESTAMP'{}'", t.display(ty.scale())),
        Value::Time(t) => write!(f, "TIME'{}'", t.display(ty.scale())),
        // Written with an exponent, because it would read as a DECIMAL without one.
        Value::Double(_) => {
            let text = convert::to_text(v, ty).unwrap_or_default();
            write!(f, "{text}{}", if text.contains('e') { "" } else { "e0" })
        }
        Value::Json(json) => write!(f, "cast({} as json)", Quoted(&json.to_string())),
        other => f.write_str(&convert::to_text(other, ty).unwrap_or_default()),
    }
}

/// Shows a string literal.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\\', "\\\\").replace('\'', "''"))
    }
}
