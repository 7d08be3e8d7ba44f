//! CASE, and the functions that are forms of CASE: IF, IFNULL, COALESCE, NULLIF.

use super::charset::{converted, under};
use super::compare;
use super::compare::{domain_among, shared_collation};
use super::plain::{plain, plain_or_document, plain_or_documents};
use super::types::{common_type, convert_constants};
use super::variable::read_as;
use crate::ir::{CompareOp, Expr, ExprKind, When};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType};

/// Makes `CASE [operand] WHEN .. THEN .. [ELSE otherwise] END`, with at least one WHEN.
pub fn case(
    operand: Option<Expr>,
    whens: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
) -> Result<Expr, MysqlError> {
    // An operand that is stored in another form than it is shown in is compared by the rules of each WHEN.
    let (operand, whens) = match operand {
        Some(operand) if operand.ty.sql.plain().is_some() => {
            let compared = whens.into_iter().map(|(when, result)| {
                compare(CompareOp::Eq, operand.clone(), when).map(|condition| (condition, result))
            });
            (None, compared.collect::<Result<Vec<_>, _>>()?)
        }
        operand => (operand, whens),
    };
    let has_otherwise = otherwise.is_some();
    let (conditions, results): (Vec<Expr>, Vec<Expr>) = whens.into_iter().unzip();
    let mut results = plain_or_documents(results.into_iter().chain(otherwise).collect());
    let otherwise = if has_otherwise { results.pop() } else { None };
    let whens: Vec<(Expr, Expr)> = conditions.into_iter().zip(results).collect();
    let results = whens.iter().map(|(_, result)| &result.ty).chain(otherwise.iter().map(|e| &e.ty));
    let mut ty = common_type("case", &results.collect::<Vec<_>>())?;
    ty.nullable |= otherwise.is_none();
    if ty.sql.is_character() {
        let results = whens.iter().map(|(_, result)| result).chain(&otherwise);
        convert_constants("case", results, ty.collation)?;
    }
    let shared = match &operand {
        Some(operand) => {
            let compared = std::iter::once(operand).chain(whens.iter().map(|(condition, _)| condition));
            shared_collation("case", &compared.collect::<Vec<_>>())?
        }
        None => None,
    };
    let otherwise = otherwise.map(|e| of_type(e, &ty));
    let mut branches = Vec::with_capacity(whens.len());
    for (condition, result) in whens {
        let result = of_type(result, &ty);
        let (condition, domain) = match &operand {
            None => (condition, None),
            Some(operand) => {
                let (_, value, domain) =
                    domain_among("case", operand.clone(), plain(condition), false, shared)?;
                (value, Some(domain))
            }
        };
        branches.push(When { condition, domain, result });
    }
    let kind = ExprKind::Case {
        operand: operand.map(Box::new),
        whens: branches,
        otherwise: otherwise.map(Box::new),
    };
    Ok(Expr { kind, ty })
}

/// Makes `IF(condition, yes, no)`.
pub(super) fn if_(mut args: Vec<Expr>) -> Result<Expr, MysqlError> {
    match (args.pop(), args.pop(), args.pop()) {
        (Some(no), Some(yes), Some(condition)) => case(None, vec![(condition, yes)], Some(no)),
        _ => Err(MysqlError::wrong_parameter_count("IF")),
    }
}

/// Makes `COALESCE(args)` or `IFNULL(a, b)`. It can be NULL only if all arguments can.
pub(super) fn coalesce(name: &str, args: Vec<Expr>) -> Result<Expr, MysqlError> {
    let args = plain_or_documents(args);
    let mut ty = common_type(name, &args.iter().map(|e| &e.ty).collect::<Vec<_>>())?;
    if ty.sql.is_character() {
        convert_constants(name, args.iter(), ty.collation)?;
    }
    ty.nullable = args.iter().all(|e| e.ty.nullable);
    let args = args.into_iter().map(|e| of_type(e, &ty)).collect();
    Ok(Expr { kind: ExprKind::Coalesce(args), ty })
}

/// Converts a branch to the operation's type `ty`.
fn of_type(e: Expr, ty: &ExprType) -> Expr {
    let e = read_as(e, &ty.sql);
    if ty.sql.is_string() { under(converted(e, (ty.collation, ty.coercibility)), ty.collation) } else { e }
}

/// Converts `e` to a type that holds its values; see [`common_type`].
pub fn conformed(e: Expr, ty: &ExprType) -> Expr {
    if e.ty.sql == ty.sql && e.ty.collation == ty.collation {
        return e;
    }
    let e = if ty.sql.is_string() { under(e, ty.collation) } else { e };
    let ty = ExprType { nullable: e.ty.nullable, ..ty.clone() };
    Expr { kind: ExprKind::Coalesce(vec![e]), ty }
}

/// Makes `NULLIF(a, b)` as `CASE WHEN a = b THEN NULL ELSE a END`. As in MySQL, `a` is evaluated twice if they
/// differ.
pub(super) fn nullif(mut args: Vec<Expr>) -> Result<Expr, MysqlError> {
    let (Some(b), Some(a)) = (args.pop(), args.pop()) else {
        return Err(MysqlError::wrong_parameter_count("NULLIF"));
    };
    let equal = compare(CompareOp::Eq, a.clone(), b)?;
    let a = plain_or_document(a);
    let mut ty = a.ty.clone();
    ty.nullable = true;
    if let SqlType::Char { len } = ty.sql {
        ty.sql = SqlType::Varchar { len };
    }
    let whens = vec![When { condition: equal, domain: None, result: super::null() }];
    Ok(Expr { kind: ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(a)) }, ty })
}
