//! Tests that weights are those that MySQL documents, and that keys compare as strings do.

use std::cmp::Ordering;

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::Collation;
use crate::output::Output;
use crate::statement::CancelToken;
use crate::testing;

fn weight_string(collation: Collation, s: &[u8]) -> Vec<u8> {
    let cancel = CancelToken::new();
    let mut out = Output::new(usize::MAX, &cancel);
    collation.put_weight_string(s, &mut out).unwrap();
    out.as_bytes().to_vec()
}

fn hex(collation: Collation, s: &str) -> String {
    weight_string(collation, s.as_bytes()).iter().map(|b| format!("{b:02X}")).collect()
}

#[test]
fn weights_are_those_that_mysql_gives() {
    for (collation, s, expected) in [
        (Collation::Utf8mb4_0900AiCi, "aA áÅ", "1C471C4702091C471C47"),
        (Collation::Utf8mb4_0900AiCi, "ß", "1E711E71"),
        (Collation::Utf8mb4_0900AiCi, "\0\u{301}", ""),
        (Collation::Utf8mb4_0900AiCi, "中", "FB40CE2D"),
        (Collation::Utf8mb4_0900AiCi, "㐀", "FB80B400"),
        (Collation::Utf8mb4_0900AiCi, "\u{17000}", "FB008000"),
        (Collation::Utf8mb4_0900AiCi, "\u{20000}", "FB848000"),
        (Collation::Utf8mb4_0900AiCi, "\u{e000}", "FBC1E000"),
        (Collation::Utf8mb4_0900AiCi, "😀", "15FB"),
        (Collation::Utf8mb4_0900AsCi, "é", "1CAA000000200024"),
        (Collation::Utf8mb4_0900AsCs, "aÁ", "1C471C47000000200020002400000002 00080002"),
        (Collation::Utf8mb4UnicodeCi, "Aß", "0E330FEA0FEA"),
        (Collation::Utf8mb4UnicodeCi, "가", "FBC1AC00"),
        (Collation::Utf8mb4UnicodeCi, "😀", "FFFD"),
        (Collation::Utf8mb4Unicode520Ci, "😀", "FBC3F600"),
        (Collation::Utf8mb4Unicode520Ci, "\u{fdfa}", "18FC192B194F020A18AD192B192B193D"),
        (Collation::Utf8mb4GeneralCi, "aÄßé\0", "00410041005300450000"),
        (Collation::Utf8mb4GeneralCi, "😀", "FFFD"),
        (Collation::Latin1SwedishCi, "äaÜ€", "005C004100590080"),
        (Collation::Latin1Bin, "ä€", "00E40080"),
        (Collation::AsciiGeneralCi, "a", "0041"),
    ] {
        assert_eq!(hex(collation, s), expected.replace(' ', ""), "{collation}: {s:?}");
    }
    // Hangul syllables have the weights of their letters.
    assert_eq!(
        hex(Collation::Utf8mb4_0900AiCi, "각"),
        hex(Collation::Utf8mb4_0900AiCi, "\u{1100}\u{1161}\u{11a8}")
    );
    assert_eq!(hex(Collation::Utf8mb4_0900AsCs, "가"), hex(Collation::Utf8mb4_0900AsCs, "\u{1100}\u{1161}"));
}

#[test]
fn strings_compare_as_in_mysql() {
    use Ordering::{Equal, Greater, Less};
    for (collation, a, b, expected) in [
        (Collation::Utf8mb4_0900AiCi, "Straße", "strasse", Equal),
        (Collation::Utf8mb4_0900AiCi, "æ", "AE", Equal),
        (Collation::Utf8mb4_0900AiCi, "a", "a ", Less),
        (Collation::Utf8mb4_0900AiCi, "a\0b", "ab", Equal),
        (Collation::Utf8mb4_0900AiCi, "a-b", "ab", Less),
        (Collation::Utf8mb4_0900AiCi, "9", "a", Less),
        (Collation::Utf8mb4_0900AiCi, "か", "カ", Equal),
        (Collation::Utf8mb4_0900AiCi, "か", "が", Equal),
        (Collation::Utf8mb4_0900AsCi, "resume", "Résumé", Less),
        (Collation::Utf8mb4_0900AsCi, "résumé", "Résumé", Equal),
        (Collation::Utf8mb4_0900AsCs, "résumé", "Résumé", Less),
        (Collation::Utf8mb4_0900AsCs, "Resume", "résumé", Less),
        (Collation::Utf8mb4_0900AsCs, "résumé", "resumf", Less),
        (Collation::Utf8mb4UnicodeCi, "ß", "ss", Equal),
        (Collation::Utf8mb4UnicodeCi, "😀", "😁", Equal),
        (Collation::Utf8mb4UnicodeCi, "a", "A  ", Equal),
        (Collation::Utf8mb4Unicode520Ci, "😀", "😁", Less),
        (Collation::Utf8mb4GeneralCi, "ß", "s", Equal),
        (Collation::Utf8mb4GeneralCi, "ß", "ss", Less),
        (Collation::Utf8mb4GeneralCi, "ñ", "N", Equal),
        (Collation::Latin1SwedishCi, "z", "ä", Less),
        (Collation::Latin1SwedishCi, "ü", "y", Equal),
        (Collation::Latin1Bin, "à", "€", Greater),
    ] {
        assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), expected, "{collation}: {a:?} and {b:?}");
        assert_eq!(
            collation.compare(b.as_bytes(), a.as_bytes()),
            expected.reverse(),
            "{collation}: {b:?} and {a:?}"
        );
    }
}

