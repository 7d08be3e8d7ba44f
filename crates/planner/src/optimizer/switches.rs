//! Reads and sets the flags of `optimizer_switch` by name.

use super::settings::{OptimizerSwitches, UNUSED_SWITCHES};
use leafline_types::MysqlError;

/// A flag of `optimizer_switch`.
enum Flag {
    /// Plans depend on the flag.
    Used(fn(&mut OptimizerSwitches) -> &mut bool),
    /// No plan depends on the flag; it is kept as set.
    Unused,
    /// The flag is off, and cannot be switched on.
    Off,
}

/// The flags in the order of SHOW: MySQL's, then Leafline's own.
const FLAGS: [(&str, Flag); 30] = [
    ("index_merge", Flag::Used(|switches| &mut switches.index_merge)),
    ("index_merge_union", Flag::Used(|switches| &mut switches.index_merge_union)),
    ("index_merge_sort_union", Flag::Used(|switches| &mut switches.index_merge_sort_union)),
    ("index_merge_intersection", Flag::Used(|switches| &mut switches.index_merge_intersection)),
    ("engine_condition_pushdown", Flag::Unused),
    ("index_condition_pushdown", Flag::Used(|switches| &mut switches.index_condition_pushdown)),
    ("mrr", Flag::Used(|switches| &mut switches.multi_range_read)),
    ("mrr_cost_based", Flag::Unused),
    // MySQL's name for hash joins from 8.0.18 on; its flag `hash_join` has had no effect since 8.0.19.
    ("block_nested_loop", Flag::Used(|switches| &mut switches.hash_join)),
    ("batched_key_access", Flag::Used(|switches| &mut switches.batched_key_access)),
    ("materialization", Flag::Used(|switches| &mut switches.materialization)),
    ("semijoin", Flag::Used(|switches| &mut switches.semijoin)),
    ("loosescan", Flag::Unused),
    ("firstmatch", Flag::Used(|switches| &mut switches.first_match)),
    ("duplicateweedout", Flag::Unused),
    ("subquery_materialization_cost_based", Flag::Unused),
    ("use_index_extensions", Flag::Unused),
    ("condition_fanout_filter", Flag::Unused),
    ("derived_merge", Flag::Used(|switches| &mut switches.derived_merge)),
    ("use_invisible_indexes", Flag::Used(|switches| &mut switches.use_invisible_indexes)),
    ("skip_scan", Flag::Used(|switches| &mut switches.skip_scan)),
    ("hash_join", Flag::Unused),
    ("subquery_to_derived", Flag::Used(|switches| &mut switches.subquery_to_derived)),
    ("prefer_ordering_index", Flag::Unused),
    ("hypergraph_optimizer", Flag::Off),
    ("derived_condition_pushdown", Flag::Used(|switches| &mut switches.derived_condition_pushdown)),
    ("hash_set_operations", Flag::Unused),
    ("rowid_filter", Flag::Used(|switches| &mut switches.rowid_filter)),
    ("ordered_merge", Flag::Used(|switches| &mut switches.ordered_merge)),
    ("runtime_filter", Flag::Used(|switches| &mut switches.runtime_filter)),
];

/// Returns the bit of a flag in `OptimizerSwitches::unused`.
fn unused_bit(name: &str) -> u16 {
    UNUSED_SWITCHES.iter().position(|known| *known == name).map_or(0, |at| 1 << at)
}

impl OptimizerSwitches {
    /// Whether a flag is on; `None` for an unknown flag.
    fn flag(mut self, name: &str) -> Option<bool> {
        let (_, flag) = FLAGS.iter().find(|(known, _)| *known == name)?;
        Some(match flag {
            Flag::Used(flag) => *flag(&mut self),
            Flag::Unused => self.unused & unused_bit(name) != 0,
            Flag::Off => false,
        })
    }

    /// Sets a known flag.
    ///
    /// # Errors
    /// 1235 if it cannot be switched on.
    fn set_flag(&mut self, name: &str, on: bool) -> Result<(), MysqlError> {
        match FLAGS.iter().find(|(known, _)| *known == name) {
            Some((_, Flag::Used(flag))) => *flag(self) = on,
            Some((_, Flag::Unused)) if on => self.unused |= unused_bit(name),
            Some((_, Flag::Unused)) => self.unused &= !unused_bit(name),
            Some((_, Flag::Off)) if on => {
                return Err(MysqlError::not_supported(format_args!("optimizer_switch = {name}=on")));
            }
            Some((_, Flag::Off)) | None => {}
        }
        Ok(())
    }

    /// Applies `flag=on|off|default,..` or `default`.
    ///
    /// # Errors
    /// 1231 for an unknown flag or value, 1235 for an unsupported value.
    pub fn apply(mut self, text: &str) -> Result<OptimizerSwitches, MysqlError> {
        let wrong = |part: &str| MysqlError::wrong_value_for_variable("optimizer_switch", part);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if part.eq_ignore_ascii_case("default") {
                self = OptimizerSwitches::default();
                continue;
            }
            let (name, value) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let name = name.trim().to_ascii_lowercase();
            let default = OptimizerSwitches::default().flag(&name).ok_or_else(|| wrong(part))?;
            let on = match value.trim().to_ascii_lowercase().as_str() {
                "on" => true,
                "off" => false,
                "default" => default,
                _ => return Err(wrong(part)),
            };
            self.set_flag(&name, on)?;
        }
        Ok(self)
    }
}

impl std::fmt::Display for OptimizerSwitches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, _)) in FLAGS.iter().enumerate() {
            let separator = if at > 0 { "," } else { "" };
            let value = if self.flag(name) == Some(true) { "on" } else { "off" };
            write!(f, "{separator}{name}={value}")?;
        }
        Ok(())
    }
}
