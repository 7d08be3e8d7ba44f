//! The target of a dump: a directory that appears once it is complete, or standard output.

use super::compressed::{Compressed, Compression};
use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes per write.
const BUFFER: usize = 256 << 10;
/// The most bytes of a file name made of a database's and a table's name.
const LONGEST: usize = 200;

/// A directory that is being filled. It has another name until it is finished, and a dump that fails removes it.
pub struct Folder {
    /// The temporary name: the name with `.part` behind it.
    part: PathBuf,
    into: PathBuf,
    is_complete: bool,
}

impl Folder {
    /// Creates the directory under its temporary name.
    ///
    /// # Errors
    /// Something exists under one of the names.
    pub fn new(into: &Path) -> Result<Folder, Failure> {
        let name = into
            .file_name()
            .ok_or_else(|| Failure::Message(format!("{} is not the name of a directory", into.display())))?;
        let mut part = name.to_owned();
        part.push(".part");
        let part = into.with_file_name(part);
        let is_free = match fs::read_dir(into) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if !is_free {
            return Err(Failure::Message(format!(
                "{} is there already; name a new directory",
                into.display()
            )));
        }
        match fs::create_dir(&part) {
            Ok(()) => Ok(Folder { part, into: into.to_owned(), is_complete: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::Message(format!(
                "{} is there already: another dump is being written, or an unfinished one was left behind; in that case remove it",
                part.display()
            ))),
            Err(error) => Err(Failure::io(format!("cannot make {}", part.display()), error)),
        }
    }

    /// Creates a file in the directory.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn file(&self, name: &str, compression: Compression) -> Result<Sink, Failure> {
        let path = self.part.join(format!("{name}{}", compression.suffix()));
        let file = File::create_new(&path);
        let file = file.map(|file| BufWriter::with_capacity(BUFFER, file));
        let sink = file.and_then(|file| Compressed::new(file, compression));
        sink.map(Sink).map_err(|error| Failure::io(format!("cannot make {}", path.display()), error))
    }

    /// Renames the directory once all files are complete.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn finish(mut self) -> Result<(), Failure> {
        let parent = match self.into.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let sync = |path: &Path| File::open(path).and_then(|directory| directory.sync_all());
        sync(&self.part)
            .and_then(|()| fs::rename(&self.part, &self.into))
            .and_then(|()| sync(parent))
            .map_err(|error| Failure::io(format!("cannot make {}", self.into.display()), error))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_complete {
            // If it cannot be removed, the next dump reports it.
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

/// A file that is being written.
pub struct Sink(Compressed<BufWriter<File>>);

impl Sink {
    /// Finishes the file and makes it durable.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn finish(self) -> Result<(), Failure> {
        let file = self.0.finish();
        let file = file.and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
        file.and_then(|file| file.sync_all()).map_err(Failure::output)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns the name of a table's file. All characters of the names except letters, digits, `_`, `-` and `$` become
/// `%XX`, so that the only dots are those between the names.
pub fn file_name(database: &str, table: &str, number: usize, extension: &str) -> String {
    let mut stem = format!("{}.{}", escaped(database), escaped(table));
    if stem.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| stem.is_char_boundary(*end)).unwrap_or(0);
        stem.truncate(end);
        stem.push_str(&format!("~{number}"));
    }
    format!("{stem}.{extension}")
}

fn escaped(name: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | '-' | '$') {
            out.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a String does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Returns the name that was escaped for a file; `None` if the text is not valid.
pub fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(u8::from_str_radix(behind.get(..2)?, 16).ok()?);
        rest = behind.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    let name = String::from_utf8(bytes).ok()?;
    (escaped(&name) == text).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_tables() {
        assert_eq!(file_name("shop", "Bücher", 0, "sql"), "shop.Bücher.sql");
        assert_eq!(file_name("a.b", "../c\n%", 0, "csv"), "a%2Eb.%2E%2E%2Fc%0A%25.csv");
        for name in ["Bücher", "a.b", "../c\n%", "", "~1"] {
            assert_eq!(unescaped(&escaped(name)).as_deref(), Some(name));
        }
        assert!(["a.b", "%", "%2", "%2e", "%FF", "a b"].iter().all(|name| unescaped(name).is_none()));
        assert!(file_name(&"\n".repeat(64), &"é".repeat(64), 7, "sql").len() < 255);
    }
}
