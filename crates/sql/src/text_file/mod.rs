//! Text files of rows, which LOAD DATA reads and SELECT .. INTO OUTFILE writes.
//!
//! | module | does |
//! |---|---|
//! | `read` | finds the fields of lines |
//! | `write` | writes rows as lines |
//! | `place` | opens files of the server, as far as `secure_file_priv` allows |
//! | `client` | asks the client for its files |
//! | `replay` | reads a client's file a second time |

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
