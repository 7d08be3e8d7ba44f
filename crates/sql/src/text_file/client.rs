//! Files of the client: what LOAD DATA LOCAL reads.

use leafline_types::MysqlError;
use std::fs::File;
use std::io::Read;

/// Where the client's files come from.
pub trait ClientFiles {
    /// Asks for a file.
    ///
    /// # Errors
    /// What is to be told to the client if it cannot be had.
    fn open(&mut self, path: &str) -> Result<Box<dyn Read + '_>, MysqlError>;
}

/// The client is in this process, and its files are those that the process can open.
#[derive(Debug, Default)]
pub struct OwnFiles;

impl ClientFiles for OwnFiles {
    fn open(&mut self, path: &str) -> Result<Box<dyn Read + '_>, MysqlError> {
        let file = File::open(path).map_err(|e| super::place::not_found(path, &e))?;
        Ok(Box::new(file))
    }
}
