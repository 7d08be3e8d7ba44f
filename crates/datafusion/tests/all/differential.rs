//! Tests random filters, orders and limits on a table of Leafline against its rows in DataFusion's memory.

use crate::support::{Home, plan, rows};
use datafusion::execution::context::SessionContext;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, n INT, u BIGINT UNSIGNED NOT NULL, price DECIMAL(8,2), f FLOAT, x DOUBLE, day DATE, at DATETIME(3), ts TIMESTAMP NULL,
    tm TIME(1), y YEAR, ci VARCHAR(12), general VARCHAR(12) COLLATE utf8mb4_general_ci, accents CHAR(12) COLLATE utf8mb4_0900_as_cs, cs VARCHAR(12) COLLATE utf8mb4_0900_bin,
    padded VARCHAR(12) COLLATE utf8mb4_bin, latin VARCHAR(12) CHARACTER SET latin1, bytes VARBINARY(6), fixed BINARY(3), bits BIT(5), e ENUM('b', 'a', '2', '1'), s SET('x', 'y', 'A'), flag BOOL,
    KEY (n), KEY (u, n), KEY (price), KEY (f), KEY (x), KEY (day), KEY (at), KEY (ts), KEY (tm), KEY (ci), KEY (general), KEY (accents), KEY (cs), KEY (padded),
    KEY (latin), KEY (bytes), KEY (fixed), KEY (bits), KEY (e), KEY (s), KEY (n, cs DESC))";

/// A column: how its values are written in Leafline, and what it is compared with in DataFusion.
struct Kind {
    name: &'static str,
    stored: &'static [&'static str],
    compared: &'static [&'static str],
    is_text: bool,
}

const fn kind(
    name: &'static str,
    stored: &'static [&'static str],
    compared: &'static [&'static str],
) -> Kind {
    Kind { name, stored, compared, is_text: false }
}

