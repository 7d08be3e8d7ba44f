//! Definitions with bare names, as SHOW CREATE shows them while `sql_quote_show_create` is off.

use leafline_syntax::is_reserved;

/// Removes the quotes of names that can be read without quotes.
pub(super) fn with_bare_names(definition: &str) -> String {
    let mut out = String::with_capacity(definition.len());
    let mut rest = definition;
    while let Some(at) = rest.find(['`', '\'']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = if from.starts_with('`') { name_length(from) } else { literal_length(from) };
        let (quoted, behind) = from.split_at(length);
        let name = quoted.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        out.push_str(name.filter(|name| can_be_bare(name)).unwrap_or(quoted));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Length in bytes of the quoted name at the begin of a text. A backquote within it is doubled.
fn name_length(text: &str) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('`')) {
        at += found + 1;
        if !text.get(at..).is_some_and(|rest| rest.starts_with('`')) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Length in bytes of the string at the begin of a text.
fn literal_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            // A doubled quote ends one string and begins the next.
            b'\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// True if the name can be read without quotes.
fn can_be_bare(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    name.starts_with(|c: char| is_plain(c) && !c.is_ascii_digit())
        && name.chars().all(is_plain)
        && !is_reserved(&name.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bare_where_they_can_be() {
        for (text, bare) in [
            ("CREATE TABLE `t` (\n  `a b` int, `key` int", "CREATE TABLE t (\n  `a b` int, `key` int"),
            ("`x``y` `1` `a1` `é`", "`x``y` `1` a1 é"),
            (r"`a` DEFAULT 'it''s `q` \'`q`' COMMENT '`'", r"a DEFAULT 'it''s `q` \'`q`' COMMENT '`'"),
            ("`open", "`open"),
            ("``", "``"),
        ] {
            assert_eq!(with_bare_names(text), bare);
        }
    }
}
