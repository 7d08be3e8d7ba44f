//! Year, month, day and day numbers.

/// A date taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilDate {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

/// Whether February has 29 days.
pub fn is_leap_year(_year: u16) -> bool {
    todo!()
}
/// The days of a month, 1 to 12.
pub fn days_in_month(_year: u16, _month: u8) -> u8 {
    todo!()
}
