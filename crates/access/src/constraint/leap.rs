//! A key against a diagram: whether it is accepted, and where the next key can be that is.
//!
//! A key fails at one node, for a value that is on none of its edges. The next edge of that node says where to go on; where there is none,
//! the part before has to move on, and so on up to the first part the diagram speaks of (the multi-dimensional access method of Leslie,
//! Jain, Birdsall and Yaghmai, VLDB 1995). What is found is never beyond the next key that is accepted.

use super::diagram::{Edge, Link, Node};
use super::interval::Interval;
use leafline_types::CodecError;
use leafline_types::key::{KeyPart, prefix_successor, skip_part};

/// The parts of a key that are read before those a diagram speaks of, and the bytes these take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyStart {
    /// How many parts.
    pub parts: usize,
    /// How many bytes they take in every key the diagram is asked about.
    pub bytes: usize,
}

/// An edge on the way to the node at which a key fails.
struct PathStep<'d> {
    node: &'d Node,
    edge: usize,
    /// The part's bytes in the key.
    start: usize,
    end: usize,
}

/// The node at which a key fails, where its part begins, and the edges that were taken to it.
struct FailedNode<'d> {
    node: &'d Node,
    start: usize,
    way: Vec<PathStep<'d>>,
}

/// The edge that holds a value, and how many edges begin at it or before.
fn find<'n>(node: &'n Node, value: &[u8]) -> (usize, Option<&'n Edge>) {
    let begun = node.edges.partition_point(|edge| edge.interval.lower.as_slice() <= value);
    let edge = begun.checked_sub(1).and_then(|at| node.edges.get(at));
    (begun, edge.filter(|edge| edge.interval.contains(value)))
}

/// Goes over the parts of a key up to one.
fn advance(
    parts: &[KeyPart],
    key: &[u8],
    (part, start): (usize, usize),
    to: usize,
) -> Result<usize, CodecError> {
    let between = parts.get(part..to).unwrap_or_default();
    between.iter().try_fold(start, |at, part| Ok(at + skip_part(part, key.get(at..).unwrap_or_default())?))
}

