//! Keeps the rules of CONTRIBUTING.md that a machine can check, by reading the tree.
//!
//! | rule | limit |
//! |---|---|
//! | crates import downward only | [`LAYERS`] |
//! | files import each other in no circles | `imports` |
//! | a file is one idea | [`MAX_FILE_LINES`] lines, and it opens with a `//!` contract |
//! | a function fits a screen or two | [`MAX_FUNCTION_LINES`] lines |
//! | `unsafe` lives in named modules | [`UNSAFE_MODULES`] |
//! | threads are named in one place | `storage::worker` alone names a `thread::Builder` |
//! | no comment hides unfinished work | no `TODO`, `FIXME`, `XXX` |

#[path = "imports.rs"]
mod imports;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, lowest first; each may import only those it lists.
const LAYERS: &[(&str, &[&str])] = &[
    ("invariant", &[]),
    ("storage", &["invariant"]),
    ("btree", &["invariant", "storage"]),
    ("types", &["invariant"]),
    ("words", &["types"]),
    ("expr", &["invariant", "types", "words"]),
    ("syntax", &["invariant", "types"]),
    ("protocol", &["invariant", "types"]),
    ("table", &["invariant", "storage", "btree", "types", "words", "expr"]),
    ("access", &["invariant", "storage", "btree", "types", "expr", "table"]),
    ("planner", &["invariant", "types", "words", "expr", "syntax", "table", "access"]),
    ("executor", &["invariant", "storage", "types", "expr", "table", "access", "planner"]),
    (
        "sql",
        &[
            "invariant",
            "storage",
            "btree",
            "types",
            "words",
            "expr",
            "syntax",
            "table",
            "access",
            "planner",
            "executor",
        ],
    ),
    ("server", &["invariant", "storage", "types", "expr", "syntax", "protocol", "table", "sql"]),
    ("leafline", &["invariant", "storage", "types", "table", "access", "sql"]),
    (
        "cli",
        &[
            "invariant",
            "storage",
            "types",
            "syntax",
            "protocol",
            "table",
            "access",
            "sql",
            "server",
            "leafline",
        ],
    ),
];

const MAX_FILE_LINES: usize = 700;
const MAX_FUNCTION_LINES: usize = 100;

/// The modules that may contain `unsafe`.
const UNSAFE_MODULES: &[&str] = &[
    "crates/leafline/src/counting_allocator.rs",
    "crates/leafline/src/overflow.rs",
    "crates/storage/src/device/aligned.rs",
    "crates/storage/src/device/direct.rs",
    "crates/storage/src/device/ring.rs",
    "crates/storage/src/pool/arena.rs",
    "crates/storage/src/pool/guard.rs",
    "crates/storage/src/pool/optimistic.rs",
    // Arrow's C data interface, from one release of arrow to another.
    "crates/datafusion/src/arrays.rs",
    // Arrow's C stream, out of a capsule of Python's.
    "crates/python/src/append.rs",
    // LMDB cannot be opened otherwise.
    "bench/embedded/src/engines/lmdb.rs",
];

struct Source {
    /// The path from the root of the repository, with forward slashes.
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    for folder in ["crates", "tests", "bench", "fuzz"] {
        collect(&root.join(folder), &root, &mut found);
    }
    assert!(found.len() > 50, "the tree was not found below {}", root.display());
    found
}

fn collect(folder: &Path, root: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            // Build directories of crates outside the workspace contain no sources.
            if !path.ends_with("target") {
                collect(&path, root, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a readable file");
            let path = path.strip_prefix(root).expect("below the root").display().to_string();
            found.push(Source { path, text });
        }
    }
}

fn report(rule: &str, faults: &str) {
    assert!(faults.is_empty(), "{rule}:\n{faults}");
}

/// Returns the text without comments and string contents, line by line: enough of a lexer for the checks below.
fn code_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut chars = text.chars().peekable();
    let push = |lines: &mut Vec<String>, c: char| match c {
        '\n' => lines.push(String::new()),
        c => lines.last_mut().expect("never empty").push(c),
    };
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|&c| c != '\n') {
                    chars.next();
                }
            }
            ('r', Some('"' | '#')) if !ends_in_word(&lines) => raw_string(&mut chars, &mut lines),
            ('"', _) => {
                push(&mut lines, '"');
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => drop(chars.next().filter(|&c| c == '\n').map(|c| push(&mut lines, c))),
                        '"' => break,
                        '\n' => push(&mut lines, c),
                        _ => {}
                    }
                }
                push(&mut lines, '"');
            }
            ('\'', _) => character(&mut chars, &mut lines),
            _ => push(&mut lines, c),
        }
    }
    lines
}

fn ends_in_word(lines: &[String]) -> bool {
    let last = lines.last().and_then(|line| line.chars().last());
    last.is_some_and(|c| c.is_alphanumeric() || c == '_') && last != Some('b')
}

fn raw_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, lines: &mut Vec<String>) {
    let mut hashes = 0;
    while chars.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if chars.next_if_eq(&'"').is_none() {
        return; // a raw identifier
    }
    let mut seen = None;
    for c in chars.by_ref() {
        match (c, seen) {
            ('"', _) => seen = Some(0),
            ('#', Some(n)) => seen = Some(n + 1),
            ('\n', _) => {
                lines.push(String::new());
                seen = None;
            }
            _ => seen = None,
        }
        if seen == Some(hashes) {
            return;
        }
    }
}