const fn text(name: &'static str, values: &'static [&'static str]) -> Kind {
    Kind { name, stored: values, compared: values, is_text: true }
}

const WORDS: &[&str] = &[
    "''",
    "'a'",
    "'A'",
    "'a '",
    "'b'",
    "'B'",
    "'ab'",
    "'Ab'",
    "'AB'",
    "'abc'",
    "'ä'",
    "'Ä'",
    "'a\u{308}'",
    "'ab\t'",
    "'ss'",
    "'ß'",
    "'z'",
    "' '",
    "'1'",
    "'\u{1f600}'",
];
const LATIN: &[&str] =
    &["''", "'a'", "'A'", "'a '", "'b'", "'ä'", "'Ä'", "'ab'", "'aB'", "'€'", "'ÿ'", "'~'"];
const BYTES: &[&str] = &["X''", "X'00'", "X'61'", "X'6100'", "X'6120'", "X'ff'", "X'41'"];
const DAYS: &[&str] = &[
    "'0000-00-00'",
    "'2024-02-30'",
    "'2024-02-28'",
    "'2024-02-29'",
    "'2024-03-01'",
    "'2023-12-31'",
    "'2024-00-00'",
    "'9999-12-31'",
];
const REAL_DAYS: &[&str] = &[
    "'2024-02-28'::date",
    "'2024-02-29'::date",
    "'2024-03-01'::date",
    "'2023-12-31'::date",
    "'0001-01-01'::date",
    "'9999-12-31'::date",
    "'1500-01-01'::date",
];

const KINDS: &[Kind] = &[
    kind(
        "n",
        &["-5", "0", "1", "2", "3", "2147483647", "-2147483648"],
        &["-5", "0", "1", "2", "3", "2147483647", "5000000000", "-2147483648"],
    ),
    kind(
        "u",
        &["0", "1", "2", "18446744073709551615", "9223372036854775808"],
        &[
            "0",
            "1",
            "2",
            "-1",
            "18446744073709551615::bigint unsigned",
            "9223372036854775808::bigint unsigned",
        ],
    ),
    kind(
        "price",
        &["-1.25", "0", "0.01", "1.10", "999999.99"],
        &["-1.25::decimal(8,2)", "0", "1.1::decimal(8,2)", "1", "1.105", "999999.99::decimal(8,2)"],
    ),
    kind("f", &["0.1", "-0e0", "0e0", "1e30", "-2.5", "3"], &["0.1", "0.0", "-0.0", "-2.5", "3", "1e30"]),
    kind(
        "x",
        &["0.1", "-0e0", "0e0", "1e300", "-2.5", "3"],
        &["0.1", "0.0", "-0.0", "-2.5", "3", "1e300", "'NaN'::double", "'inf'::double"],
    ),
    kind("day", DAYS, REAL_DAYS),
    kind(
        "at",
        &[
            "'2024-02-29 10:00:00.5'",
            "'2024-02-30 10:00:00'",
            "'0000-00-00'",
            "'2024-02-28'",
            "'2024-03-01 00:00:00.001'",
        ],
        &[
            "'2024-02-29T10:00:00.5'::timestamp(6)",
            "'2024-02-28'::timestamp(6)",
            "'2024-03-01 00:00:00.0005'::timestamp(6)",
        ],
    ),
    kind(
        "ts",
        &["'2024-02-29 10:00:00'", "'0000-00-00 00:00:00'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"],
        &[
            "'2024-02-29T10:00:00Z'::timestamp(6) with time zone",
            "'1970-01-01T00:00:01Z'::timestamp(6) with time zone",
            "'1900-01-01T00:00:00Z'::timestamp(6) with time zone",
        ],
    ),
    kind(
        "tm",
        &["'-10:00:00.5'", "'0:00:00'", "'838:59:59'", "'12:34:56.7'"],
        &[
            "arrow_cast(-36000500000, 'Duration(µs)')",
            "arrow_cast(0, 'Duration(µs)')",
            "arrow_cast(45296700000, 'Duration(µs)')",
        ],
    ),
    kind("y", &["0", "1901", "1970", "2024", "2155"], &["0", "1901", "1970", "2024", "70", "2155", "24"]),
    text("ci", WORDS),
    text("general", WORDS),
    text("accents", WORDS),
    text("cs", WORDS),
    text("padded", WORDS),
    Kind { name: "latin", stored: LATIN, compared: WORDS, is_text: true },
    kind("bytes", BYTES, BYTES),
    kind("fixed", BYTES, &["X'000000'", "X'610000'", "X'61'", "X'612000'", "X'ff0000'"]),
    kind("bits", &["0", "1", "b'10101'", "31"], &["0", "1", "21", "31", "40"]),
    Kind {
        name: "e",
        stored: &["'a'", "'b'", "'1'", "'2'", "''"],
        compared: &["'a'", "'b'", "'1'", "'2'", "''", "'A'", "'none'"],
        is_text: true,
    },
    Kind {
        name: "s",
        stored: &["''", "'x'", "'y'", "'x,y'", "'x,y,A'"],
        compared: &["''", "'x'", "'y'", "'x,y'", "'y,x'", "'X'", "'a'"],
        is_text: true,
    },
    kind("flag", &["TRUE", "FALSE"], &["0", "1", "2"]),
];

fn one<'k>(rng: &mut SmallRng, of: &[&'k str]) -> &'k str {
    of.choose(rng).copied().unwrap_or("NULL")
}

fn fill(home: &mut Home, rng: &mut SmallRng, count: usize) {
    home.run("SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'");
    home.run(TABLE);
    let mut values = Vec::new();
    for id in 0..count {
        let mut row = vec![(id * 3).to_string()];
        for kind in KINDS {
            let is_null = kind.name != "u" && rng.random_ratio(1, 6);
            row.push(if is_null { "NULL".into() } else { one(rng, kind.stored).to_owned() });
        }
        values.push(format!("({})", row.join(", ")));
    }
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    for rows in values.chunks(200) {
        home.run(&format!("INSERT INTO t (id, {}) VALUES {}", names.join(", "), rows.join(", ")));
    }
}

