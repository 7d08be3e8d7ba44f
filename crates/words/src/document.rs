//! Finds the words of a query in a document, and ranks the document.
//!
//! A document consists of the texts of the columns of an index. The evaluation follows InnoDB's (`fts0que.cc`): it begins
//! with no ranking, and each step may add the document, remove it, or change its ranking. The weights of the words that it was
//! found by are added at last.

use crate::program::{Phrase, Program, Step, Target};
use crate::query::Query;
use crate::syntax::Operator;
use std::collections::BTreeMap;

/// The number of a token that the query does not have.
const OTHER: usize = usize::MAX;

/// The words of a document that match a lookup.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Words {
    /// The number of different words: more than one only for the beginning of words.
    pub(crate) count: u32,
    /// The number of times that the document contains the first of them.
    pub(crate) frequency: u32,
}

/// The words and phrases of a query that a document contains.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The words that match each lookup.
    pub(crate) words: Vec<Words>,
    /// Whether the document contains each phrase.
    pub(crate) phrases: Vec<bool>,
}

/// A token of a document.
struct Place {
    /// Its number in the query.
    token: usize,
    column: usize,
    is_indexed: bool,
}

/// Some tokens of a query, by their numbers.
#[derive(Clone, Default, Debug)]
struct TokenSet {
    /// A bit for each token below 64.
    first: u64,
    /// Whether the set has each token from 64 on.
    others: Vec<bool>,
}

impl TokenSet {
    fn add(&mut self, token: usize) {
        match u32::try_from(token) {
            Ok(token @ 0..64) => self.first |= 1 << token,
            _ => {
                let at = token - 64;
                if self.others.len() <= at {
                    self.others.resize(at + 1, false);
                }
                if let Some(is_in) = self.others.get_mut(at) {
                    *is_in = true;
                }
            }
        }
    }

    fn add_all(&mut self, more: &TokenSet) {
        self.first |= more.first;
        if self.others.len() < more.others.len() {
            self.others.resize(more.others.len(), false);
        }
        self.others.iter_mut().zip(&more.others).for_each(|(known, new)| *known |= new);
    }

    /// Iterates over the tokens in ascending order.
    fn iter(&self) -> impl Iterator<Item = usize> {
        let first = (0..64).filter(|token| self.first >> token & 1 == 1);
        let others = self.others.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(at, _)| at + 64);
        first.chain(others)
    }
}

/// The state of a document during the evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    rank: f32,
    /// The tokens that it was found by.
    tokens: TokenSet,
}

impl Ranking {
    fn change(&mut self, by: f32) {
        self.rank = (self.rank + by).clamp(-1.0, 1.0);
    }
}

