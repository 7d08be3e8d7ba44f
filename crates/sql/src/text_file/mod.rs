//! Text files of rows: what LOAD DATA reads and SELECT .. INTO OUTFILE writes.
//!
//! | module | does |
//! |---|---|
//! | `read` | finds the fields of lines |
//! | `write` | writes rows as lines |
//! | `place` | opens files of the server, where `secure_file_priv` lets it |
//! | `client` | asks for files of the client |
//! | `replay` | reads one of them a second time |

mod client;
mod place;
mod read;
mod replay;
mod write;

pub use client::{ClientFiles, OwnFiles};
pub(crate) use place::{
    create, for_backup, not_found, of_backup, open, open_regular, read_error, write_error,
};
pub(crate) use read::{Field, LineReader};
pub(crate) use replay::ClientInput;
pub(crate) use write::append_line;

/// FIELDS and LINES of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFormat {
    /// FIELDS TERMINATED BY.
    pub field_end: Vec<u8>,
    /// FIELDS ENCLOSED BY.
    pub quote: Option<u8>,
    /// OPTIONALLY: only strings are enclosed when they are written.
    pub quotes_only_text: bool,
    /// FIELDS ESCAPED BY.
    pub escape: Option<u8>,
    /// LINES STARTING BY.
    pub line_start: Vec<u8>,
    /// LINES TERMINATED BY.
    pub line_end: Vec<u8>,
}

impl Default for TextFormat {
    /// `FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'`.
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
