//! Writes `src/collation/tables/charsets.deflate`: the code points of character sets and the weights of their
//! collations, as a MariaDB server reports them. `src/collation/codes.rs` reads the file and describes its layout.
//!
//! ```text
//! cargo run --example charset_tables -- DIRECTORY
//! ```
//!
//! The directory holds the answers of MariaDB 10.11 to SQL queries, with tabs between fields and numbers in
//! hexadecimal:
//!
//! | file           | each line holds                                           | query                                                           |
//! |----------------|-----------------------------------------------------------|-----------------------------------------------------------------|
//! | `codes.txt`    | character set, code, code point                           | `HEX(CONVERT(CHAR(n USING koi8r) USING utf32))`                 |
//! | `reverse.txt`  | character set, code point, the code it encodes to; only where that is not the lowest code in the form of tables, or no code decodes to it | `HEX(CONVERT(CONVERT(UNHEX(..) USING utf32) USING koi8r))` |
//! | `weights.txt`  | collation, code, weight                                   | `HEX(WEIGHT_STRING(CHAR(n USING koi8r) COLLATE koi8r_general_ci))` |
//! | `tailored.txt` | language, code point (or two, with a space between), weight; only where the weight differs from `unicode_ci` (two weights for two code points) | `HEX(WEIGHT_STRING(CONVERT(UNHEX(..) USING utf32) .. COLLATE utf8mb4_czech_ci))` |

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

type Anything<T> = Result<T, Box<dyn Error>>;
/// Maps each code, in the form that tables have, to its code point.
type Codes = BTreeMap<u16, u16>;

/// Collations whose rules need more than one weight for each character; no table holds them.
const LEFT_OUT: &[&str] = &["latin2_czech_cs", "cp1250_czech_cs", "tis620_thai_ci"];
/// The code point that a server gives for a code without a character.
const REPLACEMENT: u32 = 0xfffd;
const CHARSET: u8 = 0;
const COLLATION: u8 = 1;
const TAILORING: u8 = 2;

fn main() -> Anything<()> {
    let directory = std::env::args().nth(1).ok_or("the directory of the sources is missing")?;
    let read = |name: &str| std::fs::read_to_string(Path::new(&directory).join(name));
    let mut sets: BTreeMap<String, Codes> = BTreeMap::new();
    for fields in lines(&read("codes.txt")?)? {
        if fields.2 != REPLACEMENT {
            sets.entry(fields.0).or_default().insert(code(fields.1), u16::try_from(fields.2)?);
        }
    }
    let mut preferred: BTreeMap<String, Vec<(u16, u16)>> = BTreeMap::new();
    for (set, code_point, wanted) in lines(&read("reverse.txt")?)? {
        if code_point != REPLACEMENT {
            preferred.entry(set).or_default().push((u16::try_from(code_point)?, code(wanted)));
        }
    }
    let mut out = Vec::new();
    for (name, codes) in &sets {
        let preferred = preferred.get(name).map_or(&[][..], Vec::as_slice);
        put(&mut out, CHARSET, name, &of_charset(codes, preferred));
    }
    let mut weights: BTreeMap<String, BTreeMap<u16, Vec<u16>>> = BTreeMap::new();
    for line in read("weights.txt")?.lines() {
        let mut fields = line.split('\t').map(str::to_owned);
        let (Some(name), Some(of), Some(hex)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(line.into());
        };
        let of = u32::from_str_radix(&of, 16)?;
        let width = if of > 0xff { hex.len() } else { 2 };
        let list =
            (0..hex.len() / width).map(|at| u32::from_str_radix(&hex[width * at..width * (at + 1)], 16));
        let list = list.map(|w| Ok(code(w?))).collect::<Anything<_>>()?;
        weights.entry(name).or_default().insert(code(of), list);
    }
    for (name, weights) in weights.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        let set = name.split('_').next().unwrap_or_default();
        let codes = sets.get(set).ok_or(set)?;
        put(&mut out, COLLATION, name, &of_collation(codes, weights)?);
    }
    for (name, words) in tailorings(&read("tailored.txt")?)? {
        put(&mut out, TAILORING, &name, &words);
    }
    let packed = miniz_oxide::deflate::compress_to_vec(&out, 10);
    let path = format!("{}/src/collation/tables/charsets.deflate", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(&path, &packed)?;
    println!("{} bytes, {} packed", out.len(), packed.len());
    Ok(())
}

