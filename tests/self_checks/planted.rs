//! Checks that the bugs of `tests/planted_bugs` still apply to the sources.

use std::path::Path;

/// Returns the text that each hunk of a patch looks for: unchanged and removed lines.
fn sought(patch: &str) -> Vec<String> {
    let mut hunks: Vec<String> = Vec::new();
    for line in patch.lines() {
        if line.starts_with("@@") {
            hunks.push(String::new());
        } else if let (Some(hunk), Some(line)) = (hunks.last_mut(), line.strip_prefix([' ', '-'])) {
            hunk.push_str(line);
            hunk.push('\n');
        }
    }
    hunks
}

#[test]
fn planted_bugs_fit_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("tests/planted_bugs")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "patch") || name == "switch" {
            continue;
        }
        let patch = std::fs::read_to_string(&path).expect("text");
        let file = patch.lines().find_map(|line| line.strip_prefix("--- a/")).expect("a file");
        let source = std::fs::read_to_string(root.join(file)).expect("a source");
        for hunk in sought(&patch) {
            assert_eq!(source.matches(&hunk).count(), 1, "{name} does not fit {file}:\n{hunk}");
        }
        assert!(patch.contains(&format!("planted(\"{name}\")")), "{name} asks for another name");
        count += 1;
    }
    assert!(count >= 20, "{count} bugs");
}
