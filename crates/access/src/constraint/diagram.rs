//! An interval decision diagram: what a key has to be, part by part.
//!
//! A node is about one key part. Its edges are sorted, disjoint intervals of encoded values, each leading to a node about a later part,
//! or to acceptance; a value on no edge is rejected. Parts between two nodes may be anything. Nodes are shared: `a IN (10,000 values)
//! AND b IN (10,000 values)` is two of them. So AND and OR across parts, row comparisons and lists of rows are
//! diagrams, too. (Decision diagrams over intervals: Strehl and Thiele, DATE 1998.)
//!
//! Edges that touch and lead to the same are one, but for points: only behind a point can the next part bound a range.

use super::interval::{Interval, IntervalSet};
use crate::params::MAX_DIAGRAM_EDGES;
use std::collections::HashMap;
use std::iter::Peekable;
use std::slice::Iter;
use std::sync::Arc;

/// A link of the diagram: what keys have to be from a part on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Anything.
    #[default]
    Accept,
    /// The node that decides.
    To(Arc<Node>),
}

/// The values of one key part, and what each asks of the parts behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    /// Position of the part in the key.
    pub(crate) part: usize,
    /// Ascending and disjoint, one at least.
    pub(crate) edges: Box<[Edge]>,
}

/// Some values of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub interval: Interval,
    pub next: Link,
}

/// The diagram of whole keys; `None`: no key is accepted.
pub(super) type Diagram = Option<Link>;

/// The diagram has more edges than are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

type Result<T> = std::result::Result<T, TooLarge>;

impl Link {
    /// Whether everything is accepted.
    pub fn accepts_all(&self) -> bool {
        matches!(self, Link::Accept)
    }

    /// The values of `set` for a part, with `self` behind.
    pub(super) fn behind(self, part: usize, set: &IntervalSet) -> Diagram {
        if set.is_all() {
            return Some(self);
        }
        let edge = |interval: &Interval| Edge { interval: interval.clone(), next: self.clone() };
        node(part, set.intervals().iter().map(edge).collect())
    }

    fn is(&self, other: &Link) -> bool {
        match (self, other) {
            (Link::Accept, Link::Accept) => true,
            (Link::To(a), Link::To(b)) => Arc::ptr_eq(a, b) || a.is_like(b),
            _ => false,
        }
    }
}

impl Node {
    /// Whether they are the same, as far as is seen quickly.
    fn is_like(&self, other: &Node) -> bool {
        match (&*self.edges, &*other.edges) {
            ([a], [b]) => self.part == other.part && a.interval == b.interval && a.next.is(&b.next),
            _ => false,
        }
    }
}

fn node(part: usize, edges: Vec<Edge>) -> Diagram {
    match edges.as_slice() {
        [] => None,
        [only] if only.interval.is_all() => Some(only.next.clone()),
        _ => Some(Link::To(Arc::new(Node { part, edges: edges.into() }))),
    }
}

/// The conjunction of sets of several parts, ascending by part.
pub(super) fn chain<'s>(
    sets: impl DoubleEndedIterator<Item = (usize, &'s IntervalSet)>,
    behind: Link,
) -> Diagram {
    sets.rev().try_fold(behind, |link, (part, set)| link.behind(part, set))
}

/// The combinations that were made before: the operation, its sides, and the result. The sides are kept so that their addresses are not used again.
type Memo = HashMap<(bool, usize, usize), (Link, Link, Diagram)>;

/// Combines diagrams.
#[derive(Default)]
pub(super) struct Combiner {
    edges: usize,
    memo: Memo,
}

impl Combiner {
    /// The diagram of the keys that both accept.
    pub fn and(&mut self, a: &Link, b: &Link) -> Result<Diagram> {
        let (Link::To(left), Link::To(right)) = (a, b) else {
            return Ok(Some(if a.accepts_all() { b.clone() } else { a.clone() }));
        };
        if Arc::ptr_eq(left, right) {
            return Ok(Some(a.clone()));
        }
        self.remembered(true, a, b, |combiner| combiner.and_nodes((a, left), (b, right)))
    }

