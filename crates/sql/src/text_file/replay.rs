//! A client's file that may have to be read twice: the client sends it once, and the first reading copies it
//! to a temporary file.

use leafline_table::TableError;
use leafline_table::run::{EntrySource, RunReader, RunWriter};
use std::io::{self, Read};
use std::sync::Arc;

/// A client's file that can be rewound once.
pub(crate) struct ClientInput<'f> {
    file: &'f mut dyn Read,
    /// The temporary file that takes the copy.
    keeping: Option<RunWriter>,
    /// The copy, which is read before the rest of the file.
    kept: Option<RunReader>,
    /// The current part of the copy.
    part: Vec<u8>,
    at: usize,
}

impl<'f> ClientInput<'f> {
    /// Reads `file` from its start.
    pub(crate) fn new(file: &'f mut dyn Read) -> ClientInput<'f> {
        ClientInput { file, keeping: None, kept: None, part: Vec::new(), at: 0 }
    }

    /// From now on copies everything that is read to `run`.
    pub(crate) fn keep(&mut self, run: RunWriter) {
        self.keeping = Some(run);
    }

    /// Goes back to the position where [`keep`](Self::keep) was called.
    ///
    /// # Errors
    /// Errors of the temporary file.
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
