//! Languages of the Unicode Collation Algorithm 9.0.0: CLDR's tailorings, turned into weights.
//!
//! `tables/languages_900.txt` has a line for each language: its name and its rules, in the syntax of CLDR (Unicode
//! Technical Standard #35, part 5). `&a<b` sorts b behind a as a separate letter, `<<` as a with an accent, `<<<` as
//! another case of a, `=` as equal. `&[before 1]a` means the letter before a. `b/c` gives b the weights of c in
//! addition. After an empty line come letters with accents and their decompositions (`NFD`): a letter that decomposes
//! into something tailored follows its tailoring.
//!
//! A tailored letter has the weights of the letter it sorts behind, and one more, which is above those of all
//! letters: `ñ` is `n` and `54a5`. So it is above `nz` and below `o`. Likewise a tailored accent has a second-level
//! weight from `116` on, and a tailored case a third-level weight from `21` on in place of the last one.
//!
//! `[reorder Cyrl]` sorts Cyrillic letters before Latin ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::table::{self, WeightTable};

static TEXT: &str = include_str!("tables/languages_900.txt");

/// Weights on each of the three levels.
pub(super) type Levels = [Vec<u16>; 3];

/// The values below the first weight of a tailored letter, accent and case; no weight of the tables is above them.
pub(super) const PRIMARY: u16 = 0x54a4;
const SECONDARY: u16 = 0x115;
const TERTIARY: u16 = 0x20;
/// The most letters that may be tailored behind one letter.
pub(super) const MOST_LETTERS: u16 = 16;
const COMMON_SECONDARY: u16 = 0x20;
const COMMON_TERTIARY: u16 = 0x02;

const TABLES: [WeightTable; 3] = [table::UCA_900_PRIMARY, table::UCA_900_SECONDARY, table::UCA_900_TERTIARY];

/// The letters, and sequences of letters, that a language sorts differently, with their weights.
#[derive(Debug, Default)]
pub(super) struct Language {
    pub(super) weights: BTreeMap<Vec<u32>, Levels>,
    /// Cyrillic letters come before Latin ones.
    pub(super) cyrillic_first: bool,
}

/// Returns the letters with accents, each with its decomposition.
fn decompositions() -> impl Iterator<Item = (u32, Vec<u32>)> {
    let lines = TEXT.split_once("\n\n").map_or("", |(_, rest)| rest).lines();
    lines.filter_map(|line| {
        let (composed, parts) = line.split_once(' ')?;
        Some((composed.chars().next()?.into(), parts.chars().map(u32::from).collect()))
    })
}

fn table_weights(code_point: u32) -> Levels {
    TABLES.each_ref().map(|table| match table.entry(code_point) {
        table::Entry::Weight(w) => vec![w],
        table::Entry::Expansion(from, to) => (from..to).map(|at| table.weight(at)).collect(),
        table::Entry::Ignorable | table::Entry::Absent => Vec::new(),
    })
}

/// Returns the highest weight of a letter that is below `w`.
fn letter_before(w: u16) -> u16 {
    static LETTERS: OnceLock<Vec<u16>> = OnceLock::new();
    let letters = LETTERS.get_or_init(|| {
        let letters: BTreeSet<u16> = TABLES[0].weights_of_all().into_values().flatten().collect();
        letters.into_iter().collect()
    });
    let at = letters.partition_point(|other| *other < w);
    at.checked_sub(1).and_then(|at| letters.get(at)).copied().unwrap_or_default()
}

impl Language {
    /// Returns the language named `name`; `None` if there are no rules for it.
    pub(super) fn of(name: &str) -> Option<Language> {
        let rules = TEXT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'))?;
        let mut language =
            Language { weights: BTreeMap::new(), cyrillic_first: rules.contains("[reorder Cyrl]") };
        for chain in rules.split('&').skip(1) {
            language.add_chain(chain);
        }
        let closure: Vec<(Vec<u32>, Levels)> = decompositions()
            .filter(|(composed, _)| !language.weights.contains_key(&vec![*composed]))
            .filter_map(|(composed, parts)| Some((vec![composed], language.weights_of_parts(&parts)?)))
            .collect();
        language.weights.extend(closure);
        Some(language)
    }

