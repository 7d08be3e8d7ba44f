//! The format of text files that statements write and read: FIELDS and LINES.

/// FIELDS and LINES of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFormat {
    /// FIELDS TERMINATED BY.
    pub field_end: Vec<u8>,
    /// FIELDS ENCLOSED BY.
    pub quote: Option<u8>,
    /// OPTIONALLY: the writer encloses only strings.
    pub quotes_only_text: bool,
    /// FIELDS ESCAPED BY.
    pub escape: Option<u8>,
    /// LINES STARTING BY.
    pub line_start: Vec<u8>,
    /// LINES TERMINATED BY.
    pub line_end: Vec<u8>,
}

impl Default for TextFormat {
    /// The format of `FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'`.
    fn default() -> TextFormat {
        TextFormat {
            field_end: b"\t".to_vec(),
            quote: None,
            quotes_only_text: false,
            escape: Some(b'\\'),
            line_start: Vec::new(),
            line_end: b"\n".to_vec(),
        }
    }
}
