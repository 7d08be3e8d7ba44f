//! Compares what the documents repeat of the code with the code.
//!
//! | what documents repeat | where |
//! |---|---|
//! | versions, magics and sizes of formats, kinds of pages | docs/file-format.md |
//! | the crates, and which uses which | docs/architecture.md |
//! | modules, files and types that are named | [`NAMING`] |
//! | links to other documents and to headings | every document |
//!
//! The pages of docs/compat have lines of less than [`MAX_COLUMNS`] characters.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents whose names of modules, files and types are looked up in the code.
const NAMING: &[&str] =
    &["docs/architecture.md", "docs/glossary.md", "docs/file-format.md", "docs/internals"];

/// The longest line of a page of docs/compat, in characters, plus one.
const MAX_COLUMNS: usize = 160;

/// A fact of docs/file-format.md: the text around it there, the file of the code, and the text before it there.
const FACTS: &[(&str, &str, &str, &str)] = &[
    ("| the database | ", ", `control`", "crates/storage/src/control.rs", "const FORMAT: u32 = "),
    ("| 12 | 4 | format version: ", " |", "crates/storage/src/control.rs", "const FORMAT: u32 = "),
    (
        "| 0 | 8 | magic `",
        "` |\n| 8 | 4 | checksum of bytes 12..4096",
        "crates/storage/src/control.rs",
        "MAGIC: &[u8; 8] = b",
    ),
    ("| tree pages | ", ", packed leaves", "crates/btree/src/node/layout.rs", "LeafFormat::Plain => "),
    (", packed leaves ", ", page header", "crates/btree/src/node/layout.rs", "LeafFormat::Packed => "),
    (
        "| space map, segment directory, superblock | ",
        ", page header",
        "crates/storage/src/page/mod.rs",
        "const STORE_FORMAT: u8 = ",
    ),
    ("| log files | the magic `", "`", "crates/storage/src/log/format.rs", "const FILE_MAGIC: [u8; 8] = *b"),
    (
        "`, or `",
        "` of files without compressed",
        "crates/storage/src/log/format.rs",
        "const UNCOMPRESSED_FILE_MAGIC: [u8; 8] = *b",
    ),
    ("| commit and end records | ", ", first byte", "crates/table/src/op.rs", "const FORMAT: u8 = "),
    ("| end record | format u8 (", ")", "crates/table/src/op.rs", "const FORMAT: u8 = "),
    ("| checkpoint payload | ", ", first byte", "crates/table/src/counters.rs", "const FORMAT: u8 = "),
    ("| catalog rows | ", ", first byte", "crates/table/src/catalog/encoding.rs", "const FORMAT: u8 = "),
    ("format byte ", ";", "crates/table/src/catalog/encoding.rs", "const FORMAT: u8 = "),
    (
        "(`table::catalog::encoding`); ",
        " for histograms",
        "crates/table/src/catalog/histogram.rs",
        "const FORMAT: u8 = ",
    ),
    ("| quarantine files | ", ", bytes", "crates/table/src/quarantine.rs", "const FORMAT: u32 = "),
    ("| exported tables | ", ", bytes", "crates/sql/src/table_file/mod.rs", "const FORMAT: u32 = "),
    ("| backups | ", ", `manifest`", "crates/storage/src/backup/manifest.rs", "const FORMAT: u32 = "),
    ("| superblock: magic `", "`", "crates/storage/src/space/layout.rs", "const MAGIC: &[u8; 8] = b"),
    ("An extent is ", " pages.", "crates/storage/src/space/layout.rs", "const EXTENT_PAGES: u64 = "),
    (
        "handed out: the first ",
        " pages of a segment",
        "crates/storage/src/space/mod.rs",
        "const SINGLE_PAGES: usize = ",
    ),
    ("one batch of at most ", " pages", "crates/storage/src/doublewrite.rs", "const BATCH_PAGES: usize = "),
    ("A *block* is ", " bytes", "crates/storage/src/device/env.rs", "pub const BLOCK: usize = "),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A document as one line, because a fact may stand across the end of a line.
fn unwrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out.push_str(line);
        out.push(if line.starts_with('|') { '\n' } else { ' ' });
    }
    out
}