    /// Adds the letters of one `&` rule.
    fn add_chain(&mut self, chain: &str) {
        let end = chain.find(['<', '=']).unwrap_or(chain.len());
        let (anchor, mut rest) = chain.split_at(end);
        let mut letter = match anchor.strip_prefix("[before 1]") {
            Some(after) => {
                let after = self.weights_of(&code_points(after));
                let before = letter_before(after[0].first().copied().unwrap_or_default());
                [vec![before], vec![COMMON_SECONDARY], vec![COMMON_TERTIARY]]
            }
            None => self.weights_of(&code_points(anchor)),
        };
        let first = letter.clone();
        let (mut accented, mut current) = (letter.clone(), letter.clone());
        let [mut letters, mut accents, mut cases] = [0u16; 3];
        while !rest.is_empty() {
            let operator = rest.len() - rest.trim_start_matches(['<', '=']).len();
            let (signs, tail) = rest.split_at(operator);
            let end = tail.find(['<', '=']).unwrap_or(tail.len());
            let (item, tail) = tail.split_at(end);
            rest = tail;
            match signs {
                "<" => {
                    (letters, accents, cases) = (letters + 1, 0, 0);
                    letter = first.clone();
                    letter[0].push(PRIMARY + letters.min(MOST_LETTERS));
                    letter[1].push(COMMON_SECONDARY);
                    letter[2].push(COMMON_TERTIARY);
                    (accented, current) = (letter.clone(), letter.clone());
                }
                "<<" => {
                    (accents, cases) = (accents + 1, 0);
                    accented = letter.clone();
                    accented[1].push(SECONDARY + accents);
                    accented[2].push(COMMON_TERTIARY);
                    current = accented.clone();
                }
                "<<<" => {
                    cases += 1;
                    current = accented.clone();
                    current[2].pop();
                    current[2].push(TERTIARY + cases);
                }
                _ => {}
            }
            let (item, expansion) = item.split_once('/').unwrap_or((item, ""));
            let mut levels = current.clone();
            append(&mut levels, self.weights_of(&code_points(expansion)));
            self.weights.insert(code_points(item), levels);
        }
    }

    /// Returns the longest tailored sequence at the front of `characters`: its length and weights.
    fn tailored<'t>(&'t self, characters: &[u32]) -> Option<(usize, &'t Levels)> {
        (1..=characters.len()).rev().find_map(|len| Some((len, self.weights.get(characters.get(..len)?)?)))
    }

    /// Returns the weights of a letter that decomposes into `parts`; `None` if none of them is tailored.
    fn weights_of_parts(&self, parts: &[u32]) -> Option<Levels> {
        let (base, accents) = parts.split_first()?;
        // The tailored letter with the most of these accents; other accents may stand between them.
        let of_base = decompositions().filter(|(_, of)| {
            of.first() == Some(base) && of.iter().skip(1).all(|accent| accents.contains(accent))
        });
        let tailored = of_base.filter_map(|(composed, of)| Some((of, self.weights.get(&vec![composed])?)));
        let letter = tailored.max_by_key(|(of, _)| of.len());
        if letter.is_none() && !parts.iter().any(|part| self.weights.contains_key(&vec![*part])) {
            return None;
        }
        let (used, mut sum) = match letter {
            Some((of, levels)) => (of, levels.clone()),
            None => (vec![*base], self.weights_of(&[*base])),
        };
        for accent in accents.iter().filter(|accent| !used.contains(accent)) {
            append(&mut sum, self.weights_of(&[*accent]));
        }
        Some(sum)
    }

    /// Returns the weights of a text.
    fn weights_of(&self, characters: &[u32]) -> Levels {
        let mut sum = Levels::default();
        let mut rest = characters;
        while let Some(first) = rest.first() {
            let (len, levels) = match self.tailored(rest) {
                Some((len, levels)) => (len, levels.clone()),
                None => (1, table_weights(*first)),
            };
            append(&mut sum, levels);
            rest = rest.get(len..).unwrap_or_default();
        }
        sum
    }
}

