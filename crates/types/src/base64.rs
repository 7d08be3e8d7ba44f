//! Base 64 as MySQL writes it.

/// The 64 digits, in the order of their values.
pub const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes` in base 64, broken into lines of `line` characters.
pub fn base64_text(bytes: &[u8], line: usize) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 8);
    for (n, group) in bytes.chunks(3).enumerate() {
        if n > 0 && n % (line / 4) == 0 {
            out.push('\n');
        }
        let bits = group.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for place in 0..4 {
            match place <= group.len() {
                true => out.push(char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize])),
                false => out.push('='),
            }
        }
    }
    out
}