/// The documents, by their paths from the root of the repository.
fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        found.push((name.to_owned(), read(name)));
    }
    for folder in
        ["docs", "docs/compat", "docs/internals", "docs/benchmarks", "crates/python", "crates/datafusion"]
    {
        let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        for entry in entries {
            let name = entry.expect("a readable folder").file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                found.push((format!("{folder}/{name}"), read(&format!("{folder}/{name}"))));
            }
        }
    }
    found.sort();
    found
}

fn report(rule: &str, faults: &str) {
    assert!(faults.is_empty(), "{rule}:\n{faults}");
}

/// The text between `before` and `after`.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let mut rest = text;
    loop {
        rest = rest.split_once(before)?.1;
        let (found, _) = rest.split_once(after)?;
        if !found.is_empty() && found.len() < 20 {
            return Some(found);
        }
    }
}

#[test]
fn the_file_format_has_the_versions_and_sizes_of_the_code() {
    let document = unwrapped(&read("docs/file-format.md"));
    let mut faults = String::new();
    for (before, after, file, constant) in FACTS {
        let Some(said) = between(&document, before, after) else {
            writeln!(faults, "the document does not say {before:?}..{after:?}").expect("a string");
            continue;
        };
        let code = read(file);
        let value =
            code.split_once(constant).map(|(_, rest)| rest.split([';', ',']).next().unwrap_or_default());
        let value = value.unwrap_or_default().trim().trim_matches('"').replace('_', "");
        if said.replace(',', "") != value {
            writeln!(faults, "{before:?} {said:?}, but {file} says {value:?}").expect("a string");
        }
    }
    report("docs/file-format.md repeats the constants of the code", &faults);
}

#[test]
fn the_file_format_has_every_kind_of_page() {
    let document = read("docs/file-format.md");
    let table = between_headings(&document, "### Page header");
    let code = read("crates/storage/src/page/mod.rs");
    let said: BTreeSet<u8> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok())
        .skip_while(|kind| *kind != 0)
        .collect();
    let mut kinds = BTreeSet::new();
    for line in code.lines() {
        if let Some((_, kind)) = line.split_once("PageKind = PageKind(") {
            kinds.insert(kind.trim_end_matches(");").parse::<u8>().expect("a number"));
        }
    }
    let missing: Vec<&u8> = kinds.iter().filter(|kind| !said.contains(kind)).collect();
    assert!(missing.is_empty() && !kinds.is_empty(), "docs/file-format.md lacks the kinds {missing:?}");
}

/// The text below a heading that begins so, up to the next heading.
fn between_headings<'t>(text: &'t str, heading: &str) -> &'t str {
    let rest = text.split_once(heading).map_or("", |(_, rest)| rest);
    rest.split("\n#").next().unwrap_or_default()
}

#[test]
fn the_architecture_has_the_layers_that_are_kept() {
    let layers = read("tests/layout.rs");
    let layers = between_text(&layers, "const LAYERS: &[(&str, &[&str])] = &[", "\n];");
    let layers: String = layers.split_whitespace().collect();
    let mut kept = String::new();
    for layer in layers.split("(\"").skip(1) {
        let (name, uses) = layer.split_once("\",&[").expect("a name and a list");
        let uses: Vec<&str> = uses.split(']').next().unwrap_or_default().split(',').collect();
        let uses: Vec<&str> =
            uses.iter().map(|name| name.trim_matches('"')).filter(|name| !name.is_empty()).collect();
        writeln!(kept, "{name}: {}", uses.join(", ")).expect("a string");
    }
    let document = read("docs/architecture.md");
    let mut said = String::new();
    for line in between_headings(&document, "## Which layers are there?").lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [name, _, uses] = cells.as_slice()
            && let Some(name) = name.strip_prefix('`')
        {
            writeln!(said, "{}: {uses}", name.trim_end_matches('`')).expect("a string");
        }
    }
    assert_eq!(said, kept, "docs/architecture.md (left) has the table of tests/layout.rs (right)");
}

