//! Checks that the files of a crate do not import each other in circles: a part of `layout`.
//!
//! An import is a `use`, or a path in code that begins with `crate`, `super` or `self`. It leads to the file that
//! defines the named item, through re-exports as far as they can be followed. Code for tests (`#[cfg(test)]`,
//! `#[cfg(loom)]`) does not count. A file and the modules that contain it may use each other; apart from that
//!
//! - no file imports itself through others;
//! - of two sibling modules, with everything they contain, at most one imports the other.
//!
//! The crates in [`CLEAN`] keep both rules.

use super::{code_lines, report, sources};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

/// The crates without circles.
const CLEAN: &[&str] = &[
    "invariant",
    "storage",
    "btree",
    "table",
    "protocol",
    "access",
    "planner",
    "executor",
    "sql",
    "server",
    "leafline",
    "cli",
    "syntax",
    "types",
    "words",
    "expr",
];

/// Names from the crate's root on; the root's own path is empty.
type Path = Vec<String>;

/// A file of a crate, without its code for tests.
struct Module {
    tokens: Vec<String>,
    /// The meaning of each name that it imports; `*` stands for all names of a module.
    uses: Vec<(String, Path)>,
    /// The names that it defines.
    defines: BTreeSet<String>,
    /// The paths in its code, resolved to begin at the root.
    paths: Vec<Path>,
}

/// The files of a crate, by their module paths.
struct Crate {
    modules: BTreeMap<Path, Module>,
    /// The imports between files, except between a file and a module that contains it.
    edges: BTreeSet<(Path, Path)>,
}

#[test]
fn files_import_each_other_in_no_circles() {
    let mut faults = String::new();
    for name in CLEAN {
        write!(faults, "{}", Crate::read(name).faults(name)).expect("a string");
    }
    report(
        "no file imports itself through others, and no two modules side by side import each other",
        &faults,
    );
}

/// Prints the circles that remain in each crate: `cargo test --test layout -- --ignored --nocapture circles`.
#[test]
#[ignore = "it only tells"]
fn circles_of_all_crates() {
    for (name, _) in super::LAYERS {
        let of = Crate::read(name);
        let (circles, mutual) = (of.circles(), of.mutual());
        println!("{name}: {} circles, {} mutual imports", circles.len(), mutual.len());
        print!("{}", of.faults(name));
    }
}

#[test]
fn the_imports_that_are_there_are_seen() {
    let files = [
        ("", "mod a; mod b; mod c; pub use a::inner::Deep; #[cfg(test)] mod tests;"),
        ("a", "pub mod inner; use crate::b::{self, B as Other, nested::{X, Y}}; fn f() { b::g() }"),
        (
            "a::inner",
            "use super::super::c::C; pub struct Deep; #[cfg(test)] mod tests { use crate::b::Hidden; }",
        ),
        (
            "b",
            "pub struct B; pub(crate) fn g() { crate::c::h::<crate::Deep>() } mod nested { use super::B; }",
        ),
        (
            "c",
            "pub struct C; use crate::b::*; #[cfg(test)] use crate::a::Nothing; fn f() -> Self { r#\"crate::a::Q\"# }",
        ),
        ("tests", "use crate::a::f;"),
    ];
    let of = Crate::new(files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect());
    let edges: Vec<String> =
        of.edges.iter().map(|(from, to)| format!("{} {}", from.join("::"), to.join("::"))).collect();
    assert_eq!(edges, ["a b", "a::inner c", "b a::inner", "b c", "c b"]);
    assert_eq!(of.circles(), [vec![module("a::inner"), module("b"), module("c")]]);
    assert_eq!(of.mutual(), [(module("a"), module("b")), (module("b"), module("c"))]);
}

