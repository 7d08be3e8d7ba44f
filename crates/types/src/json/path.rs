//! Path expressions, and the values they select.
//!
//! A path is `$`, the document, and any number of legs: `.name`, `."name"`, `.*`, `[n]`, `[last]`, `[last - n]`, `[n
//! to m]`, `[*]` and `**`, which selects the value itself and all within it, and which another leg must follow. Where
//! a leg asks for a cell by number, a value that is not an array counts as an array of itself.

use super::binary::{Item, View};
use super::parse::quoted_prefix;
use crate::error::MysqlError;
use crate::output::room_for;
use crate::statement::{CancelTicker, CancelToken};
use std::collections::HashSet;

/// The number of values that are visited between two checks for cancellation.
const VALUES_BETWEEN_CHECKS: usize = 4096;

/// A path expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    legs: Vec<Leg>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leg {
    /// `.name`.
    Member(String),
    /// `.*`.
    AnyMember,
    /// `[n]`.
    Cell(Index),
    /// `[n to m]`.
    Cells(Index, Index),
    /// `[*]`.
    AnyCell,
    /// `**`.
    Descend,
}

/// The number of a cell, counted from the first or back from the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// Counted from the first cell, which is 0.
    First(u32),
    /// Counted back from the last cell, which is 0.
    Last(u32),
}

impl Index {
    /// Returns its place in an array of `cells` cells; None if there is no such cell.
    pub fn within(self, cells: usize) -> Option<usize> {
        let at = match self {
            Index::First(n) => n as usize,
            Index::Last(n) => cells.checked_sub(1)?.checked_sub(n as usize)?,
        };
        (at < cells).then_some(at)
    }

    /// Returns where a new cell of that number goes: before the first or behind the last if there is no such cell.
    pub fn place(self, cells: usize) -> usize {
        match self {
            Index::First(n) => (n as usize).min(cells),
            Index::Last(n) => cells.saturating_sub(1).saturating_sub(n as usize),
        }
    }
}

/// An upper bound for the memory of a path's legs, in bytes for each byte of its text.
const LEG_BYTES: usize = 48;

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// 3143 if the text is not a path, 1041 if there is no memory for a long one.
    pub fn parse(text: &str) -> Result<Path, MysqlError> {
        room_for(text.len().saturating_mul(LEG_BYTES))?;
        let mut parser = Parser { text, at: 0 };
        match parser.path() {
            Some(legs) => Ok(Path { legs }),
            None => Err(MysqlError::invalid_json_path(parser.at.max(1))),
        }
    }

    /// Returns its legs.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Whether the path may select several values.
    pub fn is_ambiguous(&self) -> bool {
        let several = |leg: &Leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_));
        self.legs.iter().any(several)
    }

    /// Returns the values that the path selects, in the order of the document.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end; 1041 if memory is lacking.
    pub fn select<'a>(&self, view: View<'a>, cancel: &CancelToken) -> Result<Vec<View<'a>>, MysqlError> {
        let mut steps = CancelTicker::new(cancel, VALUES_BETWEEN_CHECKS);
        let mut found = vec![view];
        // Only `**` can reach a value in several ways. The value counts once after each leg: paths with many `**`
        // would reach it exponentially often.
        let mut repeats = false;
        for leg in &self.legs {
            if let [view] = found[..] {
                found.clear();
                leg.follow(view, &mut found, &mut steps)?;
            } else {
                for view in std::mem::take(&mut found) {
                    leg.follow(view, &mut found, &mut steps)?;
                }
            }
            repeats |= *leg == Leg::Descend;
            if repeats && found.len() > 1 {
                let mut known = HashSet::with_capacity(found.len());
                found.retain(|view| known.insert(view.identity()));
            }
        }
        Ok(found)
    }

    /// Returns the first value that the path selects.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end; 1041 if memory is lacking.
    pub fn first<'a>(&self, view: View<'a>, cancel: &CancelToken) -> Result<Option<View<'a>>, MysqlError> {
        Ok(self.select(view, cancel)?.into_iter().next())
    }
}

