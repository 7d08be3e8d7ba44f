//! The places of recent inserts into a node, by which a split is planned. Redo computes them, too: another rule here
//! makes replayed pages differ from those that were written.

/// The places of recent inserts, kept in the node header for the split policy (see [`crate::policy`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InsertHistory {
    /// Slot of the last insert.
    pub last: u16,
    /// Positive if inserts ascend, negative if they descend.
    pub trend: i8,
    /// How far behind the front a nearly ascending insert was seen, in slots.
    pub spread: u8,
}

/// Bound of the trend, so that a node that was filled in order for long adapts quickly.
const TREND_LIMIT: i8 = 24;
/// Jumps of up to this many slots do not end a trend; on small nodes an eighth of the slots.
const JUMP: usize = 16;

/// Returns the history of a node with `count` slots after an insert at `slot`.
///
/// Over nearly ordered inserts the steps telescope: each ascending insert moves the position by one on average,
/// descending ones leave it where it is. So `2 * step - 1` sums to plus or minus the number of inserts.
pub fn insert_history(history: InsertHistory, slot: usize, count: usize) -> InsertHistory {
    let last = slot.min(usize::from(u16::MAX)) as u16;
    if count == 0 {
        return InsertHistory { last, ..history };
    }
    let step = slot as i64 - i64::from(history.last);
    let window = (count / 8).clamp(1, JUMP);
    if step.unsigned_abs() > window as u64 {
        return InsertHistory {
            last,
            trend: history.trend / 4 * 3 + history.trend % 4 / 2,
            spread: history.spread - history.spread.div_ceil(4),
        };
    }
    let step = (2 * step - 1).clamp(-3, 3) as i8;
    let trend = history.trend.saturating_add(step).clamp(-TREND_LIMIT, TREND_LIMIT);
    let behind = if trend > 0 { count.saturating_sub(slot) } else { slot };
    let spread = if behind <= window { history.spread.max(behind as u8) } else { history.spread };
    InsertHistory { last, trend, spread }
}