fn module(path: &str) -> Path {
    path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

impl Crate {
    fn read(name: &str) -> Crate {
        let folder = format!("crates/{name}/src/");
        let mut files = Vec::new();
        for source in sources() {
            let Some(inside) = source.path.strip_prefix(&folder) else { continue };
            let path = inside.trim_end_matches(".rs").replace('/', "::");
            let path = path.strip_suffix("::mod").unwrap_or(&path);
            if !path.starts_with("bin::") && path != "main" {
                files.push((module(if path == "lib" { "" } else { path }), source.text));
            }
        }
        Crate::new(files)
    }

    fn new(files: Vec<(Path, String)>) -> Crate {
        let mut tests = BTreeSet::new();
        let mut tokens = BTreeMap::new();
        for (path, text) in files {
            let (kept, of_tests) = without_tests(&tokens_of(&text));
            tests.extend(of_tests.into_iter().map(|name| [path.clone(), vec![name]].concat()));
            tokens.insert(path, kept);
        }
        let is_test = |path: &Path| (0..=path.len()).any(|depth| tests.contains(&path[..depth]));
        let names: BTreeSet<Path> = tokens.keys().filter(|path| !is_test(path)).cloned().collect();
        let kept = tokens.into_iter().filter(|(path, _)| names.contains(path));
        let modules = kept.map(|(path, tokens)| (path.clone(), Module::new(&path, tokens, &names))).collect();
        let mut read = Crate { modules, edges: BTreeSet::new() };
        read.edges = read.imports();
        read
    }

    /// Returns the file that defines the item of a path, which begins at the root.
    fn resolve(&self, path: &[String], depth: usize) -> Path {
        let mut at = Path::new();
        for (number, name) in path.iter().enumerate() {
            let inner = [at.clone(), vec![name.clone()]].concat();
            if self.modules.contains_key(&inner) {
                at = inner;
                continue;
            }
            let Some(module) = self.modules.get(&at) else { return at };
            if module.defines.contains(name) || depth > 8 {
                return at;
            }
            let rest = &path[number + 1..];
            if let Some((_, target)) = module.uses.iter().find(|(used, _)| used == name) {
                return self.resolve(&[target, rest].concat(), depth + 1);
            }
            for (_, target) in module.uses.iter().filter(|(used, _)| used == "*") {
                let target = self.resolve(target, depth + 1);
                let found = self.modules.get(&target).is_some_and(|module| {
                    module.defines.contains(name) || module.uses.iter().any(|(used, _)| used == name)
                });
                if found {
                    return self.resolve(&[&target, &path[number..]].concat(), depth + 1);
                }
            }
            return at;
        }
        at
    }

    fn imports(&self) -> BTreeSet<(Path, Path)> {
        let mut known: HashMap<&Path, Path> = HashMap::new();
        let mut edges = BTreeSet::new();
        for (from, module) in &self.modules {
            for path in module.paths.iter().chain(module.uses.iter().map(|(_, path)| path)) {
                let to = known.entry(path).or_insert_with(|| self.resolve(path, 0));
                if !from.starts_with(to) && !to.starts_with(from) {
                    edges.insert((from.clone(), to.clone()));
                }
            }
        }
        edges
    }

    /// Returns sets of files each of which imports all others of its set, directly or not.
    fn circles(&self) -> Vec<Vec<Path>> {
        let mut reached: BTreeMap<Path, BTreeSet<Path>> = BTreeMap::new();
        for (from, to) in &self.edges {
            reached.entry(from.clone()).or_default().insert(to.clone());
        }
        let direct = reached.clone();
        for found in reached.values_mut() {
            let mut left: Vec<Path> = found.iter().cloned().collect();
            while let Some(file) = left.pop() {
                for next in direct.get(&file).into_iter().flatten() {
                    if found.insert(next.clone()) {
                        left.push(next.clone());
                    }
                }
            }
        }
        let reaches = |from: &Path, to: &Path| reached.get(from).is_some_and(|found| found.contains(to));
        let mut circles: Vec<Vec<Path>> = Vec::new();
        for file in reached.keys().filter(|file| reaches(file, file)) {
            match circles.iter_mut().find(|circle| reaches(&circle[0], file) && reaches(file, &circle[0])) {
                Some(circle) => circle.push(file.clone()),
                None => circles.push(vec![file.clone()]),
            }
        }
        circles
    }

    /// Returns the sibling modules that import each other.
    fn mutual(&self) -> Vec<(Path, Path)> {
        let beside = |(from, to): &(Path, Path)| {
            let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
            (from[..=common].to_vec(), to[..=common].to_vec())
        };
        let edges: BTreeSet<(Path, Path)> = self.edges.iter().map(beside).collect();
        let is_mutual = |(from, to): &&(Path, Path)| from < to && edges.contains(&(to.clone(), from.clone()));
        edges.iter().filter(is_mutual).cloned().collect()
    }

    fn faults(&self, name: &str) -> String {
        let mut faults = String::new();
        let edges = &self.edges;
        for circle in self.circles() {
            writeln!(faults, "crates/{name}: a circle of {} files", circle.len()).expect("a string");
            for (from, to) in edges.iter().filter(|(from, to)| circle.contains(from) && circle.contains(to)) {
                writeln!(faults, "    {} imports {}", from.join("::"), to.join("::")).expect("a string");
            }
        }
        for (one, other) in self.mutual() {
            let between = |(from, to): &&(Path, Path)| {
                from.starts_with(&one) && to.starts_with(&other)
                    || from.starts_with(&other) && to.starts_with(&one)
            };
            writeln!(faults, "crates/{name}: {} and {}", one.join("::"), other.join("::")).expect("a string");
            for (from, to) in edges.iter().filter(between) {
                writeln!(faults, "    {} imports {}", from.join("::"), to.join("::")).expect("a string");
            }
        }
        faults
    }
}

impl Module {
    fn new(path: &Path, tokens: Vec<String>, files: &BTreeSet<Path>) -> Module {
        let mut module = Module { tokens, uses: Vec::new(), defines: BTreeSet::new(), paths: Vec::new() };
        // The open modules within the file, each with the depth of its braces.
        let mut inner: Vec<(String, usize)> = Vec::new();
        let (mut at, mut depth) = (0, 0);
        let tokens = std::mem::take(&mut module.tokens);
        let word = |at: usize| tokens.get(at).map_or("", String::as_str);
        while at < tokens.len() {
            let here: Path = path.iter().cloned().chain(inner.iter().map(|(name, _)| name.clone())).collect();
            match word(at) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inner.pop_if(|(_, at)| *at == depth);
                }
                "mod" if word(at + 2) == "{" => {
                    inner.push((word(at + 1).to_owned(), depth));
                    module.defines.insert(word(at + 1).to_owned());
                }
                // `use<` begins the list of lifetimes that a type captures.
                "use" if word(at + 1) != "<" => {
                    let mut found = Vec::new();
                    at = use_tree(&tokens, at + 1, &[], &mut found);
                    for (name, segments) in found {
                        if let Some(target) = from_root(&here, &segments, files) {
                            module.uses.push((name, target));
                        }
                    }
                    continue;
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                | "macro_rules" => {
                    let name = if word(at + 1) == "!" { at + 2 } else { at + 1 };
                    module.defines.insert(word(name).to_owned());
                }
                "crate" | "super" | "self" if word(at + 1) == "::" => {
                    let mut segments = vec![word(at).to_owned()];
                    while word(at + 1) == "::" && word(at + 2).starts_with(is_name) {
                        segments.push(word(at + 2).to_owned());
                        at += 2;
                    }
                    module.paths.extend(from_root(&here, &segments, files));
                }
                _ => {}
            }
            at += 1;
        }
        module.tokens = tokens;
        module
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Splits a text into words, `::`, and single other characters.
fn tokens_of(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for line in code_lines(text) {
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let mut token = c.to_string();
            if is_name(c) {
                while let Some(c) = chars.next_if(|&c| is_name(c)) {
                    token.push(c);
                }
            } else if c == ':' && chars.next_if_eq(&':').is_some() {
                token.push(':');
            } else if c.is_whitespace() {
                continue;
            }
            tokens.push(token);
        }
    }
    tokens
}

/// Returns the tokens without code for tests, and the modules that are declared for tests.
fn without_tests(tokens: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut at = 0;
    while at < tokens.len() {
        if word(at) == "#" && word(at + 1) == "[" {
            let end = closed(tokens, at + 1);
            let words = &tokens[at..end];
            let has = |name: &str| words.iter().any(|word| word == name);
            if has("cfg") && (has("test") || has("loom")) && !has("not") {
                at = end;
                while word(at) == "#" {
                    at = closed(tokens, at + 1);
                }
                let end = end_of_item(tokens, at);
                if let Some(name) = (at..end).find(|at| word(*at) == "mod" && word(*at + 2) == ";") {
                    modules.push(word(name + 1).to_owned());
                }
                at = end;
                continue;
            }
        }
        kept.push(word(at).to_owned());
        at += 1;
    }
    (kept, modules)
}

/// Returns the position behind the bracket that closes the one at `at`.
fn closed(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(token) = tokens.get(at) {
        depth += i32::from(matches!(token.as_str(), "(" | "[" | "{"))
            - i32::from(matches!(token.as_str(), ")" | "]" | "}"));
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the position behind an item, a statement, a field or an arm.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let words = ["pub", "fn", "impl", "struct", "enum", "trait", "mod", "const", "unsafe", "impl"];
    let is_item = tokens.get(at).is_some_and(|token| words.contains(&token.as_str()));
    let is_use = tokens[at..].iter().take(5).any(|token| token == "use");
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            ")" | "]" | "}" => return at,
            "{" if !is_use => return closed(tokens, at),
            "(" | "[" | "{" => at = closed(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// Finds the names that a `use` imports and the paths they stand for; returns the position behind it.
fn use_tree(tokens: &[String], mut at: usize, before: &[String], found: &mut Vec<(String, Path)>) -> usize {
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut path = before.to_vec();
    loop {
        match word(at) {
            "::" => at += 1,
            "{" => {
                at += 1;
                while !matches!(word(at), "}" | "") {
                    at = use_tree(tokens, at, &path, found);
                    at += usize::from(word(at) == ",");
                }
                return at + 1;
            }
            "*" => {
                found.push(("*".into(), path));
                return at + 1;
            }
            "as" => {
                found.push((word(at + 1).to_owned(), path));
                return at + 2;
            }
            "," | ";" | "}" | "" => {
                if let Some(name) = path.last() {
                    found.push((name.clone(), path));
                }
                return at;
            }
            "self" if !path.is_empty() => at += 1,
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
}

/// Returns the path of an import in a module, from the crate's root on. `None` if it leads to another crate.
fn from_root(module: &[String], segments: &[String], files: &BTreeSet<Path>) -> Option<Path> {
    let mut base = module.to_vec();
    let mut rest = segments;
    match rest.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        name => {
            let inner = [module, &[name.to_owned()]].concat();
            if !files.contains(&inner) {
                return None;
            }
        }
    }
    // A module within a file belongs to the file.
    Some([&base[..], rest].concat())
}