impl Query {
    /// Finds the words of the query in a document.
    pub fn find<'t>(&self, columns: impl IntoIterator<Item = &'t str>) -> Found {
        let program = &self.program;
        let mut places = Vec::new();
        let mut counts = vec![0_u32; program.tokens.len()];
        let prefixes: Vec<(usize, &str)> = program
            .lookups
            .iter()
            .enumerate()
            .filter_map(|(at, lookup)| lookup.prefix.as_deref().map(|prefix| (at, prefix)))
            .collect();
        let mut beginnings: BTreeMap<usize, BTreeMap<Box<[u8]>, u32>> = BTreeMap::new();
        let mut buffer = Vec::new();
        for (column, text) in columns.into_iter().enumerate() {
            self.rules.for_each_token(text, &mut |token| {
                let key = self.rules.key(token, &mut buffer);
                let known = program.tokens.get(key).copied();
                let is_indexed =
                    (known.is_some() || !prefixes.is_empty()) && self.rules.is_indexed(token, key);
                if let Some(count) = known.filter(|_| is_indexed).and_then(|known| counts.get_mut(known)) {
                    *count = count.saturating_add(1);
                }
                if is_indexed {
                    for &(at, prefix) in &prefixes {
                        if self.rules.begins_with(token, prefix) {
                            let words = beginnings.entry(at).or_default();
                            *words.entry(key.into()).or_default() += 1;
                        }
                    }
                }
                if !program.phrases.is_empty() {
                    places.push(Place { token: known.unwrap_or(OTHER), column, is_indexed });
                }
            });
        }
        let words = |(at, lookup): (usize, &crate::program::Lookup)| match lookup.prefix {
            Some(_) => {
                let found = beginnings.get(&at);
                let first = found.and_then(|words| words.values().next());
                Words {
                    count: found.map_or(0, |words| words.len() as u32),
                    frequency: first.copied().unwrap_or(0),
                }
            }
            None => {
                let frequency = counts.get(lookup.token).copied().unwrap_or(0);
                Words { count: frequency.min(1), frequency }
            }
        };
        let words: Vec<Words> = program.lookups.iter().enumerate().map(words).collect();
        let phrases =
            program.phrases.iter().map(|phrase| contains(program, phrase, &words, &places)).collect();
        Found { words, phrases }
    }

    /// Returns whether a document is found.
    pub fn accepts(&self, found: &Found) -> bool {
        self.evaluate(&self.program.steps, found, &mut |_| {}).is_some()
    }

    /// Returns the ranking of a document; 0 if it is not found. `frequencies` are the inverse document frequencies of the tokens.
    pub fn rank(&self, found: &Found, frequencies: &[f64]) -> f32 {
        self.score(found, frequencies).unwrap_or(0.0)
    }

    /// Returns the ranking of a document like [`rank`](Self::rank); `None` if it is not found.
    pub fn score(&self, found: &Found, frequencies: &[f64]) -> Option<f32> {
        let mut ranking = self.evaluate(&self.program.steps, found, &mut |_| {})?;
        for token in ranking.tokens.iter() {
            let inverse = frequencies.get(token).copied().unwrap_or(0.0);
            ranking.rank += (f64::from(self.frequency(found, token)) * inverse * inverse) as f32;
        }
        Some(ranking.rank)
    }

    /// Calls `f` with each word of a document that an index contains, unless the document was found by it.
    pub fn for_each_other_word<'t>(
        &self,
        found: &Found,
        columns: impl IntoIterator<Item = &'t str>,
        f: &mut dyn FnMut(&[u8], &'t str),
    ) {
        let mut buffer = Vec::new();
        let finds = |token: &str, key: &[u8]| {
            self.program.lookups.iter().zip(&found.words).any(|(lookup, words)| {
                let matches = match &lookup.prefix {
                    Some(prefix) => self.rules.begins_with(token, prefix),
                    None => self.program.tokens.get(key) == Some(&lookup.token),
                };
                words.count > 0 && matches
            })
        };
        for text in columns {
            self.rules.for_each_token(text, &mut |token| {
                let key = self.rules.key(token, &mut buffer);
                if self.rules.is_indexed(token, key) && !finds(token, key) {
                    f(key, token);
                }
            });
        }
    }

    /// Returns how often the document contains a token: the first lookup of the token that has found something decides.
    fn frequency(&self, found: &Found, token: usize) -> u32 {
        let mut lookups = self.program.lookups.iter().zip(&found.words);
        let of_token = lookups.find(|(lookup, words)| lookup.token == token && words.count > 0);
        of_token.map_or(0, |(_, words)| words.frequency)
    }

    /// Takes the steps. Calls `reached` with the number of each search that depends on a document being found, if this one is.
    pub(crate) fn evaluate(
        &self,
        steps: &[Step],
        found: &Found,
        reached: &mut dyn FnMut(usize),
    ) -> Option<Ranking> {
        let mut state: Option<Ranking> = None;
        for step in steps {
            if let Some(search) = step.search.filter(|_| state.is_some()) {
                reached(search);
            }
            let (times, mut given) = match &step.target {
                Target::Lookup(lookup) => {
                    let count = found.words.get(*lookup).map_or(0, |words| words.count);
                    (count, self.ranking_by(std::slice::from_ref(lookup), count > 0))
                }
                Target::Phrase(phrase) => {
                    let is_found = found.phrases.get(*phrase).is_some_and(|found| *found);
                    let lookups = self.program.phrases.get(*phrase).map_or(&[][..], |phrase| &phrase.lookups);
                    (u32::from(is_found), self.ranking_by(lookups, is_found))
                }
                Target::Group(steps) => {
                    let inner = self.evaluate(steps, found, reached);
                    (u32::from(inner.is_some()), inner)
                }
            };
            let Some(given) = given.take() else {
                if step.operator == Operator::Exist {
                    state = None;
                }
                continue;
            };
            let adds = match step.operator {
                Operator::None | Operator::Increase | Operator::Decrease => true,
                Operator::Exist => !step.after_exist,
                Operator::Negate => false,
                Operator::Ignore => {
                    state = None;
                    false
                }
            };
            let Some(ranking) = &mut state else {
                if adds {
                    let mut ranking = given;
                    change(&mut ranking, step.operator, times);
                    state = Some(ranking);
                }
                continue;
            };
            if step.operator == Operator::Exist {
                ranking.change(given.rank);
            }
            change(ranking, step.operator, times);
            ranking.tokens.add_all(&given.tokens);
        }
        state
    }

    /// Returns the ranking of a document that was found by some lookups, if it was found.
    fn ranking_by(&self, lookups: &[usize], is_found: bool) -> Option<Ranking> {
        if !is_found {
            return None;
        }
        let mut tokens = TokenSet::default();
        for lookup in lookups {
            if let Some(lookup) = self.program.lookups.get(*lookup) {
                tokens.add(lookup.token);
            }
        }
        Some(Ranking { rank: 0.0, tokens })
    }
}

