//! Tests that strings are restored from keys and differences, that differences are short and follow the format, and
//! that bad bytes are errors.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use super::write::append_difference;
use super::*;
use crate::collation::{Collation, WITH_DIFFERENCES};
use crate::error::CodecError;
use crate::key::encode_part;
use crate::testing;
use crate::value::Value;

/// Returns the collations whose keys do not determine strings.
fn collations() -> impl Iterator<Item = Collation> {
    WITH_DIFFERENCES.into_iter().filter(|collation| !collation.equal_is_same())
}

fn part(collation: Collation, descending: bool) -> KeyPart {
    KeyPart { ty: SqlType::Varchar { len: 16_000 }, collation, nullable: false, descending, prefix: None }
}

fn difference(collation: Collation, s: &str) -> Vec<u8> {
    let mut difference = Vec::new();
    append_difference(&part(collation, false), &Value::from(s), &mut difference).unwrap();
    difference
}

/// Checks that a string is restored.
fn check(collation: Collation, s: &str, descending: bool) {
    let part = part(collation, descending);
    let (mut key, difference) = (Vec::new(), difference(collation, s));
    encode_part(&part, &Value::from(s), &mut key).unwrap();
    assert!(difference.len() <= s.len() + 1, "{collation} {s:?}: {difference:02x?}");
    let len = key.len();
    key.extend_from_slice(&[7, 0, 7]);
    let mut text = b"before".to_vec();
    let found = restore_text(&part, &key, &difference, &mut text);
    assert_eq!(found, Ok(len), "{collation} {s:?}: {key:02x?} {difference:02x?}");
    let text = std::str::from_utf8(&text).unwrap();
    assert_eq!(text.strip_prefix("before"), Some(s), "{collation}: {key:02x?} {difference:02x?}");
    assert_eq!(verify(&part, &key, &difference), Ok(len), "{collation} {s:?}");
}

/// Characters of every kind: ignored, expanded, composed, implicit, cased, with equal weights, and several spaces.
const TRICKY: &[char] = &[
    'a',
    'A',
    'á',
    'Á',
    'b',
    'Z',
    's',
    'ß',
    'æ',
    'ﬁ',
    ' ',
    ' ',
    '\u{a0}',
    '\u{3000}',
    '\t',
    '\0',
    '\u{1}',
    '\u{7f}',
    '\u{301}',
    '\u{200d}',
    '\u{fe0f}',
    '!',
    '-',
    '\'',
    '0',
    '９',
    '中',
    '㐀',
    '𠀀',
    '𗀀',
    '가',
    '각',
    '힣',
    '\u{1100}',
    '\u{1161}',
    '\u{11a8}',
    'か',
    'カ',
    'が',
    'ｶ',
    'っ',
    'м',
    'М',
    'ё',
    'ς',
    'Σ',
    '\u{fdfa}',
    '¨',
    '\u{e000}',
    '\u{ffff}',
    '😀',
    '👨',
    '\u{10ffff}',
    '[',
    'Ä',
    'ä',
    '\\',
    'đ',
    'ı',
    'İ',
    '\u{d7a4}',
    '\u{d7af}',
    '豈',
    '\u{fffd}',
    '\u{fefd}',
];

fn text(rng: &mut SmallRng) -> String {
    let most = if rng.random_ratio(1, 8) { 200 } else { 20 };
    let len = rng.random_range(0..most);
    let kind = rng.random_range(0..7);
    let character = |rng: &mut SmallRng| match kind {
        0 => *TRICKY.choose(rng).unwrap(),
        1 => rng.random::<char>(),
        2 => char::from_u32(rng.random_range(0..0xd800)).unwrap(),
        3 => char::from(rng.random_range(b' '..0x7f)),
        4 => *b"abcdefghijklmnopqrstuvwxyzABCDEF -_".choose(rng).unwrap() as char,
        5 => *['б', 'Б', 'в', 'я', 'Я', ' ', 'и'].choose(rng).unwrap(),
        _ => *b"SMITHsmith  'O".choose(rng).unwrap() as char,
    };
    let mut text: String = (0..len).map(|_| character(rng)).collect();
    if rng.random_ratio(1, 4) {
        let most = if rng.random_ratio(1, 8) { 400 } else { 4 };
        text.extend(std::iter::repeat_n(' ', rng.random_range(0..most)));
    }
    text
}

#[test]
fn strings_come_back_from_key_and_difference() {
    let mut rng = testing::rng("strings_come_back_from_key_and_difference");
    for _ in 0..testing::iterations(4_000) {
        let text = text(&mut rng);
        collations().for_each(|collation| check(collation, &text, rng.random()));
    }
}

