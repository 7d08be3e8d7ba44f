//! Tests of tokenizers, queries and ranking. The expected rankings are those of MariaDB 10.11 for the same documents.

use crate::tokens::{ngrams, words};
use crate::*;
use leafline_types::Collation;
use std::collections::BTreeMap;

const WORDS: WordParser = WordParser::Words { min: 3, max: 84 };

fn rules() -> WordRules {
    WordRules::new(WORDS, Collation::from_name("utf8mb4_0900_ai_ci").unwrap(), Stopwords::Default)
}

fn query(text: &str, mode: MatchMode) -> Query {
    Query::new(text, mode, &rules()).unwrap()
}

/// The seed of a random test, which it prints.
fn seed() -> u64 {
    use rand::{Rng, SeedableRng};
    let seed = std::env::var("LEAFLINE_SEED")
        .map_or_else(|_| rand::rngs::SmallRng::from_os_rng().random(), |seed| seed.parse::<u64>().unwrap());
    println!("LEAFLINE_SEED={seed}");
    seed
}

/// Ranks each of some documents, each of several columns.
fn ranked(query: &Query, documents: &[&[&str]]) -> Vec<f32> {
    let found: Vec<Found> = documents.iter().map(|columns| query.find(columns.iter().copied())).collect();
    let mut statistics = Statistics::new(query);
    found.iter().for_each(|found| statistics.add(query, found));
    let statistics = Statistics::decode(&statistics.encode(), query).unwrap();
    let frequencies = statistics.frequencies(query);
    found.iter().map(|found| query.rank(found, &frequencies)).collect()
}

const DOCUMENTS: &[&[&str]] = &[
    &["the quick brown fox", "jumps over"],
    &["lazy dog quick", "don't stop"],
    &["apple banana", ""],
    &["", "quick apple pie"],
    &["foo bar", "baz foo foo"],
];

fn boolean(text: &str) -> Vec<usize> {
    let ranks = ranked(&query(text, MatchMode::Boolean), DOCUMENTS);
    (1..).zip(ranks).filter(|(_, rank)| *rank != 0.0).map(|(id, _)| id).collect()
}

/// Compiles a query; with expansion it has the words of the documents that it finds.
fn expanded(text: &str, mode: MatchMode) -> Query {
    let mut query = query(text, mode);
    if mode != MatchMode::Expanded {
        return query;
    }
    let mut more = BTreeMap::new();
    for columns in DOCUMENTS {
        let found = query.find(columns.iter().copied());
        if query.accepts(&found) {
            query.for_each_other_word(&found, columns.iter().copied(), &mut |key, word| {
                more.insert(Box::<[u8]>::from(key), word);
            });
        }
    }
    query.expand(more.into_values());
    query
}

#[test]
fn words_are_letters_digits_marks_and_underscores() {
    let found: Vec<&str> = words("Don't stop_1, naïve \u{65}\u{301}t\u{e9} 日本語 a-b").collect();
    assert_eq!(found, ["Don", "t", "stop_1", "naïve", "e\u{301}té", "日本語", "a", "b"]);
}

#[test]
fn words_are_the_runs_of_word_characters_of_any_text() {
    use rand::{Rng, SeedableRng};
    let mut rng = rand::rngs::SmallRng::seed_from_u64(seed());
    for _ in 0..20_000 {
        let character = |rng: &mut rand::rngs::SmallRng| match rng.random_range(0..4) {
            0 => rng.random_range('\0'..='\u{7f}'),
            1 => rng.random(),
            2 => ['é', '\u{301}', '語', '、', '\u{a0}', '\u{1f600}'][rng.random_range(0..6)],
            _ => rng.random_range('a'..='z'),
        };
        let text: String = (0..rng.random_range(0..24)).map(|_| character(&mut rng)).collect();
        let runs = text.split(|c| !tokens::is_word_character(c)).filter(|word| !word.is_empty());
        assert_eq!(words(&text).collect::<Vec<_>>(), runs.collect::<Vec<_>>(), "{text:?}");
    }
}

