//! Applies an XPath expression to a document.
//!
//! Node sets are evaluated here. The evaluator of SQL expressions computes numbers and texts, as operations on
//! literals, so that they have MySQL's types, conversions and collations.

use crate::datum::Row;
use crate::eval_operand as operand;
use crate::xml::{Axis, Bounds, Document, Expression, Function, Kind, Start, Step, XPath};
use crate::{EvalContext, Expr, build, value_of};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// The context node of an expression.
#[derive(Debug, Clone, Copy)]
struct Context {
    node: u32,
    /// Its place among the nodes that a predicate tests, from 0, and their number.
    place: u32,
    size: u32,
}

const ROOT: Context = Context { node: 0, place: 0, size: 1 };

/// Evaluates expressions on one document.
pub(crate) struct Evaluator<'e, 'd, 'c, 'x> {
    pub(crate) document: &'e Document<'d>,
    pub(crate) bounds: &'e mut Bounds<'c>,
    pub(crate) cx: &'e mut EvalContext<'x>,
    /// The row of the call.
    pub(crate) row: &'e dyn Row,
    /// The collation of its texts.
    pub(crate) collation: Collation,
}

impl Evaluator<'_, '_, '_, '_> {
    /// Returns the nodes that a whole expression finds, in document order; None if its value is not a node set.
    pub(crate) fn found(&mut self, xpath: &XPath) -> Result<Option<Vec<u32>>, MysqlError> {
        if xpath.0.is_nodes() { self.nodes(&xpath.0, ROOT).map(Some) } else { Ok(None) }
    }

    /// Returns the value of a whole expression as a literal.
    pub(crate) fn computed(&mut self, xpath: &XPath) -> Result<Expr, MysqlError> {
        self.value(&xpath.0, ROOT)
    }

    /// Returns the text directly in some nodes, with spaces between its pieces.
    pub(crate) fn text_of(&mut self, nodes: &[u32]) -> Result<Vec<u8>, MysqlError> {
        let mut text = Vec::new();
        for piece in self.pieces(nodes)? {
            let piece = self.document.name(piece);
            self.bounds.grow::<u8>(piece.len() + 1)?;
            if !text.is_empty() {
                text.push(b' ');
            }
            text.extend_from_slice(piece);
        }
        Ok(text)
    }

    /// Returns the text nodes directly in some nodes.
    fn pieces(&mut self, nodes: &[u32]) -> Result<Vec<u32>, MysqlError> {
        let mut pieces = Vec::new();
        for node in nodes {
            for child in self.document.children(*node) {
                self.bounds.steps.take(1)?;
                if self.document.node(child).kind == Kind::Text {
                    self.bounds.grow::<u32>(1)?;
                    pieces.push(child);
                }
            }
        }
        pieces.sort_unstable();
        Ok(pieces)
    }

    // Node sets

    fn nodes(&mut self, e: &Expression, context: Context) -> Result<Vec<u32>, MysqlError> {
        match e {
            Expression::Union(left, right) => {
                let mut all = self.nodes(left, context)?;
                all.append(&mut self.nodes(right, context)?);
                Ok(in_order(all))
            }
            Expression::Path { start, steps } => {
                let mut found = match start {
                    Start::Root => vec![ROOT.node],
                    Start::Context => vec![context.node],
                    Start::Nodes(e) => self.nodes(e, context)?,
                };
                for step in steps {
                    found = self.step(&found, step)?;
                }
                Ok(found)
            }
            _ => Err(MysqlError::internal("not a set of nodes in XPath")),
        }
    }

    fn step(&mut self, from: &[u32], step: &Step) -> Result<Vec<u32>, MysqlError> {
        let mut candidates: Vec<(u32, u32)> = Vec::new();
        // Nodes below an earlier node are found already, unless predicates ask for places.
        let mut covered = 0;
        for node in from {
            let is_covered = *node < covered && step.predicates.is_empty();
            match step.axis {
                Axis::Descendant | Axis::DescendantOrSelf if is_covered => continue,
                Axis::Descendant | Axis::DescendantOrSelf => {
                    covered = self.document.node(*node).end_of_subtree;
                }
                _ => {}
            }
            self.axis(*node, step, &mut candidates)?;
        }
        for predicate in &step.predicates {
            candidates = self.filtered(candidates, predicate)?;
        }
        Ok(in_order(candidates.into_iter().map(|(node, _)| node).collect()))
    }

