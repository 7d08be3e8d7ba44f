//! Dates and datetimes from text.

/// What reading a date or datetime gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalParse<T> {
    /// The value.
    pub value: T,
    /// Something after the value was ignored, or a time of day other than midnight was dropped.
    pub truncated: bool,
}

/// The text is no date, or one that does not exist, or a zero date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadTemporal;