/// The entries of a document as the module of entries describes them, made word by word.
fn described(rules: &WordRules, columns: &[Option<&str>]) -> Vec<(Vec<u8>, Weight, Vec<u8>)> {
    fn varint(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
    let (mut words, mut number) = (BTreeMap::<Vec<u8>, Vec<u64>>::new(), 0);
    for (column, text) in columns.iter().enumerate() {
        rules.for_each_token(text.unwrap_or_default(), &mut |token| {
            number += 1;
            let key = rules.key(token, &mut Vec::new()).to_vec();
            if rules.is_indexed(token, &key) {
                words.entry(key).or_default().push(number * columns.len() as u64 + column as u64);
            }
        });
    }
    let entry = |(key, places): (Vec<u8>, Vec<u64>)| {
        let (mut payload, mut positions, mut last) = (Vec::new(), Vec::new(), 0);
        for place in &places {
            varint(place - last, &mut positions);
            last = *place;
        }
        if places.len() >= 17 {
            varint(places.len() as u64, &mut payload);
        }
        if positions.len() <= entries::MAX_POSITION_BYTES {
            payload.extend(positions);
        }
        (key, Weight::of(places.len() as u32), payload)
    };
    words.into_iter().map(entry).collect()
}

#[test]
fn entries_of_documents_that_share_buffers_are_those_described() {
    use rand::{Rng, SeedableRng};
    let mut rng = rand::rngs::SmallRng::seed_from_u64(seed());
    let collations = [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_general_ci",
        "utf8mb4_bin",
        "utf8mb4_0900_as_cs",
        "latin1_swedish_ci",
    ];
    let mut made = DocumentWords::default();
    for round in 0..400 {
        let parser = if round % 4 == 0 { WordParser::Ngram(2) } else { WORDS };
        let collation = Collation::from_name(collations[rng.random_range(0..collations.len())]).unwrap();
        let rules = WordRules::new(parser, collation, Stopwords::Default);
        let most = [3, 40, 40, 400, 30_000][if round % 40 == 1 { 4 } else { rng.random_range(0..4) }];
        let letters = rng.random_range(1..6);
        let text = |rng: &mut rand::rngs::SmallRng| {
            let mut text = String::new();
            for _ in 0..rng.random_range(0..most) {
                match rng.random_range(0..20) {
                    0 => text.push_str("The "),
                    1 => text.push('é'),
                    2..7 => text.push(' '),
                    _ => text.push(char::from(b'a' + rng.random_range(0..letters))),
                }
            }
            text
        };
        let columns: Vec<String> = (0..rng.random_range(1..4)).map(|_| text(&mut rng)).collect();
        let columns: Vec<Option<&str>> =
            columns.iter().map(|text| Some(text.as_str()).filter(|text| !text.is_empty())).collect();
        let mut found = Vec::new();
        let add: Result<(), ()> = made.for_each_entry(&rules, &columns, &mut |entry| {
            found.extend(entry.word.map(|word| (word.to_vec(), entry.weight, entry.payload.to_vec())));
            Ok(())
        });
        add.unwrap();
        assert_eq!(found, described(&rules, &columns), "round {round}");
    }
}

#[test]
fn ngrams_stay_within_words_of_ascii() {
    assert_eq!(ngrams("ab, cde x", 2).collect::<Vec<_>>(), ["ab", "cd", "de"]);
    assert_eq!(ngrams("データ、x", 2).collect::<Vec<_>>(), ["デー", "ータ", "タ、", "、x"]);
}

#[test]
fn rankings_are_those_of_innodb() {
    let cases = [
        ("+quick ~fox", MatchMode::Boolean, [0.0492168665, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("+quick >fox", MatchMode::Boolean, [1.53777587, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("quick ~fox", MatchMode::Boolean, [-0.462224066, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("~fox quick", MatchMode::Boolean, [0.0492168665, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("-apple (quick fox)", MatchMode::Boolean, [0.537775934, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        (
            "+quick (apple fox)",
            MatchMode::Boolean,
            [0.537775934, 0.0492168665, 0.158356249, 0.207573116, 0.0],
        ),
        ("+quick +(apple fox)", MatchMode::Boolean, [0.537775934, 0.0, 0.0, 0.207573116, 0.0]),
        ("-don&t quick", MatchMode::Boolean, [0.0492168665, 0.0, 0.0, 0.0492168665, 0.0]),
        ("quick -don&stop", MatchMode::Boolean, [0.0492168665, 0.0, 0.0, 0.0492168665, 0.0]),
        (">quick <apple", MatchMode::Boolean, [1.04921687, 1.04921687, -0.841643751, 0.207573116, 0.0]),
        ("+(>quick <apple) -fox", MatchMode::Boolean, [0.0, 1.04921687, -0.841643751, 0.207573116, 0.0]),
        (r#""brown over" @4"#, MatchMode::Boolean, [0.977118134, 0.0, 0.0, 0.0, 0.0]),
        (r#""brown over" @3"#, MatchMode::Boolean, [0.0, 0.0, 0.0, 0.0, 0.0]),
        ("qui* quick", MatchMode::Boolean, [0.098433733, 0.098433733, 0.0, 0.098433733, 0.0]),
        (r#""lazy quick" @3"#, MatchMode::Boolean, [0.0, 0.537775934, 0.0, 0.0, 0.0]),
        ("b*", MatchMode::Boolean, [0.00939155091, 0.0, 0.00939155091, 0.0, 0.00939155091]),
        (">b* <ba*", MatchMode::Boolean, [1.00939155, 0.0, 0.0586084165, 0.0, -0.941391587]),
        (r#"+"the" quick"#, MatchMode::Boolean, [0.0, 0.0, 0.0, 0.0, 0.0]),
        (
            r#"quick fox quick "quick brown""#,
            MatchMode::Boolean,
            [1.0422821, 0.0651640519, 0.0, 0.0651640519, 0.0],
        ),
        ("quick", MatchMode::Natural, [0.0492168665, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("foo foo", MatchMode::Natural, [0.0, 0.0, 0.0, 0.0, 0.475068748]),
        ("* quick", MatchMode::Natural, [0.0492168665, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("qui *", MatchMode::Natural, [0.0492168665, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        (r#""quick brown" apple"#, MatchMode::Natural, [0.537775934, 0.0, 0.158356249, 0.158356249, 0.0]),
        ("quick quick fox", MatchMode::Natural, [0.494828731, 0.00626966963, 0.0, 0.00626966963, 0.0]),
        ("the of", MatchMode::Natural, [0.0, 0.0, 0.0, 0.0, 0.0]),
        ("brown", MatchMode::Expanded, [2.00345325, 0.0492168665, 0.0, 0.0492168665, 0.0]),
        ("apple", MatchMode::Expanded, [0.0492168665, 0.0492168665, 0.646915317, 0.696132183, 0.0]),
        ("fo *", MatchMode::Expanded, [1.67325032, 0.0492168665, 0.0, 0.0492168665, 1.45218682]),
    ];
    for (text, mode, expected) in cases {
        let query = expanded(text, mode);
        let ranks = ranked(&query, DOCUMENTS);
        let near =
            ranks.iter().zip(expected).all(|(rank, expected)| (f64::from(*rank) - expected).abs() < 1e-6);
        assert!(near, "{text}: {ranks:?} {expected:?}");
    }
}

#[test]
fn a_word_of_all_documents_has_a_small_rank() {
    let query = query("word", MatchMode::Natural);
    let rank = 1.0001_f64.log10().powi(2) as f32;
    assert_eq!(ranked(&query, &[&["word"], &["a word, word"]]), [rank, 2.0 * rank]);
}

#[test]
fn operators_decide_which_documents_are_found() {
    for (text, expected) in [
        ("quick", &[1, 2, 4][..]),
        ("+quick +apple", &[4]),
        ("+quick -apple", &[1, 2]),
        ("-apple", &[]),
        ("~quick", &[]),
        ("app*", &[3, 4]),
        ("+(apple fox) +quick", &[1, 4]),
        ("\"quick brown\"", &[1]),
        ("\"brown quick\"", &[]),
        ("\"fox jumps\"", &[]),
        ("\"the quick\"", &[1, 2, 4]),
        ("\"brown over\" @4", &[1]),
        ("\"brown over\" @3", &[]),
        ("stop don", &[2]),
        ("+don't", &[2]),
        ("\"\"", &[]),
        ("", &[]),
        ("QUICK", &[1, 2, 4]),
        ("apple -pie", &[3]),
        ("quick +apple", &[3, 4]),
    ] {
        assert_eq!(boolean(text), expected, "{text}");
    }
}

#[test]
fn wrong_queries_have_the_messages_of_innodb() {
    let fails = |text: &str| Query::new(text, MatchMode::Boolean, &rules()).unwrap_err();
    for (text, message) in [
        ("+", "syntax error, unexpected $end"),
        ("foo**", "syntax error, unexpected $end, expecting FTS_TERM or FTS_NUMB or '*'"),
        ("+foo +-bar", "syntax error, unexpected '-'"),
        ("\"foo bar\"@", "syntax error, unexpected $end, expecting FTS_NUMB"),
        ("(foo", "syntax error, unexpected $end"),
        ("foo)", "syntax error, unexpected ')', expecting $end"),
        ("foo @ bar", "syntax error, unexpected '@', expecting $end"),
    ] {
        assert_eq!((fails(text).code, fails(text).message.to_string()), (1064, message.to_owned()), "{text}");
    }
    assert_eq!(fails(&format!("{}foo{}", "(".repeat(40), ")".repeat(40))).code, 128);
    assert_eq!(fails(&"(a)".repeat(10_000)).code, 128);
    assert!(Query::new(&format!("\"{}\"", "word ".repeat(129)), MatchMode::Boolean, &rules()).is_err());
}

#[test]
fn an_index_decides_by_its_lengths_and_stopwords() {
    let collation = Collation::from_name("utf8mb4_bin").unwrap();
    let listed = Stopwords::Listed(vec!["fox".to_owned()]);
    let rules = WordRules::new(WordParser::Words { min: 2, max: 4 }, collation, listed);
    let finds = |text: &str| {
        let query = Query::new(text, MatchMode::Natural, &rules).unwrap();
        query.accepts(&query.find(["on the fox quick A Be"]))
    };
    assert!(finds("on") && finds("the") && finds("Be"));
    assert!(!finds("fox") && !finds("quick") && !finds("A") && !finds("be"));
}

#[test]
fn ngrams_of_a_boolean_word_follow_one_another() {
    let collation = Collation::from_name("utf8mb4_0900_ai_ci").unwrap();
    let rules = WordRules::new(WordParser::Ngram(2), collation, Stopwords::Default);
    let finds = |text: &str, mode: MatchMode| {
        let query = Query::new(text, mode, &rules).unwrap();
        query.accepts(&query.find(["数据库管理", "text column"]))
    };
    assert!(finds("数据", MatchMode::Boolean) && finds("据库管", MatchMode::Boolean));
    assert!(!finds("数管", MatchMode::Boolean));
    assert!(finds("管理数据", MatchMode::Natural) && !finds("管理数据", MatchMode::Boolean));
    assert!(finds("数*", MatchMode::Boolean) && finds("+数据 -库数", MatchMode::Boolean));
    assert!(!finds("+数据 -库管", MatchMode::Boolean));
    assert!(finds("\"te ex\"", MatchMode::Boolean));
    // N-grams with a stopword are not indexed.
    assert!(!WordRules::is_indexed(&rules, "ca", b""));
    assert!(!finds("(数据", MatchMode::Boolean));
}

#[test]
fn no_query_panics_and_every_document_is_ranked() {
    let pieces = [
        "+", "-", "<", ">", "~", "(", ")", "*", "\"", "@", " ", "\t", "\n", "%", "3", "foo", "quick", "the",
        "é", "日本",
    ];
    let mut seed = 1_u64;
    let mut next = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % bound
    };
    let ngrams =
        WordRules::new(WordParser::Ngram(2), Collation::from_name("utf8mb4_bin").unwrap(), Stopwords::None);
    let mut parsed = 0;
    for _ in 0..3_000 {
        let text: String = (0..1 + next(12)).map(|_| pieces[next(pieces.len())]).collect();
        for mode in [MatchMode::Natural, MatchMode::Boolean] {
            for rules in [&rules(), &ngrams] {
                if let Ok(query) = Query::new(&text, mode, rules) {
                    parsed += 1;
                    assert!(ranked(&query, DOCUMENTS).iter().all(|rank| rank.is_finite()));
                }
            }
        }
    }
    assert!(parsed > 4_000, "{parsed}");
}

/// The entries of each document: word, weight, document, payload, in the order of an index.
fn index_of(documents: &[Vec<String>], rules: &WordRules) -> Vec<(Vec<u8>, u8, u32, Vec<u8>)> {
    let (mut entries, mut words) = (Vec::new(), DocumentWords::default());
    for (number, columns) in (0_u32..).zip(documents) {
        let columns: Vec<Option<&str>> = columns.iter().map(|text| Some(text.as_str())).collect();
        let add: Result<(), ()> = words.for_each_entry(rules, &columns, &mut |entry| {
            if let Some(word) = entry.word {
                entries.push((word.to_vec(), entry.weight.0, number, entry.payload.to_vec()));
            }
            Ok(())
        });
        add.unwrap();
    }
    entries.sort();
    entries
}

#[test]
fn entries_say_of_a_document_as_much_as_its_text() {
    use rand::{Rng, SeedableRng};
    let mut rng = rand::rngs::SmallRng::seed_from_u64(seed());
    let vocabulary =
        ["apple", "Apples", "ápple", "of", "the", "banana", "band", "x", "cherry", "cherry_pie", "ban"];
    let any = |rng: &mut rand::rngs::SmallRng| vocabulary[rng.random_range(0..vocabulary.len())];
    for _ in 0..300 {
        let columns = rng.random_range(1..4);
        let text = |rng: &mut rand::rngs::SmallRng, most: usize| {
            let length = rng.random_range(0..most);
            (0..length).map(|_| any(rng)).collect::<Vec<_>>().join(" ")
        };
        let documents: Vec<Vec<String>> = (0..rng.random_range(0..20))
            .map(|_| {
                (0..columns)
                    .map(|_| {
                        let most = if rng.random_bool(0.05) { 3000 } else { 12 };
                        text(&mut rng, most)
                    })
                    .collect()
            })
            .collect();
        let mut asked = String::new();
        for _ in 0..rng.random_range(1..4) {
            asked.push_str(["", "", "+", "-", ">", "<", "~"][rng.random_range(0..7)]);
            match rng.random_range(0..5) {
                0 => asked.push_str(&format!("\"{}\"", text(&mut rng, 4))),
                1 => asked.push_str(&format!("\"{}\" @{}", text(&mut rng, 4), rng.random_range(1..6))),
                2 => asked.push_str(&format!("{}*", any(&mut rng))),
                _ => asked.push_str(any(&mut rng)),
            }
            asked.push(' ');
        }
        let mode = if rng.random_bool(0.7) { MatchMode::Boolean } else { MatchMode::Natural };
        let rules = rules();
        let Ok(query) = Query::new(&asked, mode, &rules) else { continue };
        let found: Vec<Found> =
            documents.iter().map(|columns| query.find(columns.iter().map(String::as_str))).collect();
        let mut wanted = Statistics::new(&query);
        found.iter().for_each(|found| wanted.add(&query, found));

        let mut postings = Postings::new(&query, columns);
        let index = index_of(&documents, &rules);
        for (lookup, range) in query.ranges().unwrap().iter().enumerate() {
            let (mut word, mut last) = (0, None);
            for (key, weight, document, payload) in &index {
                let is_in = match range {
                    WordRange::Word(wanted) => key.as_slice() == &**wanted,
                    WordRange::Beginning(wanted) => key.starts_with(wanted),
                };
                if !is_in {
                    continue;
                }
                if last.replace(key).is_some_and(|last| last != key) {
                    word += 1;
                }
                postings.add(lookup, word, (*weight, payload), &document.to_be_bytes()).unwrap();
            }
        }
        let mut unread = Vec::new();
        let walked: Result<(), ()> = postings.for_each(&mut |document, known| {
            if matches!(known, Known::Unread) {
                unread.push(u32::from_be_bytes(document.try_into().unwrap()));
            }
            Ok(())
        });
        walked.unwrap();
        for document in unread {
            postings.set(&document.to_be_bytes(), found[document as usize].clone());
        }
        assert_eq!(postings.statistics(documents.len() as u64), wanted, "{asked:?} {documents:?}");
        let frequencies = wanted.frequencies(&query);
        let mut ranks = vec![0.0; documents.len()];
        let walked: Result<(), ()> = postings.for_each(&mut |document, known| {
            let Known::Found(found) = known else { panic!("an unread document") };
            ranks[u32::from_be_bytes(document.try_into().unwrap()) as usize] =
                query.rank(found, &frequencies);
            Ok(())
        });
        walked.unwrap();
        let wanted: Vec<f32> = found.iter().map(|found| query.rank(found, &frequencies)).collect();
        assert_eq!(ranks, wanted, "{asked:?} {documents:?}");
    }
}