impl Link {
    /// Whether a key is accepted. One that cannot be taken apart is: its decoder reports the error.
    pub fn accepts(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> bool {
        let (mut link, mut at) = (self, (begin.parts, begin.bytes));
        while let Link::To(node) = link {
            let Ok(start) = advance(parts, key, at, node.part) else { return true };
            let Ok(end) = advance(parts, key, (node.part, start), node.part + 1) else { return true };
            match find(node, key.get(start..end).unwrap_or_default()) {
                (_, Some(edge)) => link = &edge.next,
                (_, None) => return false,
            }
            at = (node.part + 1, end);
        }
        true
    }

    /// For a key that is not accepted: a key above it, up to which none is. `None`: there is none behind it with the same beginning.
    pub fn next_from(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> Option<Vec<u8>> {
        let FailedNode { mut node, mut start, mut way } = self.failure(parts, key, begin)?;
        let (mut edge, _) = find(node, value(parts, node.part, key, start));
        loop {
            if let Some(edge) = node.edges.get(edge) {
                return Some(at_lower(key.get(..start)?, node, edge));
            }
            let Some(before) = way.pop() else { break };
            let interval = before.node.edges.get(before.edge).map(|edge| &edge.interval)?;
            let skips = node.part > before.node.part + 1;
            if skips || !interval.point {
                // The parts between may be anything, and so may be what the edge holds.
                let next = prefix_successor(key.get(..if skips { start } else { before.end })?);
                let begins = key.get(..before.start)?;
                let inside = |next: &Vec<u8>| {
                    next.get(before.start..).is_some_and(|value| {
                        next.starts_with(begins)
                            && interval.upper.as_ref().is_none_or(|upper| value < upper.as_slice())
                    })
                };
                if let Some(next) = next.filter(inside) {
                    return Some(next);
                }
            }
            (node, start, edge) = (before.node, before.start, before.edge + 1);
        }
        // The bytes before the diagram's first part may differ in the keys to come.
        prefix_successor(key.get(..start)?)
    }

    /// For a key that is not accepted: one that all keys from there up to it are not, either. `None`: there is none before it with the
    /// same beginning.
    pub fn next_before(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> Option<Vec<u8>> {
        let FailedNode { mut node, mut start, mut way } = self.failure(parts, key, begin)?;
        let (mut edges, _) = find(node, value(parts, node.part, key, start));
        loop {
            if let Some(edge) = edges.checked_sub(1).and_then(|at| node.edges.get(at)) {
                return at_upper(key.get(..start)?, node, edge);
            }
            let Some(before) = way.pop() else { break };
            let interval = before.node.edges.get(before.edge).map(|edge| &edge.interval)?;
            if node.part > before.node.part + 1 {
                return key.get(..start).map(<[u8]>::to_vec);
            }
            let taken = key.get(before.start..before.end)?;
            if !interval.point && interval.lower.as_slice() < taken {
                return key.get(..before.end).map(<[u8]>::to_vec);
            }
            (node, start, edges) = (before.node, before.start, before.edge);
        }
        key.get(..start).filter(|prefix| !prefix.is_empty()).map(<[u8]>::to_vec)
    }

    /// For a key that is accepted: a key above it, below which all from it on are. `None`: all are.
    pub fn accepted_below(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> Option<Vec<u8>> {
        let (interval, start) = self.last_interval(parts, key, begin)?;
        let begins = key.get(..start)?;
        match &interval.upper {
            Some(upper) => Some([begins, upper].concat()),
            None => prefix_successor(begins),
        }
    }

    /// For a key that is accepted: one from which on all up to it are.
    pub fn accepted_from(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> Vec<u8> {
        match self.last_interval(parts, key, begin) {
            Some((interval, start)) => [key.get(..start).unwrap_or_default(), &interval.lower].concat(),
            None => Vec::new(),
        }
    }

    /// The interval of the last part that is asked about in which the value of an accepted key is, and where that part begins.
    fn last_interval(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> Option<(&Interval, usize)> {
        let (mut link, mut at) = (self, (begin.parts, begin.bytes));
        let mut last = None;
        while let Link::To(node) = link {
            let start = advance(parts, key, at, node.part).ok()?;
            let end = advance(parts, key, (node.part, start), node.part + 1).ok()?;
            let (_, edge) = find(node, key.get(start..end)?);
            let edge = edge?;
            last = Some((&edge.interval, start));
            link = &edge.next;
            at = (node.part + 1, end);
        }
        last
    }

    fn failure(&self, parts: &[KeyPart], key: &[u8], begin: KeyStart) -> Option<FailedNode<'_>> {
        let (mut link, mut at) = (self, (begin.parts, begin.bytes));
        let mut way = Vec::new();
        while let Link::To(node) = link {
            let start = advance(parts, key, at, node.part).ok()?;
            let end = advance(parts, key, (node.part, start), node.part + 1).ok()?;
            match find(node, key.get(start..end)?) {
                (begun, Some(edge)) => {
                    way.push(PathStep { node, edge: begun - 1, start, end });
                    link = &edge.next;
                }
                (_, None) => return Some(FailedNode { node, start, way }),
            }
            at = (node.part + 1, end);
        }
        None
    }
}

/// The bytes of a part of a key.
fn value<'k>(parts: &[KeyPart], part: usize, key: &'k [u8], start: usize) -> &'k [u8] {
    let end = advance(parts, key, (part, start), part + 1).unwrap_or(key.len());
    key.get(start..end).unwrap_or_default()
}

/// The first key on an edge, as far as the diagram says.
fn at_lower<'d>(begins: &[u8], mut node: &'d Node, mut edge: &'d Edge) -> Vec<u8> {
    let mut key = begins.to_vec();
    loop {
        key.extend_from_slice(&edge.interval.lower);
        match (&edge.next, edge.interval.point) {
            (Link::To(behind), true) if behind.part == node.part + 1 => match behind.edges.first() {
                Some(first) => (node, edge) = (behind, first),
                None => return key,
            },
            _ => return key,
        }
    }
}

/// The start of the keys behind the last key on an edge, as far as the diagram says.
fn at_upper<'d>(begins: &[u8], mut node: &'d Node, mut edge: &'d Edge) -> Option<Vec<u8>> {
    let mut key = begins.to_vec();
    loop {
        match (&edge.next, edge.interval.point) {
            (Link::To(behind), true) if behind.part == node.part + 1 => match behind.edges.last() {
                Some(last) => {
                    key.extend_from_slice(&edge.interval.lower);
                    (node, edge) = (behind, last);
                }
                None => return None,
            },
            _ => break,
        }
    }
    match &edge.interval.upper {
        Some(upper) => {
            key.extend_from_slice(upper);
            Some(key)
        }
        None => prefix_successor(&key),
    }
}

#[cfg(test)]
mod tests {
    use super::super::diagram::{Combiner, Diagram};
    use super::super::interval::IntervalSet;
    use super::super::ranges;
    use super::*;
    use leafline_types::{Collation, SqlType};
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// Values of each of the three parts, one byte each.
    const VALUES: u8 = 6;

    /// A condition on three parts.
    #[derive(Debug)]
    enum Model {
        Part(usize, IntervalSet),
        And(Vec<Model>),
        Or(Vec<Model>),
    }

    impl Model {
        fn random(rng: &mut SmallRng, depth: usize) -> Model {
            if depth > 0 && rng.random_ratio(3, 4) {
                let args = (0..rng.random_range(2..5)).map(|_| Model::random(rng, depth - 1)).collect();
                return if rng.random() { Model::And(args) } else { Model::Or(args) };
            }
            let byte = |rng: &mut SmallRng| {
                vec![if rng.random_ratio(1, 8) { 255 } else { rng.random_range(0..VALUES) }]
            };
            let set = match rng.random_range(0..4) {
                0 => IntervalSet::range(byte(rng), None),
                1 => IntervalSet::range(byte(rng), Some(byte(rng))),
                2 => IntervalSet::points((0..rng.random_range(1..4)).map(|_| byte(rng)).collect()),
                _ => IntervalSet::point(byte(rng)),
            };
            Model::Part(rng.random_range(0..3), set)
        }

