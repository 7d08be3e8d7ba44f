//! Writes the weight tables of collations, `src/collation/tables/*.weights`, from files of the Unicode consortium and
//! from what a server reports about its own collations. `src/collation/table.rs` describes the layout.
//!
//! ```text
//! cargo run --example collation_tables -- DIRECTORY
//! ```
//!
//! The directory holds the sources:
//!
//! | file                | content                                                                               |
//! |---------------------|---------------------------------------------------------------------------------------|
//! | `allkeys-9.0.0.txt` | <https://www.unicode.org/Public/UCA/9.0.0/allkeys.txt>                                |
//! | `allkeys-5.2.0.txt` | <https://www.unicode.org/Public/UCA/5.2.0/allkeys.txt>                                |
//! | `unicode_ci.txt`    | on each line a code point and its weights under utf8mb4_unicode_ci, tab between, hexadecimal |
//! | `general_ci.txt`    | on each line a code point and its weight under utf8mb4_general_ci, in the same form    |
//! | `latin1.txt`        | on each line a byte (decimal), its weight under latin1_swedish_ci and its code point   |
//!
//! The last three come from a MySQL or MariaDB server, which defines these collations itself:
//!
//! ```text
//! SELECT HEX(n), HEX(WEIGHT_STRING(CONVERT(CHAR(n USING utf32) USING utf8mb4) COLLATE utf8mb4_general_ci))
//! SELECT n, HEX(WEIGHT_STRING(CONVERT(CHAR(n) USING latin1) COLLATE latin1_swedish_ci)),
//!        HEX(CONVERT(CONVERT(CHAR(n) USING latin1) USING ucs2))
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

/// The weights of each code point that has an entry.
type Weights = BTreeMap<u32, Vec<u16>>;

/// Table entries from this value up are indexes of expansions.
const EXPANSION: u16 = 0x8000;
const ABSENT: u16 = 0xffff;
const PAGE: usize = 256;
/// The most weights that a character has under the collations of UCA 5.2.0.
const MOST_WEIGHTS_520: usize = 8;
/// Weights of the first of the two collation elements that a character without an entry has.
const IMPLICIT: [(u16, u16); 6] =
    [(0xfb00, 1), (0xfb40, 1), (0xfb41, 1), (0xfb80, 1), (0xfb84, 2), (0xfbc0, 34)];
/// The weights of characters that a collation does not know, on the first two levels.
const REPLACEMENT: (u16, u16) = (0xfffd, 1);

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("the directory of the sources is missing")?;
    let read = |name: &str| std::fs::read_to_string(Path::new(&directory).join(name));
    let levels = allkeys(&read("allkeys-9.0.0.txt")?)?;
    for (weights, name) in levels.iter().zip(["uca900_1", "uca900_2", "uca900_3"]) {
        write(name, weights, if name == "uca900_1" { leads(weights) } else { Vec::new() })?;
    }
    let [mut uca520, ..] = allkeys(&read("allkeys-5.2.0.txt")?)?;
    uca520.values_mut().for_each(|weights| weights.truncate(MOST_WEIGHTS_520));
    write("uca520", &uca520, leads(&uca520))?;
    let mut uca400 = served(&read("unicode_ci.txt")?)?;
    // Characters without an entry have a computed pair of weights, or the weight of unknown characters.
    uca400.retain(|c, weights| {
        *c < 0x1_0000 && !matches!(weights[..], [0xfb40..=0xfbff, second] if (*c as u16) | 0x8000 == second)
    });
    write("uca400", &uca400, leads(&uca400))?;
    let mut general = served(&read("general_ci.txt")?)?;
    general.retain(|c, weights| *c < 0x1_0000 && *weights != [*c as u16]);
    write("general", &general, Vec::new())?;
    let (mut bytes, mut swedish) = (Weights::new(), Weights::new());
    for line in read("latin1.txt")?.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [byte, weight, code_point] = fields[..] else { return Err(line.into()) };
        let code_point = u32::from_str_radix(code_point, 16)?;
        bytes.insert(code_point, vec![byte.parse()?]);
        swedish.insert(code_point, vec![u16::from_str_radix(weight, 16)?]);
    }
    write("latin1", &bytes, Vec::new())?;
    write("latin1_swedish", &swedish, Vec::new())
}