impl Leg {
    /// Appends the values that the leg leads to from `view`.
    fn follow<'a>(
        &self,
        view: View<'a>,
        found: &mut Vec<View<'a>>,
        steps: &mut CancelTicker<'_>,
    ) -> Result<(), MysqlError> {
        let before = found.len();
        if let Item::Array(array) = view.item() {
            // Asks for the memory, since the array may have many cells.
            room_for(array.len().saturating_mul(2 * size_of::<View<'_>>()))?;
        }
        match (self, view.item()) {
            (Leg::Member(name), Item::Object(object)) => found.extend(object.get(name)),
            (Leg::AnyMember, Item::Object(object)) => found.extend(object.iter().map(|(_, value)| value)),
            (Leg::Cell(index), Item::Array(array)) => {
                found.extend(index.within(array.len()).and_then(|at| array.get(at)));
            }
            (Leg::Cells(from, to), Item::Array(array)) => {
                let (from, to) = span(*from, *to, array.len());
                found.extend((from..to).filter_map(|at| array.get(at)));
            }
            (Leg::AnyCell, Item::Array(array)) => found.extend(array.iter()),
            (Leg::Cell(index), _) if index.within(1).is_some() => found.push(view),
            (Leg::Cells(from, to), _) if span(*from, *to, 1) == (0, 1) => found.push(view),
            (Leg::Descend, _) => return descend(view, found, steps),
            _ => {}
        }
        steps.take(found.len() - before + 1)
    }
}

/// Appends a value and all values within it.
fn descend<'a>(
    view: View<'a>,
    found: &mut Vec<View<'a>>,
    steps: &mut CancelTicker<'_>,
) -> Result<(), MysqlError> {
    steps.take(1)?;
    found.push(view);
    match view.item() {
        Item::Array(array) => array.iter().try_for_each(|cell| descend(cell, found, steps)),
        Item::Object(object) => object.iter().try_for_each(|(_, value)| descend(value, found, steps)),
        _ => Ok(()),
    }
}