fn between_text<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    rest.split_once(after).map_or("", |(found, _)| found)
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut faults = String::new();
    for (path, text) in documents() {
        let folder = Path::new(&path).parent().expect("a folder");
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            if link.contains("://") || link.contains(' ') || link.is_empty() {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { root().join(&path) } else { root().join(folder).join(file) };
            let found = match heading {
                "" => target.exists(),
                heading => fs::read_to_string(&target).is_ok_and(|text| has_heading(&text, heading)),
            };
            if !found {
                writeln!(faults, "{path}: {link}").expect("a string");
            }
        }
    }
    report("links lead to files and headings", &faults);
}

/// Whether a document has a heading with this anchor.
fn has_heading(text: &str, anchor: &str) -> bool {
    text.lines().filter_map(|line| line.strip_prefix('#')).any(|heading| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().replace(' ', "-") == anchor
    })
}

#[test]
fn pages_about_compatibility_have_short_lines() {
    let mut faults = String::new();
    for (path, text) in documents().iter().filter(|(path, _)| path.starts_with("docs/compat/")) {
        for (at, line) in text.lines().enumerate() {
            if line.chars().count() >= MAX_COLUMNS {
                writeln!(faults, "{path}:{}", at + 1).expect("a string");
            }
        }
    }
    report("lines of docs/compat have less than 160 characters", &faults);
}

#[test]
fn documents_name_modules_files_and_types_that_there_are() {
    let code = all_code();
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut faults = String::new();
    for (path, text) in
        documents().iter().filter(|(path, _)| NAMING.iter().any(|named| path.starts_with(named)))
    {
        for name in named(text) {
            let known = match name {
                name if name.contains("::") => is_module(name),
                name if name.starts_with("crates/") || name.starts_with("tests/") => {
                    root().join(name.trim_end_matches('/')).exists()
                }
                name if is_type(name) && path.ends_with("glossary.md") => words.contains(name),
                _ => true,
            };
            if !known {
                writeln!(faults, "{path}: `{name}`").expect("a string");
            }
        }
    }
    report("documents name what there is", &faults);
}

/// The texts in backticks of a document, without its blocks of code.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose
        .flat_map(|prose| prose.split('`').skip(1).step_by(2))
        .filter(|name| !name.contains([' ', '*', '<', '{']))
}

/// Whether a text is written as a type is.
fn is_type(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(char::is_uppercase)
        && chars.clone().all(char::is_alphanumeric)
        && chars.any(char::is_lowercase)
}

/// Whether a path of modules is one of a crate. Paths that do not begin with a crate of the workspace are not looked at.
fn is_module(path: &str) -> bool {
    let mut parts = path.split("::");
    let source = root().join("crates").join(parts.next().unwrap_or_default()).join("src");
    if !source.is_dir() {
        return true;
    }
    let modules: Vec<&str> = parts.take_while(|part| part.starts_with(char::is_lowercase)).collect();
    let exists = |modules: &[&str]| {
        let file = modules.iter().fold(source.clone(), |path, module| path.join(module));
        file.is_dir() || file.with_extension("rs").is_file()
    };
    exists(&modules) || modules.split_last().is_some_and(|(last, above)| has_item(&source, above, last))
}

/// Whether the file of a module has an item of that name.
fn has_item(source: &Path, modules: &[&str], item: &str) -> bool {
    let file = modules.iter().fold(source.to_owned(), |path, module| path.join(module));
    let files = [file.with_extension("rs"), file.join("mod.rs"), file.join("lib.rs")];
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    ["fn ", "mod ", "const ", "static "].iter().any(|kind| text.contains(&format!("{kind}{item}")))
}

/// The code of all crates.
fn all_code() -> String {
    fn collect(folder: &Path, text: &mut String) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() && !path.ends_with("target") {
                collect(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(&path).expect("a readable file"));
            }
        }
    }
    let mut text = String::new();
    collect(&root().join("crates"), &mut text);
    text
}