fn filter(rng: &mut SmallRng, depth: usize) -> String {
    if depth > 0 && rng.random_ratio(1, 2) {
        let sides: Vec<String> = (0..rng.random_range(2..4)).map(|_| filter(rng, depth - 1)).collect();
        let joined = sides.join(if rng.random() { " AND " } else { " OR " });
        return if rng.random_ratio(1, 6) { format!("NOT ({joined})") } else { format!("({joined})") };
    }
    if rng.random_ratio(1, 8) {
        let (low, count) = (rng.random_range(-5..2000), rng.random_range(0..900));
        return format!("id BETWEEN {low} AND {}", low + count);
    }
    let Some(kind) = KINDS.choose(rng) else { return "true".into() };
    let (name, not) = (kind.name, if rng.random_ratio(1, 4) { "NOT " } else { "" });
    let value = one(rng, kind.compared);
    match rng.random_range(0..8) {
        0 => format!("{name} IS {not}NULL"),
        1 => {
            let list: Vec<&str> = (0..rng.random_range(1..6)).map(|_| one(rng, kind.compared)).collect();
            format!("{name} {not}IN ({})", list.join(", "))
        }
        2 => format!("{name} {not}BETWEEN {value} AND {}", one(rng, kind.compared)),
        3 | 4 if kind.is_text => {
            let pattern = value.trim_matches('\'');
            format!("{name} {not}LIKE '{pattern}%'")
        }
        5 => format!("{value} {} {name}", one(rng, &["=", "<", ">", "<=", ">="])),
        _ => format!("{name} {} {value}", one(rng, &["=", "<>", "<", ">", "<=", ">="])),
    }
}

fn order(rng: &mut SmallRng) -> String {
    let names = ["id", "n", "u", "price", "cs", "ci", "bytes", "day", "ts", "x"];
    let key = |rng: &mut SmallRng| {
        let name = one(rng, &names);
        format!("{name}{}{}", one(rng, &["", " DESC"]), one(rng, &["", " NULLS FIRST", " NULLS LAST"]))
    };
    let keys: Vec<String> = (0..rng.random_range(1..3)).map(|_| key(rng)).collect();
    keys.join(", ")
}

fn seed() -> u64 {
    std::env::var("LEAFLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| rand::rng().random())
}

fn cases() -> usize {
    let scale: usize =
        std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    300 * scale
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_orders_and_limits_give_what_datafusion_alone_gives() {
    let seed = seed();
    println!("LEAFLINE_SEED={seed}");
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut home = Home::new(&[]);
    fill(&mut home, &mut rng, 700);
    let context = home.context(&["t"]);
    let memory = SessionContext::new();
    let all = context.table("t").await.expect("the table").cache().await.expect("its rows");
    memory.register_table("t", all.into_view()).expect("a table in memory");

    let (mut pushed, mut exact, mut in_order) = (0, 0, 0);
    for case in 0..cases() {
        let condition = filter(&mut rng, 2);
        let what = format!("seed {seed}, case {case}: {condition}");
        let sql = format!("SELECT * FROM t WHERE {condition}");
        let wanted = sorted(rows(&memory, &sql).await);
        assert_eq!(sorted(rows(&context, &sql).await), wanted, "{what}");
        let shown = plan(&context, &sql).await;
        pushed += usize::from(shown.contains("constraint="));
        exact += usize::from(shown.contains("constraint=") && !shown.contains("FilterExec"));

        let limit = rng.random_range(1..40);
        let limited = rows(&context, &format!("{sql} LIMIT {limit}")).await;
        assert_eq!(limited.len(), wanted.len().min(limit), "LIMIT {limit} {what}");
        assert!(limited.iter().all(|row| wanted.contains(row)), "LIMIT {limit} {what}");
        assert_eq!(
            rows(&context, &format!("SELECT count(*) FROM t WHERE {condition}")).await,
            [[wanted.len().to_string()]],
            "{what}"
        );

        let order = order(&mut rng);
        let first = order.split(' ').next().unwrap_or_default().trim_end_matches(',').to_owned();
        // Rows with equal keys come in any order, so the keys are compared.
        let keys: Vec<&str> = order.split(", ").filter_map(|key| key.split(' ').next()).collect();
        let sql = format!(
            "SELECT {} FROM t WHERE {condition} ORDER BY {order} LIMIT {}",
            keys.join(", "),
            limit * 10
        );
        let sql = if first == keys[keys.len() - 1] && keys.len() > 1 {
            sql.replacen(&keys.join(", "), &first, 1)
        } else {
            sql
        };
        assert_eq!(rows(&context, &sql).await, rows(&memory, &sql).await, "{sql} {what}");
        in_order += usize::from(!plan(&context, &sql).await.contains("SortExec"));
    }
    let cases = cases();
    assert!(
        pushed > cases / 4 && exact > cases / 20 && in_order > cases / 100,
        "seed {seed}: of {cases} {pushed} {exact} {in_order}"
    );
}
