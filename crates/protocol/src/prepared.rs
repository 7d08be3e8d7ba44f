//! Packets about prepared statements: the answer to COM_STMT_PREPARE, the first fields of COM_STMT_EXECUTE and
//! COM_STMT_SEND_LONG_DATA, and COM_STMT_FETCH.
//!
//! Integers are little-endian; a statement's number has four bytes. The definitions of parameters and columns follow
//! [`Prepared`] as packets of their own.

use crate::binary::parameter::{Parameter, put_parameters};
use crate::bytes::{Reader, put_length};
use leafline_types::MysqlError;

/// Flag of an execution: a cursor keeps the rows, and the client fetches them.
pub const CURSOR: u8 = 0x01;
/// Flag of an execution: the number of parameters comes before them, even if the statement has none.
pub const HAS_COUNT: u8 = 0x08;

/// The answer to COM_STMT_PREPARE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The statement's number.
    pub id: u32,
    /// Number of columns.
    pub columns: u16,
    /// Number of parameters.
    pub parameters: u16,
    /// Number of warnings.
    pub warnings: u16,
}

impl Prepared {
    /// Appends the packet.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(0);
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.parameters.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
    }

    /// Reads the packet.
    ///
    /// # Errors
    /// 1835 if the packet ends early, or is no such answer.
    pub fn read(packet: &[u8]) -> Result<Prepared, MysqlError> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != 0 {
            return Err(MysqlError::malformed_packet());
        }
        let (id, columns, parameters) = (reader.u32()?, reader.u16()?, reader.u16()?);
        reader.u8()?;
        Ok(Prepared { id, columns, parameters, warnings: reader.u16()? })
    }
}

/// The first fields of COM_STMT_EXECUTE, after the command byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The statement's number.
    pub id: u32,
    /// [`CURSOR`], [`HAS_COUNT`], and flags of cursors that no server supports.
    pub flags: u8,
}

impl Execution {
    /// Reads the fields. Leaves the parameters.
    ///
    /// # Errors
    /// 1835 if the packet ends early.
    pub fn read(reader: &mut Reader<'_>) -> Result<Execution, MysqlError> {
        let (id, flags) = (reader.u32()?, reader.u8()?);
        // The number of iterations, which is always one.
        reader.u32()?;
        Ok(Execution { id, flags })
    }

    /// Appends the fields and the parameters; `named` adds the parameters' names.
    pub fn put(&self, out: &mut Vec<u8>, parameters: &[Parameter<'_>], named: bool) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.push(self.flags);
        out.extend_from_slice(&1u32.to_le_bytes());
        if named && (self.flags & HAS_COUNT != 0 || !parameters.is_empty()) {
            put_length(out, parameters.len() as u64);
        }
        put_parameters(out, parameters, named);
    }
}

/// The first fields of COM_STMT_SEND_LONG_DATA, after the command byte. The data follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongData {
    /// The statement's number.
    pub id: u32,
    /// The parameter's number, from 0.
    pub parameter: u16,
}

impl LongData {
    /// Appends the fields and the data.
    pub fn put(&self, out: &mut Vec<u8>, data: &[u8]) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.parameter.to_le_bytes());
        out.extend_from_slice(data);
    }

    /// Reads the fields. Leaves the data.
    ///
    /// # Errors
    /// 1835 if the packet ends early.
    pub fn read(reader: &mut Reader<'_>) -> Result<LongData, MysqlError> {
        Ok(LongData { id: reader.u32()?, parameter: reader.u16()? })
    }
}

/// The fields of COM_STMT_FETCH, after the command byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The statement's number.
    pub id: u32,
    /// The most rows to send.
    pub rows: u32,
}

impl Fetch {
    /// Appends the fields.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
    }

    /// Reads the fields.
    ///
    /// # Errors
    /// 1835 if the packet ends early.
    pub fn read(body: &[u8]) -> Result<Fetch, MysqlError> {
        let mut reader = Reader::new(body);
        Ok(Fetch { id: reader.u32()?, rows: reader.u32()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::Value;

    #[test]
    fn packets_read_back_as_written_and_are_refused_where_they_are_cut() {
        let prepared = Prepared { id: 0x0102_0304, columns: 2, parameters: 3, warnings: 4 };
        let mut packet = Vec::new();
        prepared.put(&mut packet);
        assert_eq!(Prepared::read(&packet), Ok(prepared));
        assert!((0..packet.len()).all(|end| Prepared::read(&packet[..end]).is_err()));
        assert!(Prepared::read(&[1; 12]).is_err());
        let fetch = Fetch { id: 7, rows: 100 };
        let mut packet = Vec::new();
        fetch.put(&mut packet);
        assert_eq!(Fetch::read(&packet), Ok(fetch));
        assert!((0..packet.len()).all(|end| Fetch::read(&packet[..end]).is_err()));
        let long = LongData { id: 7, parameter: 1 };
        let mut packet = Vec::new();
        long.put(&mut packet, b"abc");
        let mut reader = Reader::new(&packet);
        assert_eq!((LongData::read(&mut reader), reader.rest()), (Ok(long), &b"abc"[..]));
        let execution = Execution { id: 7, flags: CURSOR };
        let mut packet = Vec::new();
        execution.put(&mut packet, &[("", &Value::Int(1))], false);
        let mut reader = Reader::new(&packet);
        assert_eq!(Execution::read(&mut reader), Ok(execution));
        // The bitmap of NULLs, 1 for types, the type LONGLONG, the value.
        assert_eq!(reader.rest(), [0, 1, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert!((0..9).all(|end| Execution::read(&mut Reader::new(&packet[..end])).is_err()));
    }
}
