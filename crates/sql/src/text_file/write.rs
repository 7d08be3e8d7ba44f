//! Writes rows as lines.

use leafline_syntax::TextFormat;

/// Characters with a meaning after the escape character: a separator among them is doubled instead of
/// escaped.
const ESCAPES: &[u8] = b"ntrb0ZN";

/// Appends a row. A value is `None` for NULL, otherwise its bytes and whether it is a string.
pub(crate) fn append_line<'v>(
    format: &TextFormat,
    values: impl Iterator<Item = Option<(&'v [u8], bool)>>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&format.line_start);
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.extend_from_slice(&format.field_end);
        }
        match value {
            Some((bytes, is_text)) => append_field(format, bytes, is_text, out),
            None => match format.escape {
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            },
        }
    }
    out.extend_from_slice(&format.line_end);
}

fn append_field(format: &TextFormat, bytes: &[u8], is_text: bool, out: &mut Vec<u8>) {
    let quote = format.quote.filter(|_| is_text || !format.quotes_only_text);
    let (field_end, line_end) = (format.field_end.first().copied(), format.line_end.first().copied());
    let separator = quote.or(field_end);
    out.extend(quote);
    match format.escape {
        Some(escape) => {
            for &byte in bytes {
                let at = Some(byte);
                let ambiguous = ESCAPES.contains(&byte);
                let doubles = at == quote && ambiguous;
                if byte == escape
                    || byte == 0
                    || at == line_end
                    || (at == separator && (quote.is_some() || !ambiguous))
                {
                    out.push(if doubles { byte } else { escape });
                    out.push(if byte == 0 { b'0' } else { byte });
                } else {
                    out.push(byte);
                }
            }
        }
        None => out.extend_from_slice(bytes),
    }
    out.extend(quote);
}
