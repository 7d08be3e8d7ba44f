//! Structural equality of expressions, by which GROUP BY, ORDER BY and HAVING find select items.
//!
//! Compares structure, literals bit for bit, and types; not data derived from literals for speed.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use super::ir::{Expr, ExprKind};
use leafline_types::value::Value;

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty && self.kind == other.kind
    }
}

impl Eq for Expr {}

impl PartialEq for ExprKind {
    fn eq(&self, other: &Self) -> bool {
        use ExprKind::*;
        match (self, other) {
            (Literal(a), Literal(b)) => same_value(a, b),
            (Column(a), Column(b)) | (Parameter(a), Parameter(b)) | (Outer(a), Outer(b)) => a == b,
            (Subquery(a), Subquery(b)) => a == b,
            (Call { function: f, args: a }, Call { function: g, args: b }) => f == g && a == b,
            (Arithmetic { op: o, left: a, right: b }, Arithmetic { op: p, left: c, right: d }) => {
                o == p && a == c && b == d
            }
            (Program(a), Program(b)) => a == b,
            (Match(a), Match(b)) => a == b,
            (And(a), And(b)) | (Or(a), Or(b)) | (Coalesce(a), Coalesce(b)) => a == b,
            (Negate(a), Negate(b)) | (Not(a), Not(b)) | (Cast { operand: a }, Cast { operand: b }) => a == b,
            (Xor(a, b), Xor(c, d)) => a == c && b == d,
            (
                Compare { op: o, left: a, right: b, domain: x },
                Compare { op: p, left: c, right: d, domain: y },
            ) => o == p && x == y && a == c && b == d,
            (IsNull { operand: a, negated: n }, IsNull { operand: b, negated: m }) => n == m && a == b,
            (IsTruth { operand: a, truth: t, negated: n }, IsTruth { operand: b, truth: u, negated: m }) => {
                t == u && n == m && a == b
            }
            (
                InList { needle: a, list: l, negated: n, domain: x, set: _ },
                InList { needle: b, list: k, negated: m, domain: y, set: _ },
            ) => n == m && x == y && a == b && (Arc::ptr_eq(l, k) || l == k),
            (InRows { needle: a, list: l, negated: n }, InRows { needle: b, list: k, negated: m }) => {
                n == m && a == b && (Arc::ptr_eq(l, k) || l.is_same(k))
            }
            (
                Like { value: a, pattern: l, escape: e, negated: n, collation: x, compiled: _ },
                Like { value: b, pattern: k, escape: f, negated: m, collation: y, compiled: _ },
            ) => e == f && n == m && x == y && a == b && l == k,
            (Case { operand: a, whens: w, otherwise: e }, Case { operand: b, whens: v, otherwise: f }) => {
                a == b && w == v && e == f
            }
            _ => false,
        }
    }
}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(&self.kind).hash(state);
        match &self.kind {
            ExprKind::Literal(v) => hash_value(v, state),
            ExprKind::Column(n) | ExprKind::Parameter(n) | ExprKind::Outer(n) => n.hash(state),
            ExprKind::Subquery(subquery) => subquery.number.hash(state),
            ExprKind::Program(call) => call.function.hash(state),
            ExprKind::Call { function, .. } => function.hash(state),
            ExprKind::Arithmetic { op, .. } => op.hash(state),
            ExprKind::Compare { op, .. } => op.hash(state),
            ExprKind::InList { list, .. } => list.len().hash(state),
            ExprKind::InRows { list, .. } => list.rows().hash(state),
            _ => {}
        }
        self.for_each_child(&mut |child| child.hash(state));
    }
}

/// Compares doubles by their bits: NaN equals itself, and 0.0 and -0.0, which print differently, are different.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

fn hash_value<H: Hasher>(v: &Value, state: &mut H) {
    discriminant(v).hash(state);
    match v {
        Value::Int(v) => v.hash(state),
        Value::UInt(v) => v.hash(state),
        Value::Double(v) => v.to_bits().hash(state),
        Value::String(_) | Value::Bytes(_) => v.as_bytes().hash(state),
        // Values of these kinds are hashed by numbers or bytes that equal values share.
        Value::Null => {}
        Value::Decimal(v) => v.to_f64().to_bits().hash(state),
        Value::Json(v) => v.as_bytes().hash(state),
        Value::Date(v) => v.hash(state),
        Value::DateTime(v) => v.hash(state),
        Value::Time(v) => v.hash(state),
    }
}
