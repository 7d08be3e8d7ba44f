use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::domain::{ColumnRange, column_range, like_range};
use crate::testing::rng;
use crate::{CompareDomain, CompareOp, LikePattern};
use leafline_types::collation::Collation;
use leafline_types::key::{KeyPart, encode_part};
use leafline_types::value::{SqlType, Value};

/// Pieces with no, one or several weights: accents, ignorable characters, ligatures, Hangul as syllables and letters,
/// Han, spaces.
const PIECES: &[&str] = &[
    "a",
    "A",
    "b",
    "s",
    "S",
    "ss",
    "ß",
    "æ",
    "ae",
    "e",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{200d}",
    "\u{1}",
    " ",
    "  ",
    "\u{a0}",
    "\t",
    "0",
    "~",
    "漢",
    "字",
    "한",
    "\u{1112}\u{1161}\u{11ab}",
    "\u{1112}",
    "ﬃ",
    "㌀",
    "😀",
    "\u{fdfa}",
    "\0",
    "\u{3220}",
];
const OPS: [CompareOp; 7] = [
    CompareOp::Eq,
    CompareOp::NullSafeEq,
    CompareOp::Ne,
    CompareOp::Lt,
    CompareOp::Le,
    CompareOp::Gt,
    CompareOp::Ge,
];

fn text(rng: &mut SmallRng, collation: Collation) -> String {
    let pieces = rng.random_range(0..6);
    let text: String = (0..pieces).map(|_| *PIECES.choose(rng).unwrap()).collect();
    collation.charset().replace_foreign(&text)
}

/// Makes a string that is close to `s`: equal to it but spelled differently, or different at the end.
fn near(rng: &mut SmallRng, s: &str, collation: Collation) -> String {
    let changed = match rng.random_range(0..7) {
        0 => s.replace("ss", "ß"),
        1 => s.replace('ß', "ss"),
        2 => s.replace('a', "\u{200d}A"),
        3 => format!("{s}{}", PIECES.choose(rng).unwrap()),
        4 => format!("{s}      {}", PIECES.choose(rng).unwrap()),
        5 => s.chars().take(s.chars().count().saturating_sub(1)).collect(),
        _ => s.to_owned(),
    };
    collation.charset().replace_foreign(&changed)
}

fn value(s: &str, collation: Collation) -> Value {
    if collation == Collation::Binary { Value::bytes(s.as_bytes()) } else { Value::from(s) }
}

fn part(rng: &mut SmallRng, collation: Collation) -> KeyPart {
    let ty = match collation {
        Collation::Binary => SqlType::Varbinary { len: 100 },
        _ => SqlType::Varchar { len: 100 },
    };
    let prefix = Some(rng.random_range(1..6));
    KeyPart { ty, collation, nullable: rng.random(), descending: rng.random(), prefix }
}

fn matches(op: CompareOp, order: std::cmp::Ordering) -> bool {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    }
}

#[test]
fn matching_keys_lie_in_the_ranges() {
    let mut rng = rng("matching_keys_lie_in_the_ranges");
    let mut inside = 0;
    for round in 0..60_000 {
        let collation = Collation::ALL[round % Collation::ALL.len()];
        let part = part(&mut rng, collation);
        let constant = text(&mut rng, collation);
        let s = if rng.random() { near(&mut rng, &constant, collation) } else { text(&mut rng, collation) };
        let mut key = Vec::new();
        encode_part(&part, &value(&s, collation), &mut key).unwrap();
        let order = collation.compare(s.as_bytes(), constant.as_bytes());
        let domain = CompareDomain::String(collation);
        let what = || format!("{s:?} {constant:?} {part:?}");
        for op in OPS.into_iter().filter(|op| matches(*op, order)) {
            match column_range(&part, op, &value(&constant, collation), domain) {
                ColumnRange::Ranges(ranges) => {
                    assert!(ranges.iter().any(|range| range.contains(&key)), "{op:?} {}", what());
                    inside += 1;
                }
                ColumnRange::AllNonNull => {}
                other => panic!("{other:?} {op:?} {}", what()),
            }
        }
        let like: String = constant.chars().filter(|c| !"%_\\".contains(*c)).collect();
        for pattern in [like.clone(), format!("{like}%")] {
            let pattern = LikePattern::new(pattern.as_bytes(), Some('\\'), collation);
            let Some((range, _)) = like_range(&part, &pattern, collation) else { continue };
            if pattern.matches(s.as_bytes()) {
                assert!(range.contains(&key), "LIKE {}", what());
                inside += 1;
            }
        }
    }
    assert!(inside > 60_000, "{inside}");
}

/// For a constant shorter than the prefix, the ranges hold nothing else, except for runs of spaces.
#[test]
fn short_constants_are_found_exactly() {
    for collation in [Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4_0900Bin, Collation::Utf8mb4_0900AsCs] {
        let ty = SqlType::Varchar { len: 100 };
        let part = KeyPart { ty, collation, nullable: true, descending: false, prefix: Some(4) };
        let key = |s: &str| {
            let mut key = Vec::new();
            encode_part(&part, &Value::from(s), &mut key).unwrap();
            key
        };
        let range = |constant: &str| match column_range(
            &part,
            CompareOp::Eq,
            &Value::from(constant),
            CompareDomain::String(collation),
        ) {
            ColumnRange::Ranges(mut ranges) if ranges.len() == 1 => ranges.remove(0),
            other => panic!("{other:?}"),
        };
        assert!(range("abc").is_point());
        assert!(range("abc").contains(&key("abc")));
        assert!(!range("abc").contains(&key("abcd")) && !range("abc").contains(&key("ab")));
        assert!(!range("abcd").is_point());
        assert!(range("abcde").contains(&key("abcdxyz")));
        assert!(!range("abcde").contains(&key("abce")));
        assert_eq!(key("abcde"), key("abcdx"));
    }
}

#[test]
fn characters_without_weight_are_not_counted() {
    let beginning = |collation: Collation, s: &'static str, n| {
        std::str::from_utf8(collation.beginning(s.as_bytes(), n)).unwrap()
    };
    for collation in [Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4UnicodeCi] {
        assert_eq!(beginning(collation, "e\u{301}e\u{301}x", 2), "e\u{301}e\u{301}");
        assert_eq!(beginning(collation, "\u{1}ab", 1), "\u{1}a");
    }
    assert_eq!(beginning(Collation::Utf8mb4Bin, "e\u{301}x", 2), "e\u{301}");
    assert_eq!(beginning(Collation::Utf8mb4GeneralCi, "e\u{301}x", 1), "e");
    assert_eq!(beginning(Collation::Utf8mb4_0900Bin, "äöü", 2), "äö");
    assert_eq!(Collation::Binary.beginning("äö".as_bytes(), 3), &"äö".as_bytes()[..3]);
    assert_eq!(beginning(Collation::Utf8mb4_0900AiCi, "", 3), "");
}