        fn holds(&self, key: &[u8]) -> bool {
            match self {
                Model::Part(part, set) => set.contains(&key[*part..=*part]),
                Model::And(args) => args.iter().all(|arg| arg.holds(key)),
                Model::Or(args) => args.iter().any(|arg| arg.holds(key)),
            }
        }

        fn diagram(&self, combiner: &mut Combiner) -> Diagram {
            match self {
                Model::Part(part, set) => Link::Accept.behind(*part, set),
                Model::And(args) => args.iter().try_fold(Link::Accept, |all, arg| {
                    arg.diagram(combiner).and_then(|arg| combiner.and(&all, &arg).expect("a small diagram"))
                }),
                Model::Or(args) => {
                    let links = args.iter().filter_map(|arg| arg.diagram(combiner)).collect();
                    combiner.or_all(links).expect("a small diagram")
                }
            }
        }
    }

    #[test]
    fn leaps_go_over_nothing_that_is_accepted() {
        let seed = crate::testing::seed();
        let mut rng = SmallRng::seed_from_u64(seed);
        let ty = SqlType::TinyInt { unsigned: true };
        let part =
            KeyPart { ty, collation: Collation::Binary, nullable: false, descending: false, prefix: None };
        let parts = vec![part; 3];
        let values: Vec<u8> = (0..VALUES).chain([254, 255]).collect();
        let keys: Vec<Vec<u8>> = values
            .iter()
            .flat_map(|a| values.iter().map(move |b| [*a, *b]))
            .flat_map(|[a, b]| values.iter().map(move |c| vec![a, b, *c]))
            .collect();
        let (mut leaps, mut direct, mut shared) = (0, 0, 0);
        for case in 0..600 * crate::testing::scale() {
            let model = Model::random(&mut rng, 3);
            let diagram = model.diagram(&mut Combiner::default());
            let found = ranges::ranges(&diagram, 3);
            let context = format!("seed {seed}, case {case}: {model:?} {found:?}");
            for pair in found.windows(2) {
                assert!(pair[0].upper.as_ref().is_some_and(|upper| *upper <= pair[1].lower), "{context}");
            }
            let accepts = |range: &ranges::KeyRange, key: &[u8]| {
                range.contains(key) && range.key_filter.accepts(&parts, key, range.equal)
            };
            for key in &keys {
                let accepted = found.iter().any(|range| accepts(range, key));
                assert_eq!(accepted, model.holds(key), "{key:?}, {context}");
            }
            for range in &found {
                for key in keys.iter().filter(|key| accepts(range, key)) {
                    let below = range.key_filter.accepted_below(&parts, key, range.equal);
                    let from = range.key_filter.accepted_from(&parts, key, range.equal);
                    assert!(
                        below.as_ref().is_none_or(|below| key < below) && from <= *key,
                        "{key:?}, {context}"
                    );
                    let together = |other: &&Vec<u8>| {
                        range.contains(other)
                            && from <= **other
                            && below.as_ref().is_none_or(|below| *other < below)
                    };
                    for other in keys.iter().filter(together) {
                        assert!(accepts(range, other), "{other:?} with {key:?}, {context}");
                        shared += usize::from(other != key);
                    }
                }
                let inside: Vec<&Vec<u8>> = keys.iter().filter(|key| range.contains(key)).collect();
                for key in inside.iter().filter(|key| !accepts(range, key)) {
                    let wanted = inside.iter().find(|other| other > &key && accepts(range, other));
                    let next = range.key_filter.next_from(&parts, key, range.equal);
                    if let Some(next) = &next {
                        assert!(next.as_slice() > key.as_slice(), "{key:?} to {next:?}, {context}");
                        direct += usize::from(wanted.is_some_and(|wanted| wanted.starts_with(next)));
                    }
                    let loses = wanted.is_some_and(|wanted| {
                        next.as_ref().is_none_or(|next| next.as_slice() > wanted.as_slice())
                    });
                    assert!(!loses, "{key:?} to {next:?} over {wanted:?}, {context}");
                    let wanted = inside.iter().rev().find(|other| other < &key && accepts(range, other));
                    let next = range.key_filter.next_before(&parts, key, range.equal);
                    if let Some(next) = &next {
                        assert!(next.as_slice() <= key.as_slice(), "{key:?} back to {next:?}, {context}");
                    }
                    let loses = wanted.is_some_and(|wanted| {
                        next.as_ref().is_none_or(|next| next.as_slice() <= wanted.as_slice())
                    });
                    assert!(!loses, "{key:?} back to {next:?} over {wanted:?}, {context}");
                    leaps += 1;
                }
            }
        }
        assert!(leaps > 1000 && direct > 1000, "{leaps} leaps, {direct} to an accepted key");
        assert!(shared > 1000, "{shared} accepted with another");
    }
}