/// Returns the weights of the three levels. Skips sequences of several code points, which MySQL's collations without
/// a language do not know.
fn allkeys(text: &str) -> Result<[Weights; 3], Box<dyn Error>> {
    let mut levels = [Weights::new(), Weights::new(), Weights::new()];
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((code_points, elements)) = line.split_once(';') else { continue };
        let Ok(code_point) = u32::from_str_radix(code_points.trim(), 16) else { continue };
        for (level, weights) in levels.iter_mut().enumerate() {
            let of_element = |element: &str| -> Result<u16, Box<dyn Error>> {
                let field = element.split('.').nth(level).ok_or(element)?;
                Ok(u16::from_str_radix(field, 16)?)
            };
            let list = elements.split(['[', ']']).map(|e| e.trim().trim_start_matches(['.', '*']));
            let list = list.filter(|e| !e.is_empty()).map(of_element).collect::<Result<Vec<_>, _>>()?;
            weights.insert(code_point, list.into_iter().filter(|w| *w != 0).collect());
        }
    }
    Ok(levels)
}

fn served(text: &str) -> Result<Weights, Box<dyn Error>> {
    let mut weights = Weights::new();
    for line in text.lines() {
        let (code_point, hex) = line.split_once('\t').ok_or(line)?;
        let list = (0..hex.len() / 4).map(|i| u16::from_str_radix(&hex[4 * i..4 * i + 4], 16));
        weights.insert(u32::from_str_radix(code_point, 16)?, list.collect::<Result<_, _>>()?);
    }
    Ok(weights)
}

/// Splits the weights into ranges, each given as its first weight and its length; a range takes one first byte of
/// keys. A weight of ASCII is a range of one and needs no second byte; the other ranges have up to 255 weights.
fn leads(weights: &Weights) -> Vec<(u16, u16)> {
    let single: BTreeSet<u16> = weights.range(..0x80).flat_map(|(_, w)| w).copied().collect();
    let least = weights.values().flatten().min().copied().unwrap_or_default();
    let last = weights.values().flatten().filter(|w| **w < EXPANSION).max().copied().unwrap_or_default();
    let mut ranges = Vec::new();
    let mut next = least;
    for stop in single.iter().copied().chain([last + 1]) {
        while next < stop {
            let count = (stop - next).min(255);
            ranges.push((next, count));
            next += count;
        }
        if stop <= last {
            ranges.push((stop, 1));
            next = stop + 1;
        }
    }
    ranges.extend(IMPLICIT);
    ranges.push(REPLACEMENT);
    ranges
}

/// Writes a table, in which equal pages are stored once.
fn write(name: &str, weights: &Weights, leads: Vec<(u16, u16)>) -> Result<(), Box<dyn Error>> {
    let mut expansions: Vec<&[u16]> = Vec::new();
    let mut numbers: BTreeMap<&[u16], u16> = BTreeMap::new();
    let mut entries: BTreeMap<u32, [u16; PAGE]> = BTreeMap::new();
    for (code_point, list) in weights {
        let entry = match list[..] {
            [] => 0,
            [only @ 1..EXPANSION] => only,
            _ => *numbers.entry(list).or_insert_with(|| {
                expansions.push(list);
                EXPANSION + expansions.len() as u16 - 1
            }),
        };
        let page = entries.entry(code_point >> 8).or_insert([ABSENT; PAGE]);
        page[(code_point & 0xff) as usize] = entry;
    }
    let last_page = entries.keys().next_back().copied().unwrap_or_default();
    let mut pages: Vec<[u16; PAGE]> = Vec::new();
    let mut index = Vec::new();
    for number in 0..=last_page {
        let page = entries.get(&number).copied().unwrap_or([ABSENT; PAGE]);
        let found = pages.iter().position(|p| *p == page).unwrap_or_else(|| {
            pages.push(page);
            pages.len() - 1
        });
        index.push(found as u16);
    }
    let total: usize = expansions.iter().map(|list| list.len()).sum();
    let mut words: Vec<u16> =
        [index.len(), pages.len(), expansions.len(), total, leads.len()].map(|n| n as u16).to_vec();
    words.extend(index);
    words.extend(pages.iter().flatten());
    let mut start = 0;
    words.push(0);
    for list in &expansions {
        start += list.len() as u16;
        words.push(start);
    }
    words.extend(expansions.iter().copied().flatten());
    words.extend(leads.iter().flat_map(|(first, count)| [*first, *count]));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = format!("{}/src/collation/tables/{name}.weights", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(&path, &bytes)?;
    println!(
        "{name}: {} bytes, {} pages, {} expansions, {} leads",
        bytes.len(),
        pages.len(),
        expansions.len(),
        leads.len()
    );
    Ok(())
}
