//! Names as statements quote them.

/// Puts a name in backquotes.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
