//! Small files that are written as a whole. A reader, also after a crash, finds the last content that was written or
//! the one before it.
//!
//! Direct I/O needs whole blocks, so zeros are added to the end of the content. The content has to say how long it
//! is.

use super::{AlignedBuf, BLOCK, Env, OpenMode};
use std::io;

/// Replaces the content of the file `name` by `bytes`. Writes them to a file whose name has `.new` added, and renames
/// that.
///
/// # Errors
/// The errors of the file system. The file is then as it was.
pub fn replace(env: &dyn Env, name: &str, bytes: &[u8]) -> io::Result<()> {
    let whole = AlignedBuf::from_bytes(bytes);
    let next = format!("{name}.new");
    let file = env.open(&next, OpenMode::Create)?;
    file.truncate(0)?;
    file.write_at(&whole, 0)?;
    file.sync()?;
    env.rename(&next, name)?;
    env.sync_dir("")
}

/// Reads content that [`replace`] has written, and the zeros behind it. Returns `None` if there is no such file.
///
/// # Errors
/// The errors of the file system. `InvalidData` if there are more than `most` bytes.
pub fn read(env: &dyn Env, name: &str, most: u64) -> io::Result<Option<AlignedBuf>> {
    if !env.exists(name)? {
        return Ok(None);
    }
    let file = env.open(name, OpenMode::Existing)?;
    let size = file.size()?;
    if size > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{size} bytes are too many")));
    }
    let size = usize::try_from(size).unwrap_or(0);
    let mut bytes = AlignedBuf::zeroed(size - size % BLOCK);
    file.read_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedEnv;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let env = SimulatedEnv::new();
        assert!(read(&env, "f", 1 << 20).unwrap().is_none());
        for length in [5000, 0, 1, BLOCK, 3] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8 | 1).collect();
            replace(&env, "f", &bytes).unwrap();
            let found = read(&env, "f", 1 << 20).unwrap().unwrap();
            assert_eq!(found.get(..length), Some(&bytes[..]));
            assert!(found.iter().skip(length).all(|byte| *byte == 0));
        }
        replace(&env, "f", &[1; 5000]).unwrap();
        assert!(read(&env, "f", BLOCK as u64).is_err(), "it is too large");
    }
}