/// Tests each character alone, between letters, and before characters it may combine with.
#[test]
fn every_character_comes_back() {
    for code_point in
        (0..0x11_0000).filter(|c| *c < 0x3_2000 || c % 0x1f7 == 0 || (0xe_0000..0xe_0200).contains(c))
    {
        let Some(character) = char::from_u32(code_point) else { continue };
        let texts = [character.to_string(), format!("a{character} "), format!("{character}\u{1161}")];
        for collation in collations() {
            texts.iter().for_each(|text| check(collation, text, false));
        }
    }
}

#[test]
fn differences_are_as_the_format_says() {
    let cases: &[(Collation, &str, &[u8])] = &[
        (Collation::Utf8mb4_0900AiCi, "", &[]),
        (Collation::Utf8mb4_0900AiCi, "3f2504e0-4f89-11d3-9a0c-0305e82c3301", &[]),
        (Collation::Utf8mb4_0900AiCi, "3F2504E0-4F89-11D3-9A0C-0305E82C3301", &[2]),
        (Collation::Utf8mb4_0900AiCi, "smith & co. ", &[]),
        (Collation::Utf8mb4_0900AiCi, "Smith", &[1]),
        (Collation::Utf8mb4_0900AiCi, "Anne-Marie O'neil", &[3]),
        (Collation::Utf8mb4_0900AiCi, "McDonald", &[1, 2]),
        (Collation::Utf8mb4_0900AiCi, "the old McDonald", &[0, 8, 1]),
        (Collation::Utf8mb4_0900AiCi, "dQw4w9WgXcQ", &[4, 2, 0x52, 1]),
        (Collation::Utf8mb4_0900AiCi, "A tale of 2 cities in Paris", &[1, 0x16]),
        (Collation::Utf8mb4_0900AiCi, "naïve", &[0, 0x42, 0xc3, 0xaf]),
        (Collation::Utf8mb4_0900AiCi, "Éric Blanc", &[3, 0x40, 0xc3, 0x89]),
        (Collation::Utf8mb4_0900AiCi, "e\u{301}", &[0, 0x81, 0xcc, 0x81]),
        (Collation::Utf8mb4_0900AiCi, "straße", &[0, 0xc4, 2, 2, 0xc3, 0x9f]),
        (Collation::Utf8mb4_0900AiCi, "москва", &[]),
        (Collation::Utf8mb4_0900AiCi, "Москва", &[1]),
        (Collation::Utf8mb4_0900AiCi, "МОСКВА", &[2]),
        (Collation::Utf8mb4_0900AiCi, "서울", &[]),
        (Collation::Utf8mb4_0900AiCi, "東京", &[]),
        (Collation::Utf8mb4_0900AiCi, "とり", &[]),
        (Collation::Utf8mb4_0900AiCi, "トリ", &[2]),
        (Collation::Utf8mb4_0900AiCi, "😀", &[]),
        (Collation::Utf8mb4_0900AiCi, "é", &[5, 0xc3, 0xa9]),
        (Collation::Utf8mb4_0900AsCs, "Smith", &[1]),
        (Collation::Utf8mb4GeneralCi, "smith  ", &[2 << 3]),
        (Collation::Utf8mb4GeneralCi, "SMITH  ", &[2 | 2 << 3]),
        (Collation::Utf8mb4GeneralCi, "a\u{a0} ", &[1 << 3]),
        (Collation::Utf8mb4UnicodeCi, "a\u{a0} ", &[1 << 3, 0x81, 0xc2, 0xa0]),
        (Collation::Utf8mb4Bin, "Smith", &[]),
        (Collation::Utf8mb4Bin, "Smith ", &[1 << 3]),
        (Collation::Latin1Bin, "SMITH Ä", &[]),
    ];
    for (collation, s, expected) in cases {
        assert_eq!(difference(*collation, s), *expected, "{collation} {s:?}");
        check(*collation, s, true);
    }
    let spaces = |count| difference(Collation::Utf8mb4Bin, &format!("a{}", " ".repeat(count)));
    assert_eq!(
        (spaces(30), spaces(31), spaces(200)),
        (vec![30 << 3], vec![31 << 3, 0], vec![31 << 3, 0x80, 41])
    );
    let part = KeyPart::new(SqlType::Double);
    for (number, expected) in [(1.5, &[][..]), (0.0, &[]), (-0.0, &[1])] {
        let (mut key, mut written) = (Vec::new(), Vec::new());
        encode_part(&part, &Value::Double(number), &mut key).unwrap();
        append_difference(&part, &Value::Double(number), &mut written).unwrap();
        assert_eq!(written, expected);
        assert!(verify(&part, &key, &written).is_ok());
    }
}