    /// Adds the nodes of a step from one node, with their places on the axis.
    fn axis(&mut self, from: u32, step: &Step, found: &mut Vec<(u32, u32)>) -> Result<(), MysqlError> {
        let document = self.document;
        let mut place = 0;
        let mut add = |bounds: &mut Bounds<'_>, node: u32, kind: Option<Kind>| {
            bounds.steps.take(1)?;
            let is_kind = kind.is_none_or(|kind| document.node(node).kind == kind);
            if is_kind && step.name.as_ref().is_none_or(|name| name.as_bytes() == document.name(node)) {
                bounds.grow::<(u32, u32)>(1)?;
                found.push((node, place));
                place += 1;
            }
            Ok::<(), MysqlError>(())
        };
        let bounds = &mut *self.bounds;
        let parent = |node: u32| (node != ROOT.node).then(|| document.node(node).parent);
        match step.axis {
            Axis::Nowhere => {}
            Axis::Here => {
                bounds.grow::<(u32, u32)>(1)?;
                found.push((from, 0));
            }
            Axis::SelfOfName => add(bounds, from, None)?,
            Axis::Parent => {
                if let Some(parent) = parent(from) {
                    add(bounds, parent, None)?;
                }
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let first = if step.axis == Axis::Ancestor { parent(from) } else { Some(from) };
                for node in std::iter::successors(first, |node| parent(*node)) {
                    add(bounds, node, None)?;
                }
            }
            Axis::Child | Axis::Attribute => {
                let kind = if step.axis == Axis::Child { Kind::Element } else { Kind::Attribute };
                for child in document.children(from) {
                    add(bounds, child, Some(kind))?;
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                if step.axis == Axis::DescendantOrSelf {
                    add(bounds, from, None)?;
                }
                for node in from + 1..document.node(from).end_of_subtree {
                    add(bounds, node, Some(Kind::Element))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the candidates that a predicate passes, with their places among these.
    fn filtered(
        &mut self,
        candidates: Vec<(u32, u32)>,
        predicate: &Expression,
    ) -> Result<Vec<(u32, u32)>, MysqlError> {
        let size = candidates.len() as u32;
        let mut passed: Vec<(u32, u32)> = Vec::new();
        for (node, place) in candidates {
            let context = Context { node, place, size };
            let passes = if predicate.is_nodes() || predicate.is_condition() {
                self.truth(predicate, context)?
            } else {
                let index = self.value(predicate, context)?;
                let index = build::cast(index, build::CastTarget::Signed, self.collation)?;
                matches!(self.evaluate(&index)?, Value::Int(index) if index == i64::from(place) + 1)
            };
            if passes {
                passed.push((node, passed.len() as u32));
            }
        }
        Ok(passed)
    }

    // Values

    fn evaluate(&mut self, e: &Expr) -> Result<Value, MysqlError> {
        self.bounds.steps.take(64)?;
        value_of(e, self.row, self.cx)
    }

    /// Returns the value of an operation as a literal.
    fn literal(&mut self, e: &Expr) -> Result<Expr, MysqlError> {
        let value = self.evaluate(e)?;
        let mut literal = build::literal(value);
        if literal.ty.sql != SqlType::Null {
            literal.ty = e.ty.clone();
        }
        Ok(literal)
    }

    fn text(&self, text: &[u8]) -> Expr {
        match str::from_utf8(text) {
            Ok(text) => build::string(text, self.collation),
            Err(_) => build::literal(Value::bytes(text)),
        }
    }

    fn truth_of(&mut self, e: &Expr) -> Result<bool, MysqlError> {
        let value = self.evaluate(e)?;
        Ok(operand::truth(&value, self.cx)? == Some(true))
    }

    fn truth(&mut self, e: &Expression, context: Context) -> Result<bool, MysqlError> {
        match e {
            e if e.is_nodes() => Ok(!self.nodes(e, context)?.is_empty()),
            Expression::And(left, right) => Ok(self.truth(left, context)? && self.truth(right, context)?),
            Expression::Or(left, right) => Ok(self.truth(left, context)? || self.truth(right, context)?),
            e => {
                let value = self.value(e, context)?;
                self.truth_of(&value)
            }
        }
    }

    /// Returns the value of an expression as a literal; the value of nodes is their text.
    fn value(&mut self, e: &Expression, context: Context) -> Result<Expr, MysqlError> {
        Ok(match e {
            Expression::Literal(Value::String(text)) => build::string(text, self.collation),
            Expression::Literal(value) => build::literal(value.clone()),
            Expression::Variable(name) => {
                let (value, sql) = self.cx.state.variables.get(name);
                let mut literal = build::literal(value);
                if literal.ty.sql != SqlType::Null {
                    literal.ty.sql = sql;
                }
                literal
            }
            Expression::Negate(operand) => {
                let operand = self.value(operand, context)?;
                self.literal(&build::negate(operand)?)?
            }
            Expression::Arithmetic(op, left, right) => {
                let (left, right) = (self.value(left, context)?, self.value(right, context)?);
                self.literal(&build::arithmetic(*op, left, right)?)?
            }
            Expression::Compare(op, left, right) if right.is_nodes() => {
                let left = self.value(left, context)?;
                self.compared(op.swapped(), right, &left, context)?
            }
            Expression::Compare(op, left, right) if left.is_nodes() => {
                let right = self.value(right, context)?;
                self.compared(*op, left, &right, context)?
            }
            Expression::Compare(op, left, right) => {
                let (left, right) = (self.value(left, context)?, self.value(right, context)?);
                self.literal(&build::compare(*op, left, right)?)?
            }
            Expression::And(..) | Expression::Or(..) => condition(self.truth(e, context)?),
            Expression::Union(..) | Expression::Path { .. } => {
                let nodes = self.nodes(e, context)?;
                let text = self.text_of(&nodes)?;
                self.text(&text)
            }
            Expression::Call(function, args) => self.call(*function, args, context)?,
        })
    }

    /// Whether the comparison with a value holds for any text directly in the nodes.
    fn compared(
        &mut self,
        op: crate::CompareOp,
        nodes: &Expression,
        value: &Expr,
        context: Context,
    ) -> Result<Expr, MysqlError> {
        let nodes = self.nodes(nodes, context)?;
        for piece in self.pieces(&nodes)? {
            let text = self.text(self.document.name(piece));
            if self.truth_of(&build::compare(op, text, value.clone())?)? {
                return Ok(condition(true));
            }
        }
        Ok(condition(false))
    }

    fn call(
        &mut self,
        function: Function,
        args: &[Expression],
        context: Context,
    ) -> Result<Expr, MysqlError> {
        let number = |value: u32| build::literal(Value::Int(value.into()));
        let name = match function {
            Function::True => return Ok(condition(true)),
            Function::False => return Ok(condition(false)),
            Function::Boolean => return Ok(condition(self.truth(&args[0], context)?)),
            Function::Not => return Ok(condition(!self.truth(&args[0], context)?)),
            Function::Last => return Ok(number(context.size)),
            Function::Position => return Ok(number(context.place + 1)),
            // As in MySQL, count of the bare context is the number of nodes that the predicate tests.
            Function::Count if args[0].is_context() => return Ok(number(context.size)),
            Function::Count => return Ok(number(self.nodes(&args[0], context)?.len() as u32)),
            Function::Sum => return self.sum(&args[0], context),
            Function::StringLength if args.is_empty() => {
                let text = self.text_of(&[context.node])?;
                let text = self.text(&text);
                return self.literal(&build::call("CHAR_LENGTH", vec![text])?);
            }
            Function::Number => {
                let operand = self.value(&args[0], context)?;
                return self.literal(&build::cast(operand, build::CastTarget::Double, self.collation)?);
            }
            Function::Contains => {
                let (text, part) = (self.value(&args[0], context)?, self.value(&args[1], context)?);
                let found = build::call("INSTR", vec![text, part])?;
                return Ok(condition(self.truth_of(&found)?));
            }
            // MySQL joins the first two and ignores the others.
            Function::Concat => {
                let (left, right) = (self.value(&args[0], context)?, self.value(&args[1], context)?);
                return self.literal(&build::call("CONCAT", vec![left, right])?);
            }
            Function::Round => {
                let operand = self.value(&args[0], context)?;
                let operand = build::cast(operand, build::CastTarget::Double, self.collation)?;
                return self.literal(&build::call("ROUND", vec![operand])?);
            }
            Function::Ceiling => "CEILING",
            Function::Floor => "FLOOR",
            Function::StringLength => "CHAR_LENGTH",
            Function::Substring => "SUBSTRING",
        };
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.value(arg, context)?);
        }
        self.literal(&build::call(name, values)?)
    }

    /// Returns the sum of the texts directly in the nodes, as numbers.
    fn sum(&mut self, nodes: &Expression, context: Context) -> Result<Expr, MysqlError> {
        let nodes = self.nodes(nodes, context)?;
        let mut sum = 0.0;
        for piece in self.pieces(&nodes)? {
            let text = Value::bytes(self.document.name(piece));
            sum += operand::double(&text, self.cx)?.unwrap_or(0.0);
        }
        Ok(build::literal(Value::Double(sum)))
    }
}

fn condition(truth: bool) -> Expr {
    build::literal(Value::Int(truth.into()))
}

fn in_order(mut nodes: Vec<u32>) -> Vec<u32> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