/// Returns the first cell of a range and the end, in an array of `cells` cells.
fn span(from: Index, to: Index, cells: usize) -> (usize, usize) {
    let to = match to {
        Index::First(n) => (n as usize).saturating_add(1).min(cells),
        Index::Last(n) => cells.saturating_sub(n as usize),
    };
    (from.place(cells), to)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn skip_space(&mut self) -> usize {
        let spaces = self.rest().bytes().take_while(u8::is_ascii_whitespace).count();
        self.at += spaces;
        spaces
    }

    /// Reads a path; None if it is invalid: then `at` is the place.
    fn path(&mut self) -> Option<Vec<Leg>> {
        self.skip_space();
        if !self.accept("$") {
            return None;
        }
        let mut legs = Vec::new();
        loop {
            self.skip_space();
            if self.rest().is_empty() {
                // A path must not end in `**`.
                return (legs.last() != Some(&Leg::Descend)).then_some(legs);
            }
            let leg = self.leg()?;
            if leg == Leg::Descend && legs.last() == Some(&Leg::Descend) {
                return None;
            }
            legs.push(leg);
        }
    }

    fn leg(&mut self) -> Option<Leg> {
        if self.accept("**") {
            return (!self.rest().starts_with('*')).then_some(Leg::Descend);
        }
        if self.accept("[") {
            return self.cells();
        }
        if !self.accept(".") {
            return None;
        }
        self.skip_space();
        if self.accept("*") {
            return Some(Leg::AnyMember);
        }
        if self.rest().starts_with('"') {
            let (name, len) = quoted_prefix(self.rest())?;
            self.at += len;
            return Some(Leg::Member(name));
        }
        let in_name = |(at, c): &(usize, char)| {
            c.is_alphabetic() || matches!(c, '_' | '$') || *at > 0 && (c.is_numeric() || !c.is_ascii())
        };
        let len = self.rest().char_indices().take_while(in_name).map(|(at, c)| at + c.len_utf8()).last()?;
        let name = self.rest()[..len].to_owned();
        self.at += len;
        Some(Leg::Member(name))
    }

    fn cells(&mut self) -> Option<Leg> {
        self.skip_space();
        let leg = if self.accept("*") {
            Leg::AnyCell
        } else {
            let from = self.index()?;
            if self.skip_space() > 0 && self.accept("to") {
                if self.skip_space() == 0 {
                    return None;
                }
                let to = self.index()?;
                let backwards = match (from, to) {
                    (Index::First(from), Index::First(to)) => from > to,
                    (Index::Last(from), Index::Last(to)) => from < to,
                    _ => false,
                };
                if backwards {
                    return None;
                }
                Leg::Cells(from, to)
            } else {
                Leg::Cell(from)
            }
        };
        self.skip_space();
        self.accept("]").then_some(leg)
    }

    fn index(&mut self) -> Option<Index> {
        if !self.accept("last") {
            return self.number().map(Index::First);
        }
        let behind = self.at;
        self.skip_space();
        if self.accept("-") {
            self.skip_space();
            return self.number().map(Index::Last);
        }
        self.at = behind;
        Some(Index::Last(0))
    }

    fn number(&mut self) -> Option<u32> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse().ok()?;
        self.at += digits;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Json, text};
    use super::*;

    fn select(document: &str, path: &str) -> String {
        let json = Json::parse(document).unwrap();
        let found = Path::parse(path).unwrap().select(json.view(), &CancelToken::new()).unwrap();
        found.into_iter().map(text::to_text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn paths_select_what_they_name() {
        let nested = "[[0,1],[2,3],[4,[5,6]]]";
        for (document, path, found) in [
            ("{\"a\": 1, \"b c\": [2]}", " $ . a", "1"),
            ("{\"a\": 1, \"b c\": [2]}", "$.\"b c\"[0]", "2"),
            ("{\"a\": 1, \"b c\": [2]}", "$.*", "1 [2]"),
            ("[1,2,3]", "$[last]", "3"),
            ("[1,2,3]", "$[last - 2]", "1"),
            ("[1,2,3]", "$[last-3]", ""),
            ("[1,2,3]", "$[1 to last]", "2 3"),
            ("[1,2,3]", "$[last-7 to 0]", "1"),
            ("5", "$[0][last]", "5"),
            ("5", "$[0 to 7]", "5"),
            ("5", "$[*]", ""),
            ("5", "$[1]", ""),
            (nested, "$**[0]", "[0, 1] 0 1 2 3 4 5 6"),
            (nested, "$**[*]", "[0, 1] [2, 3] [4, [5, 6]] 0 1 2 3 4 [5, 6] 5 6"),
            ("[[1]]", "$**[0]**[0]", "1"),
            ("[1,2,[3,4,[5,6,{\"a\":7}]]]", "$**[*]**[0]", "1 2 3 4 5 6 {\"a\": 7} 7"),
        ] {
            assert_eq!(select(document, path), found, "{path}");
        }
    }

    #[test]
    fn paths_of_many_legs_take_no_stack_and_no_time_without_bounds() {
        let legs = 100_000;
        assert_eq!(select("[1]", &format!("${}", "[0]".repeat(legs))), "1");
        assert_eq!(select("[1]", &format!("${}", "**[0]".repeat(legs))), "1");
        let nested = format!("{}1{}", "[".repeat(99), "]".repeat(99));
        assert_eq!(select(&nested, &format!("$[0]{}", "**[0]".repeat(99))), "1");
    }

    #[test]
    fn a_statement_that_has_to_end_follows_a_path_no_further() {
        let cancel = CancelToken::new();
        let wide = format!("[{}1]", "1,".repeat(VALUES_BETWEEN_CHECKS));
        let nested = format!("{}1{}", "[".repeat(99), "]".repeat(99));
        for (document, path) in [
            (wide.as_str(), "$[*]".to_owned()),
            (&wide, "$**[0]".to_owned()),
            (&nested, format!("$[0]{}", "**[0]".repeat(50))),
            ("1", format!("${}", "[0]".repeat(VALUES_BETWEEN_CHECKS))),
        ] {
            let json = Json::parse(document).unwrap();
            let path = Path::parse(&path).unwrap();
            cancel.rearm();
            assert!(path.select(json.view(), &cancel).is_ok());
            cancel.cancel(crate::statement::CancelReason::QueryKilled);
            assert_eq!(path.select(json.view(), &cancel).err().map(|error| error.code), Some(1317));
        }
    }

    #[test]
    fn invalid_paths_are_refused_at_mysqls_position() {
        for (path, position) in [
            ("c$", 1),
            ("$[", 2),
            ("$[1", 3),
            ("$a.b", 1),
            ("$.foo[bar]", 6),
            ("$.b[ 1 ].", 9),
            ("$**", 3),
            ("$[2 to 1]", 8),
            ("1010", 1),
        ] {
            let error = Path::parse(path).unwrap_err();
            let expected = format!("around character position {position}.");
            assert!(error.code == 3143 && error.message.ends_with(&expected), "{path}: {}", error.message);
        }
    }
}