/// CHECK TABLE compares differences: changing them requires a new version of the file format.
#[test]
fn differences_keep_their_hash() {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take = |bytes: &[u8]| {
        // FNV-1a.
        for byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let characters: Vec<char> = (0..0x2_0000).filter_map(char::from_u32).collect();
    for collation in collations() {
        for some in characters.chunks(7).chain(TRICKY.chunks(3)) {
            let text: String = some.iter().collect();
            take(&difference(collation, &text));
            take(&difference(collation, &format!("Some text, {text} ")));
        }
    }
    assert_eq!(hash, 0x771a_984a_7a50_4733, "{hash:#x}");
}

/// The precomputed forms of ASCII agree with the tables.
#[test]
fn ascii_has_the_forms_that_the_tables_say() {
    for collation in collations() {
        for c in b'!'..0x7f {
            let lower = char::from(c).to_ascii_lowercase().to_string();
            let is_cased = collation.is_weighted() && collation != Collation::Latin1Bin;
            let expected: &[u8] = if is_cased && c.is_ascii_uppercase() { &[1] } else { &[] };
            assert_eq!(difference(collation, &char::from(c).to_string()), expected, "{collation} {c:#x}");
            // A string that is not all ASCII takes the path of the tables.
            let beside = difference(collation, &format!("{}漢", char::from(c)));
            let plain = difference(collation, "漢");
            if plain.is_empty() {
                assert_eq!(beside, expected, "{collation} {c:#x}");
            }
            check(collation, &format!("{lower}{}漢", char::from(c)), false);
        }
    }
}

#[test]
fn bad_bytes_are_errors() {
    let mut rng = testing::rng("bad_bytes_are_errors");
    let most = |key: &[u8], difference: &[u8]| 4 * key.len() + difference.len() + MOST + MORE_SPACES;
    for _ in 0..testing::iterations(20_000) {
        let collation = collations().nth(rng.random_range(0..collations().count())).unwrap();
        let part = part(collation, rng.random());
        let (text, other) = (text(&mut rng), text(&mut rng));
        let (mut key, mut difference) = (Vec::new(), difference(collation, &other));
        encode_part(&part, &Value::string(text), &mut key).unwrap();
        for bytes in [&mut key, &mut difference] {
            match rng.random_range(0..4) {
                0 => *bytes = testing::bytes(&mut rng, 30),
                1 => bytes.truncate(rng.random_range(0..=bytes.len())),
                2 if !bytes.is_empty() => {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] = rng.random();
                }
                _ => {}
            }
        }
        let mut out = Vec::new();
        match restore_text(&part, &key, &difference, &mut out) {
            Ok(len) => {
                assert!(len <= key.len() && std::str::from_utf8(&out).is_ok());
                assert!(out.len() <= most(&key, &difference));
            }
            Err(error) => {
                assert!(matches!(error, CodecError::Malformed { .. } | CodecError::Truncated { .. }))
            }
        }
        let _ = verify(&part, &key, &difference);
        let count = rng.random_range(1..4);
        for number in 0..count {
            let _ = difference_of(&difference, number, count);
        }
    }
}

#[test]
fn payloads_have_the_differences_of_their_parts() {
    let mut rng = testing::rng("payloads_have_the_differences_of_their_parts");
    for _ in 0..testing::iterations(500) {
        let count = rng.random_range(1..5);
        let parts: Vec<KeyPart> = (0..count)
            .map(|_| KeyPart { nullable: true, ..part(Collation::DEFAULT, rng.random()) })
            .collect();
        let values: Vec<Value> = (0..count)
            .map(|_| match rng.random_range(0..4) {
                0 => Value::Null,
                1 => Value::from("plain"),
                _ => Value::string(text(&mut rng)),
            })
            .collect();
        let mut payload = Vec::new();
        append_differences(parts.iter().zip(&values), &mut payload).unwrap();
        for (number, (part, value)) in parts.iter().zip(&values).enumerate() {
            let (mut key, mut expected) = (Vec::new(), Vec::new());
            encode_part(part, value, &mut key).unwrap();
            append_difference(part, value, &mut expected).unwrap();
            let found = difference_of(&payload, number, count).unwrap();
            assert_eq!(found, expected);
            assert_eq!(verify(part, &key, found), Ok(key.len()));
        }
        if values.iter().all(|value| matches!(value, Value::Null) || *value == Value::from("plain")) {
            assert!(payload.is_empty());
        }
    }
    assert!(Collation::ALL.iter().all(|collation| {
        has_difference(&part(*collation, false))
            == (WITH_DIFFERENCES.contains(collation) && !collation.equal_is_same())
    }));
}