/// Returns the words of each language's tailoring, by language.
fn tailorings(text: &str) -> Anything<BTreeMap<String, Vec<u16>>> {
    let mut of_languages: BTreeMap<String, [Vec<Vec<u16>>; 2]> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, code_points, hex] = fields[..] else { return Err(line.into()) };
        let mut words = Vec::new();
        for code_point in code_points.split(' ') {
            words.push(u16::from_str_radix(code_point, 16)?);
        }
        let is_pair = words.len() == 2;
        let weights = (0..hex.len() / 4).map(|at| u16::from_str_radix(&hex[4 * at..4 * at + 4], 16));
        let weights = weights.collect::<Result<Vec<_>, _>>()?;
        if !is_pair {
            words.push(weights.len() as u16);
        }
        words.extend(weights);
        // MariaDB calls these languages by a MySQL version; MySQL does not.
        let [characters, pairs] = of_languages.entry(name.replace("_mysql561", "")).or_default();
        if is_pair { pairs } else { characters }.push(words);
    }
    let words = of_languages.into_iter().map(|(name, [characters, pairs])| {
        let count = characters.len() as u16;
        (name, std::iter::once(count).chain(characters.into_iter().chain(pairs).flatten()).collect())
    });
    Ok(words.collect())
}

fn lines(text: &str) -> Anything<Vec<(String, u32, u32)>> {
    let mut all = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, a, b] = fields[..] else { return Err(line.into()) };
        all.push((name.to_owned(), u32::from_str_radix(a, 16)?, u32::from_str_radix(b, 16)?));
    }
    Ok(all)
}

/// Packs a code of up to three bytes into 16 bits. Of a three-byte EUC code the lead byte and the highest bits of the
/// other two are dropped.
fn code(bytes: u32) -> u16 {
    if bytes > 0xffff { (bytes & 0x7f7f) as u16 } else { bytes as u16 }
}

fn put(out: &mut Vec<u8>, kind: u8, name: &str, words: &[u16]) {
    out.extend_from_slice(&[kind, name.len() as u8]);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(&(words.len() as u32).to_le_bytes());
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn of_charset(codes: &Codes, preferred: &[(u16, u16)]) -> Vec<u16> {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for code in codes.keys().copied() {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == code => *count += 1,
            _ => runs.push((code, 1)),
        }
    }
    let mut words = vec![runs.len() as u16, preferred.len() as u16];
    words.extend(runs.iter().chain(preferred).flat_map(|(a, b)| [*a, *b]));
    words.extend(differences(codes.values().copied()));
    words
}

fn of_collation(codes: &Codes, weights: &BTreeMap<u16, Vec<u16>>) -> Anything<Vec<u16>> {
    let several: Vec<(&u16, &Vec<u16>)> = weights.iter().filter(|(_, list)| list.len() > 1).collect();
    let mut words = vec![several.len() as u16];
    for (code, list) in several {
        let [first, second] = list[..] else { return Err("more than two weights".into()) };
        words.extend([*code, first, second]);
    }
    words.extend((0..0x100).map(|code| weights.get(&code).map_or(code, |list| list[0])));
    let longer = codes.keys().filter(|code| **code > 0xff);
    let longer: Vec<(u16, u16)> =
        longer.map(|code| (*code, weights.get(code).map_or(*code, |list| list[0]))).collect();
    if longer.iter().any(|(code, w)| code != w) {
        words.extend(differences(longer.iter().map(|(_, w)| *w)));
    }
    Ok(words)
}

fn differences(words: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut before = 0;
    words.map(|word| word.wrapping_sub(std::mem::replace(&mut before, word))).collect()
}