/// Makes a string of characters with equal, no, several and implicit weights, and spaces.
fn tricky(rng: &mut rand::rngs::SmallRng, most: usize) -> String {
    const CHARACTERS: &[char] = &[
        'a',
        'A',
        'á',
        'b',
        'z',
        'Z',
        's',
        'ß',
        'æ',
        'e',
        ' ',
        ' ',
        '\t',
        '\0',
        '\u{7f}',
        '\u{301}',
        '!',
        '-',
        '0',
        '9',
        '中',
        '丁',
        '㐀',
        '가',
        '각',
        '\u{1100}',
        'か',
        'ガ',
        '\u{fdfa}',
        '😀',
        '😁',
        '\u{17000}',
        '\u{20000}',
        '\u{e000}',
        '\u{ffff}',
        '€',
        'ä',
        'Ü',
        'ÿ',
        'я',
        'Я',
        'ı',
        'İ',
    ];
    (0..rng.random_range(0..=most)).filter_map(|_| CHARACTERS.choose(rng)).collect()
}

/// Makes a string of characters with one weight each.
fn plain(rng: &mut impl Rng) -> String {
    let longest = *[0, 0, 9, 20].choose(rng).unwrap_or(&0);
    (0..rng.random_range(0..=longest)).map(|_| rng.random_range('0'..='z')).collect()
}

#[test]
fn keys_compare_as_strings_do() {
    let mut rng = testing::rng("weight_keys");
    let weighted: Vec<Collation> = Collation::ALL.into_iter().filter(|c| c.is_weighted()).collect();
    for _ in 0..testing::iterations(40_000) {
        let Some(&collation) = weighted.choose(&mut rng) else { return };
        // Runs of plain characters that are long enough are packed together.
        let run = plain(&mut rng);
        let mut string = || tricky(&mut rng, 3) + &run + &tricky(&mut rng, 3);
        let (a, b) = (string(), string());
        // No column holds a character that its character set lacks (`@` in swe7).
        if [&a, &b].iter().any(|s| collation.charset().first_foreign(s).is_some()) {
            continue;
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        collation.sort_key(a.as_bytes(), &mut x);
        collation.sort_key(b.as_bytes(), &mut y);
        let order = collation.compare(a.as_bytes(), b.as_bytes());
        assert_eq!(x.cmp(&y), order, "{collation}: {a:?} {x:x?} and {b:?} {y:x?}");
        assert_eq!(
            crate::collation::weights_len(&[&x[..], &y].concat(), 0),
            Some(x.len()),
            "{collation}: {a:?}"
        );
        let mut prefix = Vec::new();
        collation.append_weights_prefix(a.as_bytes(), &mut prefix);
        let mut longer = Vec::new();
        collation.sort_key(format!("{a}{b}").as_bytes(), &mut longer);
        assert!(longer.starts_with(&prefix), "{collation}: {a:?} and {b:?}");
        // Compares independently of the code under test: by weights, padded where the collation pads.
        if !collation.name().contains("_as_") {
            let pad = |s: &str, other: &str| {
                let (mut w, other) =
                    (weight_string(collation, s.as_bytes()), weight_string(collation, other.as_bytes()));
                if collation.pads_space() {
                    let space = weight_string(collation, b" ");
                    while w.len() < other.len() {
                        w.extend_from_slice(&space);
                    }
                }
                w
            };
            assert_eq!(pad(&a, &b).cmp(&pad(&b, &a)), order, "{collation}: {a:?} and {b:?}");
        }
    }
}

/// A key has room for 255 characters of any living script: keys take no more bytes than a column declares,
/// except for characters that stand for several.
#[test]
fn most_characters_take_no_more_bytes_in_a_key_than_declared() {
    let mut out = Vec::new();
    for c in ('\0'..=char::MAX).filter(|c| !matches!(*c, '\u{fdfa}')) {
        out.clear();
        Collation::Utf8mb4_0900AiCi.sort_key(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out);
        assert!(out.len() - 1 <= 16, "{c:?}: {out:x?}");
        out.clear();
        Collation::Utf8mb4GeneralCi.sort_key(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out);
        assert!(out.len() - 3 <= 4, "{c:?}: {out:x?}");
    }
}