/// Drops a character literal; keeps a lifetime without its quote.
fn character(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, lines: &mut [String]) {
    let mut ahead = chars.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), Some(_)) => {
            chars.next();
            chars.next();
            for c in chars.by_ref() {
                if c == '\'' {
                    break;
                }
            }
        }
        (Some(_), Some('\'')) => {
            chars.next();
            chars.next();
        }
        _ => lines.last_mut().expect("never empty").push(' '),
    }
}

#[test]
fn crates_import_downward_only() {
    let mut faults = String::new();
    for (name, allowed) in LAYERS {
        let manifest =
            fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).expect("a manifest");
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for (other, _) in LAYERS {
            let wanted = format!("\nleafline-{other}.workspace");
            if dependencies.contains(&wanted) && !allowed.contains(other) {
                writeln!(faults, "crates/{name} depends on {other}").expect("a string");
            }
        }
    }
    report("crates import downward only", &faults);
}

#[test]
fn every_file_has_a_contract_and_one_idea() {
    let mut faults = String::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > MAX_FILE_LINES {
            writeln!(faults, "{}: {lines} lines", source.path).expect("a string");
        }
        if !source.text.starts_with("//!") && !source.path.ends_with("/tests.rs") {
            writeln!(faults, "{}: does not open with //!", source.path).expect("a string");
        }
    }
    report("a file opens with its contract and has at most 700 lines", &faults);
}

#[test]
fn functions_are_short() {
    let mut faults = String::new();
    for source in sources() {
        for (name, line, length) in functions(&code_lines(&source.text)) {
            if length > MAX_FUNCTION_LINES {
                writeln!(faults, "{}:{line}: {name} has {length} lines", source.path).expect("a string");
            }
        }
    }
    report("functions have at most 100 lines", &faults);
}

/// Returns name, first line and number of lines of every function with a body.
fn functions(lines: &[String]) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut open: Vec<(String, usize, usize)> = Vec::new();
    let mut pending: Option<(String, usize)> = None;
    let (mut depth, mut brackets) = (0usize, 0isize);
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let words: Vec<&str> = trimmed.split_whitespace().take(6).collect();
        if let Some(position) = words.iter().position(|word| *word == "fn")
            && let Some(name) = words.get(position + 1)
        {
            pending = Some((name.split(['(', '<']).next().unwrap_or_default().into(), at + 1));
            brackets = 0;
        }
        for c in line.chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' if brackets == 0 => pending = None,
                '{' => {
                    if let Some((name, start)) = pending.take() {
                        open.push((name, start, depth));
                    }
                    depth += 1;
                }
                '}' => {
                    depth = depth.saturating_sub(1);
                    if open.last().is_some_and(|(_, _, at)| *at == depth)
                        && let Some((name, start, _)) = open.pop()
                    {
                        found.push((name, start, at + 2 - start));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn unsafe_lives_in_named_modules() {
    let mut faults = String::new();
    for source in sources() {
        if UNSAFE_MODULES.contains(&source.path.as_str()) {
            continue;
        }
        for (at, line) in code_lines(&source.text).iter().enumerate() {
            if line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe") {
                writeln!(faults, "{}:{}", source.path, at + 1).expect("a string");
            }
        }
    }
    report("unsafe lives in the modules that this test names", &faults);
}

#[test]
fn threads_are_named_in_one_place() {
    let mut faults = String::new();
    for source in sources() {
        if !source.path.contains("/src/") || source.path.starts_with("bench/") {
            continue;
        }
        let lines = code_lines(&source.text);
        for (at, line) in lines.iter().enumerate() {
            if line.contains("#[cfg(test)]")
                && lines.get(at + 1).is_some_and(|next| next.contains("mod tests"))
            {
                break;
            }
            let names = line.contains("Builder::new().name(") || line.contains("thread::Builder::new()");
            if names && source.path != "crates/storage/src/worker.rs" && !source.path.contains("/tests/") {
                writeln!(faults, "{}:{}", source.path, at + 1).expect("a string");
            }
        }
    }
    report("threads take their names from storage::worker::ThreadName", &faults);
}

#[test]
fn nothing_is_left_for_later_in_a_comment() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let mut faults = String::new();
    for source in sources() {
        for (at, line) in source.text.lines().enumerate() {
            let comment = line.split_once("//").map_or("", |(_, comment)| comment);
            let marked = comment.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
            if marked && source.path != "tests/layout.rs" {
                writeln!(faults, "{}:{}: {}", source.path, at + 1, line.trim()).expect("a string");
            }
        }
    }
    report("what is unfinished is an error a user can read, or listed in docs/compat", &faults);
}

#[test]
fn the_checks_see_what_they_should() {
    let text =
        "fn a() {\n  \"}\"; '}'; // }\n}\nfn b(x: [u8; 2]) -> u8;\nfn c<'a>(s: &'a str) {\n  r#\"\n}\"#\n}\n";
    let found = functions(&code_lines(text));
    assert_eq!(found, vec![("a".into(), 1, 3), ("c".into(), 5, 4)]);
    assert!(code_lines("let x = 1; // unsafe\n\"unsafe\"").iter().all(|line| !line.contains("unsafe")));
}
