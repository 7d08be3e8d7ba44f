//! A file that comes once and may have to be read twice: what is read of it is kept in a temporary file.

use leafline_table::TableError;
use leafline_table::run::{EntrySource, RunReader, RunWriter};
use std::io::{self, Read};
use std::sync::Arc;

/// The client's file.
pub(crate) struct ClientInput<'f> {
    file: &'f mut dyn Read,
    /// Takes what is read.
    keeping: Option<RunWriter>,
    /// What was kept and is to be read before the rest of the file.
    kept: Option<RunReader>,
    /// The part of it at hand.
    part: Vec<u8>,
    at: usize,
}

impl<'f> ClientInput<'f> {
    /// Of a file of which nothing was read yet.
    pub(crate) fn new(file: &'f mut dyn Read) -> ClientInput<'f> {
        ClientInput { file, keeping: None, kept: None, part: Vec::new(), at: 0 }
    }

    /// What is read from now on goes to `run`, too.
    pub(crate) fn keep(&mut self, run: RunWriter) {
        self.keeping = Some(run);
    }

    /// Goes back to where it began to keep what is read.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub(crate) fn rewind(&mut self) -> Result<(), TableError> {
        if let Some(run) = self.keeping.take() {
            self.kept = Some(RunReader::new(Arc::new(run.finish()?)));
        }
        Ok(())
    }
}

impl Read for ClientInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(kept) = self.kept.as_mut().filter(|_| self.at == self.part.len()) {
            self.part.clear();
            self.at = 0;
            match kept.next().map_err(io::Error::other)? {
                Some((_, bytes)) => self.part.extend_from_slice(bytes),
                None => self.kept = None,
            }
        }
        if self.at < self.part.len() {
            let read = self.part.get(self.at..).unwrap_or_default().read(buffer)?;
            self.at += read;
            return Ok(read);
        }
        let read = self.file.read(buffer)?;
        if let (Some(run), Some(bytes)) = (&mut self.keeping, buffer.get(..read))
            && !bytes.is_empty()
        {
            run.push(&[], bytes).map_err(io::Error::other)?;
        }
        Ok(read)
    }
}
