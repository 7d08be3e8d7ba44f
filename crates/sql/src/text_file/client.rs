//! Files of the client, which LOAD DATA LOCAL reads.

use leafline_types::MysqlError;
use std::fs::File;
use std::io::Read;

/// A source of the client's files.
pub trait ClientFiles {
    /// Opens a file of the client.
    ///
    /// # Errors
    /// The error to send to the client if the file cannot be had.
    fn open(&mut self, path: &str) -> Result<Box<dyn Read + '_>, MysqlError>;
}

/// The files of this process, for a client within it.
#[derive(Debug, Default)]
pub struct OwnFiles;

impl ClientFiles for OwnFiles {
    fn open(&mut self, path: &str) -> Result<Box<dyn Read + '_>, MysqlError> {
        let file = File::open(path).map_err(|e| super::place::not_found(path, &e))?;
        Ok(Box::new(file))
    }
}