    /// The diagram of the keys that all conditions accept, and whether it is exact, by what is found of each.
    pub fn all<T>(
        &mut self,
        conditions: &[T],
        mut find: impl FnMut(&T, &mut Combiner) -> Result<(Diagram, bool)>,
    ) -> Result<(Diagram, bool)> {
        let (mut link, mut exact) = (Link::Accept, true);
        for condition in conditions {
            let (found, of_one) = find(condition, self)?;
            exact &= of_one;
            let both = found.map(|found| self.and(&link, &found)).transpose()?;
            match both.flatten() {
                Some(both) => link = both,
                None => return Ok((None, true)),
            }
        }
        Ok((Some(link), exact))
    }

    fn and_nodes(&mut self, a: (&Link, &Node), b: (&Link, &Node)) -> Result<Diagram> {
        let ((_, left), (whole, right)) = if a.1.part <= b.1.part { (a, b) } else { (b, a) };
        let mut edges = Vec::new();
        if left.part < right.part {
            for edge in &left.edges {
                if let Some(next) = self.and(&edge.next, whole)? {
                    self.push(&mut edges, Edge { interval: edge.interval.clone(), next })?;
                }
            }
            return Ok(node(left.part, edges));
        }
        let (mut of_left, mut of_right) = (left.edges.iter().peekable(), right.edges.iter().peekable());
        while let (Some(x), Some(y)) = (of_left.peek(), of_right.peek()) {
            let interval = x.interval.intersect(&y.interval);
            if !interval.is_empty()
                && let Some(next) = self.and(&x.next, &y.next)?
            {
                self.push(&mut edges, Edge { interval, next })?;
            }
            if x.interval.ends_no_later(&y.interval) {
                of_left.next()
            } else {
                of_right.next()
            };
        }
        Ok(node(left.part, edges))
    }

    /// The diagram of the keys that one of two accepts.
    pub fn or(&mut self, a: &Link, b: &Link) -> Result<Diagram> {
        let (Link::To(left), Link::To(right)) = (a, b) else { return Ok(Some(Link::Accept)) };
        if Arc::ptr_eq(left, right) {
            return Ok(Some(a.clone()));
        }
        self.remembered(false, a, b, |combiner| combiner.or_nodes((a, left), (b, right)))
    }

    fn or_nodes(&mut self, a: (&Link, &Node), b: (&Link, &Node)) -> Result<Diagram> {
        let ((_, left), (whole, right)) = if a.1.part <= b.1.part { (a, b) } else { (b, a) };
        if left.part == right.part {
            return self.sweep(left.part, &left.edges, &right.edges);
        }
        let any = Interval { lower: Vec::new(), upper: None, point: false };
        self.sweep(left.part, &left.edges, &[Edge { interval: any, next: whole.clone() }])
    }

    /// The edges of two nodes about the same part, cut where one of them begins or ends.
    fn sweep(&mut self, part: usize, left: &[Edge], right: &[Edge]) -> Result<Diagram> {
        let mut edges = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (RemainingEdges::of(left), RemainingEdges::of(right));
        loop {
            let piece = match (left.interval(), right.interval()) {
                (None, None) => break,
                (Some(x), None) => Some((x.clone(), true, false)),
                (None, Some(y)) => Some((y.clone(), false, true)),
                (Some(x), Some(y)) if x.lower < y.lower => Some((x.until(&y.lower), true, false)),
                (Some(x), Some(y)) if y.lower < x.lower => Some((y.until(&x.lower), false, true)),
                (Some(x), Some(y)) => Some((x.intersect(y), true, true)),
            };
            let Some((interval, from_left, from_right)) = piece else { break };
            let next = match (
                from_left.then(|| left.next()).flatten(),
                from_right.then(|| right.next()).flatten(),
            ) {
                (Some(x), Some(y)) => self.or(&x, &y)?,
                (Some(next), None) | (None, Some(next)) => Some(next),
                (None, None) => None,
            };
            if from_left {
                left.cut(&interval);
            }
            if from_right {
                right.cut(&interval);
            }
            if let Some(next) = next {
                self.push(&mut edges, Edge { interval, next })?;
            }
        }
        Ok(node(part, edges))
    }

