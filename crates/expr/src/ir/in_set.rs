//! A constant IN list as a set, converted once into the domain of the comparison.

use std::collections::HashSet;

use super::CompareDomain;
use leafline_types::collation::Collation;
use leafline_types::decimal::Decimal;
use leafline_types::value::Value;

/// Lists up to this length are searched linearly.
const SHORT: usize = 8;

/// A constant IN list as a set.
#[derive(Debug, Clone)]
pub struct InSet {
    members: Members,
    has_null: bool,
}

#[derive(Debug, Clone)]
enum Members {
    /// Sorted: the numbers in the range of i64, and those above.
    Integers(Vec<i64>, Vec<u64>),
    /// Sorted.
    Decimals(Vec<Decimal>),
    /// Sorted.
    Doubles(Vec<f64>),
    /// Keys under the collation: a list if they are few, otherwise a hash set.
    FewStrings(Collation, Vec<Box<[u8]>>),
    ManyStrings(Collation, HashSet<Box<[u8]>>),
    /// Sorted days.
    Dates(Vec<i32>),
    /// Sorted microseconds.
    DateTimes(Vec<i64>),
    /// Sorted microseconds.
    Times(Vec<i64>),
}

impl InSet {
    /// Makes the set of values that are all NULL or of the domain's own kinds; None if one is not: its conversion may
    /// warn, so it has to happen when the list is evaluated.
    pub fn new(values: &[&Value], domain: CompareDomain) -> Option<Self> {
        let has_null = values.iter().any(|v| v.is_null());
        let values = values.iter().filter(|v| !v.is_null());
        let members = match domain {
            CompareDomain::Integer => {
                let (mut narrow, mut wide) = (Vec::new(), Vec::new());
                for v in values {
                    let v = v.as_integer()?;
                    match i64::try_from(v) {
                        Ok(v) => narrow.push(v),
                        Err(_) => wide.push(u64::try_from(v).ok()?),
                    }
                }
                Members::Integers(sorted(narrow), sorted(wide))
            }
            CompareDomain::Decimal => Members::Decimals(sorted(
                values
                    .map(|v| match v {
                        Value::Int(v) => Some(Decimal::from_i64(*v)),
                        Value::UInt(v) => Some(Decimal::from_u64(*v)),
                        Value::Decimal(d) => Some(d.clone()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            )),
            CompareDomain::Double => {
                let mut doubles = values
                    .map(|v| match v {
                        Value::Int(v) => Some(*v as f64),
                        Value::UInt(v) => Some(*v as f64),
                        Value::Decimal(d) => Some(d.to_f64()),
                        Value::Double(d) => Some(*d),
                        _ => None,
                    })
                    .collect::<Option<Vec<f64>>>()?;
                // 0.0 and -0.0 are equal.
                doubles.iter_mut().for_each(|d| *d += 0.0);
                doubles.sort_by(f64::total_cmp);
                Members::Doubles(doubles)
            }
            CompareDomain::String(collation) => {
                let strings: Vec<&[u8]> = values.map(|v| v.as_bytes()).collect::<Option<_>>()?;
                if strings.len() <= SHORT {
                    Members::FewStrings(collation, strings.into_iter().map(Box::from).collect())
                } else {
                    let key = |s: &[u8]| collation.hash_key(s, &mut Vec::new()).into();
                    Members::ManyStrings(collation, strings.into_iter().map(key).collect())
                }
            }
            CompareDomain::Json => return None,
            CompareDomain::Date => Members::Dates(sorted(
                values
                    .map(|v| match v {
                        Value::Date(d) => Some(d.ordinal()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            )),
            CompareDomain::DateTime => Members::DateTimes(sorted(
                values
                    .map(|v| match v {
                        Value::Date(d) => Some(d.to_datetime().ordinal()),
                        Value::DateTime(t) => Some(t.ordinal()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            )),
            CompareDomain::Time => Members::Times(sorted(
                values
                    .map(|v| match v {
                        Value::Time(t) => Some(t.micros()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            )),
        };
        Some(InSet { members, has_null })
    }

    /// Whether NULL is in the list: then a value that is not found gives NULL, not FALSE.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.members, Members::Integers(..))
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self.members, Members::FewStrings(..) | Members::ManyStrings(..))
    }

    pub(crate) fn is_date(&self) -> bool {
        matches!(self.members, Members::Dates(_))
    }

    pub(crate) fn is_datetime(&self) -> bool {
        matches!(self.members, Members::DateTimes(_))
    }

    /// Whether a value of the domain's own kind is a member; None for one that has to be converted first.
    pub(crate) fn contains(&self, v: &Value) -> Option<bool> {
        Some(match (&self.members, v) {
            (Members::Integers(..), Value::Int(v)) => self.contains_i64(*v),
            (Members::Integers(..), Value::UInt(v)) => self.contains_u64(*v),
            (Members::Decimals(set), Value::Decimal(d)) => set.binary_search(d).is_ok(),
            (Members::Decimals(set), Value::Int(v)) => set.binary_search(&Decimal::from_i64(*v)).is_ok(),
            (Members::Decimals(set), Value::UInt(v)) => set.binary_search(&Decimal::from_u64(*v)).is_ok(),
            (Members::Doubles(set), Value::Double(v)) => {
                set.binary_search_by(|probe| probe.total_cmp(&(v + 0.0))).is_ok()
            }
            (Members::FewStrings(..) | Members::ManyStrings(..), v) => self.contains_bytes(v.as_bytes()?),
            (Members::Dates(set), Value::Date(d)) => set.binary_search(&d.ordinal()).is_ok(),
            (Members::DateTimes(_), Value::Date(d)) => self.contains_micros(d.to_datetime().ordinal()),
            (Members::DateTimes(_), Value::DateTime(t)) => self.contains_micros(t.ordinal()),
            (Members::Times(set), Value::Time(t)) => contains(set, &t.micros()),
            _ => return None,
        })
    }

    #[inline]
    pub(crate) fn contains_i64(&self, v: i64) -> bool {
        match &self.members {
            Members::Integers(narrow, _) => contains(narrow, &v),
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn contains_u64(&self, v: u64) -> bool {
        match (&self.members, i64::try_from(v)) {
            (Members::Integers(narrow, _), Ok(v)) => contains(narrow, &v),
            (Members::Integers(_, wide), Err(_)) => contains(wide, &v),
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn contains_bytes(&self, s: &[u8]) -> bool {
        match &self.members {
            Members::FewStrings(collation, set) => set.iter().any(|member| collation.equal(member, s)),
            Members::ManyStrings(collation, set) => set.contains(collation.hash_key(s, &mut Vec::new())),
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn contains_days(&self, days: i32) -> bool {
        matches!(&self.members, Members::Dates(set) if contains(set, &days))
    }

    #[inline]
    pub(crate) fn contains_micros(&self, micros: i64) -> bool {
        matches!(&self.members, Members::DateTimes(set) if contains(set, &micros))
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values.dedup();
    values
}

#[inline]
fn contains<T: Ord>(sorted: &[T], v: &T) -> bool {
    if sorted.len() <= SHORT { sorted.contains(v) } else { sorted.binary_search(v).is_ok() }
}
