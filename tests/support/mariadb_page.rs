//! Reads the lists of `docs/compat/mariadb.md`, which the differential tests compare with their own.

/// Returns the items of the list below `heading`, each as one line without its star.
pub fn items(heading: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compat/mariadb.md");
    let page = std::fs::read_to_string(path).expect("docs/compat/mariadb.md");
    let (_, section) = page.split_once(&format!("## {heading}\n")).expect("the heading");
    let section = section.split("\n#").next().unwrap_or_default();
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        match (line.strip_prefix("* "), line.strip_prefix("  "), items.last_mut()) {
            (Some(first), _, _) => items.push(first.to_owned()),
            (None, Some(rest), Some(item)) => {
                item.push(' ');
                item.push_str(rest);
            }
            _ => {}
        }
    }
    items
}
