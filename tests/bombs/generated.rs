//! Bombs with generated text: nesting, and lists of many members.

/// The depth, and the number, of repeated parts.
const DEEP: usize = 20_000;
const MANY: usize = 300_000;

/// Makes the text of a bomb, which is long.
pub type Make = Box<dyn Fn() -> String>;

/// Returns the bombs with their names.
pub fn bombs() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    let mut add = |name: &str, make: Make| all.push((name.to_owned(), make));
    nesting(&mut add);
    lists(&mut add);
    conditions(&mut add);
    long_texts(&mut add);
    all
}

/// Adds nested constructs.
fn nesting(add: &mut dyn FnMut(&str, Make)) {
    for function in
        ["HEX", "TO_BASE64", "QUOTE", "JSON_QUOTE", "REVERSE", "UPPER", "WEIGHT_STRING", "COMPRESS"]
    {
        add(
            &format!("40 nested {function}"),
            Box::new(move || {
                format!(
                    "SELECT LENGTH({}REPEAT('a', 1000000){})",
                    format!("{function}(").repeat(40),
                    ")".repeat(40)
                )
            }),
        );
    }
    for (name, open, close) in [
        ("parentheses", "(", ")"),
        ("NOT", "NOT (", ")"),
        ("calls", "ABS(", ")"),
        ("CASE", "CASE WHEN 1 THEN ", " END"),
        ("IF", "IF(1, ", ", 0)"),
        ("subqueries", "(SELECT ", ")"),
        ("EXISTS", "EXISTS (SELECT ", ")"),
        ("JSON arrays", "JSON_ARRAY(", ")"),
        ("CONCAT", "CONCAT(", ", 'x')"),
        ("IN", "1 IN (", ")"),
        ("CAST", "CAST(", " AS CHAR)"),
    ] {
        for depth in [60, 1_000, DEEP] {
            add(
                &format!("{depth} nested {name}"),
                Box::new(move || format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth))),
            );
        }
    }
    add(
        "nested derived tables",
        Box::new(move || {
            let open = "SELECT * FROM (".repeat(60);
            format!("{open}SELECT 1 AS a{}", (0..60).map(|n| format!(") d{n}")).collect::<String>())
        }),
    );
    add(
        "nested IN over columns",
        Box::new(move || {
            let open = "SELECT id FROM t WHERE g IN (".repeat(40);
            format!("{open}1{}", ")".repeat(40))
        }),
    );
    add(
        "nested WITH",
        Box::new(move || {
            let open = "WITH c AS (".repeat(50);
            format!("{open}SELECT 1 AS a{}", ") SELECT * FROM c".repeat(50))
        }),
    );
}

/// Adds lists of many members.
fn lists(add: &mut dyn FnMut(&str, Make)) {
    let numbers = || (0..MANY).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    add("IN list", Box::new(move || format!("SELECT COUNT(*) FROM t WHERE id IN ({})", numbers())));
    add("NOT IN list", Box::new(move || format!("SELECT COUNT(*) FROM t WHERE g NOT IN ({})", numbers())));
    add(
        "IN list of millions",
        Box::new(|| format!("SELECT COUNT(*) FROM t WHERE id IN ({}1)", "12345, ".repeat(2_000_000))),
    );
    add(
        "IN list of rows",
        Box::new(move || {
            let rows: Vec<String> = (0..MANY / 3).map(|n| format!("({n}, {n})")).collect();
            format!("SELECT COUNT(*) FROM t WHERE (id, g) IN ({})", rows.join(", "))
        }),
    );
    add(
        "IN list of texts",
        Box::new(move || {
            let texts: Vec<String> = (0..MANY / 3).map(|n| format!("'value {n}'")).collect();
            format!("SELECT COUNT(*) FROM t WHERE v IN ({})", texts.join(", "))
        }),
    );
    add("select list", Box::new(move || format!("SELECT {}", numbers())));
    add(
        "select list of columns",
        Box::new(move || format!("SELECT {}id FROM t", "id, v, g, ".repeat(5_000))),
    );
    add("sum", Box::new(move || format!("SELECT 1{}", " + 1".repeat(MANY))));
}

/// Adds many conditions, operators and joins.
fn conditions(add: &mut dyn FnMut(&str, Make)) {
    add(
        "OR",
        Box::new(move || {
            format!("SELECT COUNT(*) FROM t WHERE id = 1{}", " OR g = 2 OR id = 3".repeat(2_000))
        }),
    );
    add(
        "AND of ORs",
        Box::new(move || {
            format!("SELECT COUNT(*) FROM t WHERE id > 0{}", " AND (id = 1 OR g = 2 OR v > '')".repeat(100))
        }),
    );
    add(
        "BETWEEN",
        Box::new(move || {
            format!("SELECT COUNT(*) FROM t WHERE id > 0{}", " AND id BETWEEN 1 AND 9 OR g = 1".repeat(1_000))
        }),
    );
    add("UNION", Box::new(move || format!("SELECT 1{}", " UNION SELECT 1".repeat(5_000))));
    add(
        "INSERT of many rows",
        Box::new(move || format!("INSERT INTO sink (x) VALUES {}", vec!["('a')"; MANY].join(", "))),
    );
    add(
        "GROUP BY list",
        Box::new(move || format!("SELECT 1 FROM t GROUP BY {}", vec!["id + 1"; 2_000].join(", "))),
    );
    add(
        "ORDER BY list",
        Box::new(move || format!("SELECT 1 FROM t ORDER BY {}", vec!["v"; 2_000].join(", "))),
    );
    add(
        "61 tables",
        Box::new(move || {
            let tables: Vec<String> = (0..61).map(|n| format!("t t{n}")).collect();
            format!("SELECT COUNT(*) FROM {} WHERE t0.id = 1", tables.join(", "))
        }),
    );
    add(
        "40 tables with conditions",
        Box::new(move || {
            let tables: Vec<String> = (0..40).map(|n| format!("t t{n}")).collect();
            let conditions: Vec<String> = (1..40).map(|n| format!("t{n}.g = t{}.g", n - 1)).collect();
            format!("SELECT COUNT(*) FROM {} WHERE {}", tables.join(", "), conditions.join(" AND "))
        }),
    );
}

/// Adds long literals and definitions.
fn long_texts(add: &mut dyn FnMut(&str, Make)) {
    add("a long string", Box::new(move || format!("SELECT LENGTH('{}')", "x".repeat(30_000_000))));
    add("a long comment", Box::new(move || format!("SELECT 1 /* {} */", "x".repeat(30_000_000))));
    add("a long name", Box::new(move || format!("SELECT 1 AS `{}`", "x".repeat(10_000_000))));
    add("a long number", Box::new(move || format!("SELECT {}", "9".repeat(10_000_000))));
    add(
        "a long JSON document",
        Box::new(move || format!("SELECT JSON_LENGTH('[{}1]')", "1,".repeat(5_000_000))),
    );
    add(
        "deep JSON",
        Box::new(move || format!("SELECT JSON_DEPTH('{}{}')", "[".repeat(DEEP), "]".repeat(DEEP))),
    );
    add(
        "definitions",
        Box::new(move || {
            let columns: Vec<String> = (0..20_000).map(|n| format!("c{n} INT")).collect();
            format!("CREATE TABLE wide ({})", columns.join(", "))
        }),
    );
    add(
        "members of an ENUM",
        Box::new(move || {
            let members: Vec<String> = (0..70_000).map(|n| format!("'m{n}'")).collect();
            format!("CREATE TABLE wide (e ENUM({}))", members.join(", "))
        }),
    );
}