/// Changes a ranking once for each word that was found.
fn change(ranking: &mut Ranking, operator: Operator, times: u32) {
    let by = match operator {
        Operator::Increase => 1.0,
        Operator::Decrease | Operator::Negate => -1.0,
        _ => return,
    };
    // The second change reaches the bound.
    (0..times.min(2)).for_each(|_| ranking.change(by));
}

/// Returns whether a document contains a phrase.
fn contains(program: &Program, phrase: &Phrase, words: &[Words], places: &[Place]) -> bool {
    let is_found = |lookup: &usize| words.get(*lookup).is_some_and(|words| words.count > 0);
    if phrase.lookups.is_empty() || !phrase.lookups.iter().all(is_found) {
        return false;
    }
    match (phrase.distance, phrase.sequence.as_slice()) {
        (_, []) => false,
        (_, [_]) => true,
        (Some(distance), _) => is_near(program, phrase, distance, places),
        (None, sequence) => places.windows(sequence.len()).any(|window| {
            let same = window.iter().zip(sequence).all(|(place, token)| place.token == *token);
            let one_column = match window {
                [first, .., last] => first.is_indexed && first.column == last.column,
                _ => true,
            };
            same && one_column
        }),
    }
}

/// Returns whether there is a place where at most `distance` words reach from the first to the last word of a phrase. The lists of
/// positions are walked side by side, and the first of the words goes on to its next position.
fn is_near(program: &Program, phrase: &Phrase, distance: u64, places: &[Place]) -> bool {
    let positions = |lookup: &usize| -> Vec<usize> {
        let token = program.lookups.get(*lookup).map_or(OTHER, |lookup| lookup.token);
        let is_token =
            |(at, place): (usize, &Place)| (place.token == token && place.is_indexed).then_some(at);
        places.iter().enumerate().filter_map(is_token).collect()
    };
    let lists: Vec<Vec<usize>> = phrase.lookups.iter().map(positions).collect();
    let mut heads: Vec<usize> = vec![0; lists.len()];
    loop {
        let mut current = Vec::with_capacity(lists.len());
        for (list, head) in lists.iter().zip(&heads) {
            let Some(position) = list.get(*head) else { return false };
            current.push(*position);
        }
        let first = current.iter().enumerate().min_by_key(|(_, position)| **position);
        let (Some((at, first)), Some(last)) = (first, current.iter().max()) else { return false };
        if (last - first + 1) as u64 <= distance {
            return true;
        }
        match heads.get_mut(at) {
            Some(head) => *head += 1,
            None => return false,
        }
    }
}