fn append(sum: &mut Levels, more: Levels) {
    sum.iter_mut().zip(more).for_each(|(level, more)| level.extend(more));
}

fn code_points(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

/// Moves the first-level weights of Cyrillic letters before those of Latin ones.
pub(super) fn with_cyrillic_first(weights: &mut BTreeMap<u32, Vec<u16>>) {
    let of = |c: char| table_weights(c.into())[0].first().copied().unwrap_or_default();
    let (latin, cyrillic, end) = (of('a'), of('а'), of('ⰰ'));
    for w in weights.values_mut().flatten() {
        *w = match *w {
            w if (cyrillic..end).contains(&w) => w - (cyrillic - latin),
            w if (latin..cyrillic).contains(&w) => w + (end - cyrillic),
            w => w,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    /// Keys on disk depend on every rule. Changing one requires a new version of the file format.
    #[test]
    fn rules_keep_their_hash() {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = TEXT.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
        assert_eq!(hash, HASH, "{hash:#x}");
    }

    const HASH: u64 = 0xb79c_149c_cf4a_f951;

    fn collation(name: &str) -> Collation {
        Collation::from_name(name).unwrap()
    }

    #[test]
    fn words_are_in_the_order_of_their_language() {
        for (language, words) in [
            ("de_pb", "Ad Ae Ä Af Od Öd Of Üb Uz"),
            ("is", "az á b d đ ð e é f y ý z þ æ ö å"),
            ("lv", "c č d g ģ h i y j k ķ l ļ m z ž"),
            ("ro", "a ă â b i î j s ș t ț u"),
            ("pl", "a ą b l ł m z ź ż"),
            ("et", "s š z ž t w õ ä ö ü x"),
            ("es", "n nz ñ o"),
            ("es_trad", "c cz ch d l lz ll m n ñ o"),
            ("sv", "y ü z å ä ö"),
            ("tr", "c ç d h ı i j o ö p s ş t u ü v"),
            ("cs", "c č d h hz ch i r ř s š z ž"),
            ("nb", "a z æ ø å aa"),
            ("sk", "a ä b h ch i o ô p"),
            ("hu", "c cz cs d dy dz dzs e l ly m o ö p s sz t u ü v z zs"),
            ("hr", "c č ć d dz dž đ e l lj m n nj o"),
            ("eo", "c ĉ d u ŭ v"),
            ("vi", "a à ả ã á ạ ă ằ â ầ b d đ e ê o ô ơ p u ư v"),
            ("ru", "1 б я b z"),
            ("bg", "а я a"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let sorting = collation(&format!("utf8mb4_{language}_0900_as_cs"));
            for pair in words.windows(2) {
                let order = sorting.compare(pair[0].as_bytes(), pair[1].as_bytes());
                assert_eq!(order, std::cmp::Ordering::Less, "{sorting}: {pair:?}");
                let mut keys = [Vec::new(), Vec::new()];
                pair.iter().zip(&mut keys).for_each(|(word, key)| sorting.sort_key(word.as_bytes(), key));
                assert!(keys[0] < keys[1], "{sorting}: {pair:?} {keys:x?}");
            }
        }
    }

    #[test]
    fn accents_and_case_count_by_the_collation() {
        for (language, a, b, expected) in [
            ("de_pb", "Ä", "ae", true),
            ("sv", "ä", "æ", true),
            ("sv", "ä", "a", false),
            ("nb", "Å", "aa", true),
            ("la", "iv", "JU", true),
            ("hr", "ǆ", "DŽ", true),
            ("hu", "ccs", "cscs", true),
            ("lt", "y", "i", true),
            ("vi", "ầ", "â", true),
            ("vi", "ầ", "a", false),
            ("es", "ñ", "n", false),
        ] {
            let insensitive = collation(&format!("utf8mb4_{language}_0900_ai_ci"));
            assert_eq!(insensitive.equal(a.as_bytes(), b.as_bytes()), expected, "{language} {a} {b}");
            let sensitive = collation(&format!("utf8mb4_{language}_0900_as_cs"));
            assert!(!sensitive.equal(a.as_bytes(), b.as_bytes()), "{language} {a} {b}");
        }
    }
}