    /// The diagram of the keys that one of many accepts.
    pub fn or_all(&mut self, mut links: Vec<Link>) -> Result<Diagram> {
        if let Some(all) = self.or_points(&links)? {
            return Ok(Some(all));
        }
        while links.len() > 1 {
            let mut halved = Vec::with_capacity(links.len().div_ceil(2));
            for pair in links.chunks(2) {
                halved.extend(match pair {
                    [a, b] => self.or(a, b)?,
                    rest => rest.first().cloned(),
                });
            }
            links = halved;
        }
        Ok(links.pop())
    }

    /// Joins diagrams by OR that each fix the same part to one value: the rows of a list.
    fn or_points(&mut self, links: &[Link]) -> Result<Diagram> {
        let Some(Link::To(first)) = links.first() else { return Ok(None) };
        let mut points: Vec<&Edge> = Vec::with_capacity(links.len());
        for link in links {
            match link {
                Link::To(node) if node.part == first.part => match &*node.edges {
                    [edge] if edge.interval.point => points.push(edge),
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        if points.len() < 2 {
            return Ok(None);
        }
        points.sort_by(|a, b| a.interval.lower.cmp(&b.interval.lower));
        let mut edges = Vec::new();
        for same in points.chunk_by(|a, b| a.interval.lower == b.interval.lower) {
            let behind: Vec<Link> = same.iter().map(|edge| edge.next.clone()).collect();
            let next =
                if behind.iter().any(Link::accepts_all) { Some(Link::Accept) } else { self.or_all(behind)? };
            if let (Some(next), Some(edge)) = (next, same.first()) {
                self.push(&mut edges, Edge { interval: edge.interval.clone(), next })?;
            }
        }
        Ok(node(first.part, edges))
    }

    fn remembered(
        &mut self,
        and: bool,
        a: &Link,
        b: &Link,
        combine: impl FnOnce(&mut Combiner) -> Result<Diagram>,
    ) -> Result<Diagram> {
        let (Link::To(left), Link::To(right)) = (a, b) else { return combine(self) };
        let addresses = (and, Arc::as_ptr(left) as usize, Arc::as_ptr(right) as usize);
        if let Some((_, _, known)) = self.memo.get(&addresses) {
            return Ok(known.clone());
        }
        let found = combine(self)?;
        self.memo.insert(addresses, (a.clone(), b.clone(), found.clone()));
        Ok(found)
    }

    /// Appends an edge, to the last one if they touch and lead to the same.
    fn push(&mut self, edges: &mut Vec<Edge>, edge: Edge) -> Result<()> {
        self.edges += 1;
        if self.edges > MAX_DIAGRAM_EDGES {
            return Err(TooLarge);
        }
        if let Some(last) = edges.last_mut()
            && last.interval.upper.as_ref() == Some(&edge.interval.lower)
            && !(last.interval.point && edge.interval.point)
            && last.next.is(&edge.next)
        {
            last.interval.upper = edge.interval.upper;
            last.interval.point = false;
            return Ok(());
        }
        edges.push(edge);
        Ok(())
    }
}

/// The edges of a node that are left.
struct RemainingEdges<'e> {
    edges: Peekable<Iter<'e, Edge>>,
    /// The rest of the first, if it was cut.
    cut: Option<Interval>,
}

impl<'e> RemainingEdges<'e> {
    fn of(edges: &'e [Edge]) -> RemainingEdges<'e> {
        RemainingEdges { edges: edges.iter().peekable(), cut: None }
    }

    fn interval(&mut self) -> Option<&Interval> {
        match &self.cut {
            Some(cut) => Some(cut),
            None => self.edges.peek().map(|edge| &edge.interval),
        }
    }

    fn next(&mut self) -> Option<Link> {
        self.edges.peek().map(|edge| edge.next.clone())
    }

    /// Takes away a piece from the beginning.
    fn cut(&mut self, piece: &Interval) {
        let upper = self.interval().and_then(|whole| whole.upper.clone());
        match &piece.upper {
            Some(lower) if upper.as_ref().is_none_or(|upper| lower < upper) => {
                self.cut = Some(Interval { lower: lower.clone(), upper, point: false });
            }
            _ => {
                self.cut = None;
                self.edges.next();
            }
        }
    }
}
