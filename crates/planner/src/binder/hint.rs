//! Optimizer hints: finds the tables and indexes of a block that they name.
//!
//! A hint that names something unknown, or that conflicts with an earlier hint, gives a warning.

use super::Binder;
use super::scope::Block;
use crate::bound::{BlockHints, IndexChoice, JoinOrder, JoinPlace, RelationSource, TableHints};
use leafline_access::Strategy;
use leafline_syntax::ast::{Hint, HintTable, HintTarget};
use leafline_types::MysqlError;
use std::collections::BTreeSet;

/// Number of semi join strategies.
const SEMIJOIN_STRATEGIES: usize = 4;

impl Binder<'_> {
    /// Returns the hints for a block: those written in it, and hints elsewhere that name it. `number` is the block's number.
    pub(super) fn hints(&mut self, block: &mut Block, hints: &[Hint], number: usize) -> BlockHints {
        let mut names = vec![format!("select#{number}")];
        for hint in hints {
            let HintTarget::BlockName(name) = &hint.about else { continue };
            if names.len() == 1 && !self.blocks_named.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.clone());
            } else {
                self.warnings.push(MysqlError::conflicting_hint(format_args!("QB_NAME(`{name}`)")));
            }
        }
        let elsewhere = self.context.hints.iter().filter(|hint| {
            let is_named = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
            hint.other_block().is_some_and(is_named)
        });
        let mut resolver = Resolver {
            block,
            name: names.last().cloned().unwrap_or_default(),
            found: BlockHints::default(),
            warnings: &mut self.warnings,
        };
        for hint in hints.iter().chain(elsewhere) {
            resolver.apply(hint);
        }
        let found = resolver.found;
        self.blocks_named.append(&mut names);
        found
    }

    /// Warns about hints whose block was not found.
    pub(super) fn unresolved_hints(&mut self) {
        for hint in self.context.hints {
            let Some(block) = hint.other_block() else { continue };
            if !self.blocks_named.iter().any(|name| name.eq_ignore_ascii_case(block)) {
                let name = format_args!("`{block}`").to_string();
                self.warnings.push(MysqlError::unknown_block_of_hint(name, &hint.name));
            }
        }
    }
}

struct Resolver<'b, 'w> {
    block: &'b mut Block,
    /// The name of the block.
    name: String,
    found: BlockHints,
    warnings: &'w mut Vec<MysqlError>,
}

impl Resolver<'_, '_> {
    fn apply(&mut self, hint: &Hint) {
        match &hint.about {
            HintTarget::BlockName(_) => {}
            HintTarget::Tables(tables) => match hint.name.as_str() {
                "JOIN_FIXED_ORDER" => self.found.fixed_order = true,
                "JOIN_ORDER" => self.join_order(hint, JoinPlace::Anywhere, tables),
                "JOIN_PREFIX" => self.join_order(hint, JoinPlace::First, tables),
                "JOIN_SUFFIX" => self.join_order(hint, JoinPlace::Last, tables),
                _ => self.of_tables(hint, tables),
            },
            HintTarget::Indexes(table, indexes) => self.of_indexes(hint, table, indexes),
            HintTarget::Strategies(strategies) => self.semijoin(hint, strategies),
        }
    }

    fn means_nothing(&mut self, hint: &Hint) {
        let what = format_args!("optimizer hint {}", hint.name).to_string();
        self.warnings.push(MysqlError::not_supported(what));
    }

    fn conflicting(&mut self, hint: &Hint, about: &str) {
        self.warnings.push(MysqlError::conflicting_hint(format_args!("{}({about})", hint.name)));
    }

    fn shown(&self, table: &HintTable) -> String {
        format!("`{}`@`{}`", table.name, self.name)
    }

    fn relation(&mut self, hint: &Hint, table: &HintTable) -> Option<usize> {
        let found = self.block.relations.iter().position(|relation| relation.alias == table.name);
        if found.is_none() {
            let name = self.shown(table);
            self.warnings.push(MysqlError::unresolved_hint_name(name, &hint.name));
        }
        found
    }

    fn join_order(&mut self, hint: &Hint, place: JoinPlace, tables: &[HintTable]) {
        let relations: Vec<usize> = tables.iter().filter_map(|table| self.relation(hint, table)).collect();
        let known = |order: &JoinOrder| order.place == place && place != JoinPlace::Anywhere;
        let distinct: BTreeSet<&usize> = relations.iter().collect();
        if distinct.len() < relations.len() || self.found.join_orders.iter().any(known) {
            let about = tables.iter().map(|table| self.shown(table)).collect::<Vec<_>>().join(",");
            return self.conflicting(hint, &about);
        }
        // A hint with an unknown table has no effect.
        if relations.len() == tables.len() && !relations.is_empty() {
            self.found.join_orders.push(JoinOrder { place, relations });
        }
    }

    fn of_tables(&mut self, hint: &Hint, tables: &[HintTable]) {
        let (name, wanted) = match hint.name.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (hint.name.as_str(), true),
        };
        let choice: fn(&mut TableHints) -> &mut Option<bool> = match name {
            "MERGE" => |hints| &mut hints.merge,
            "DERIVED_CONDITION_PUSHDOWN" => |hints| &mut hints.condition_pushdown,
            // Since 8.0.20 BNL decides about hash joins.
            "HASH_JOIN" | "BNL" => |hints| &mut hints.hash_join,
            "BKA" => |hints| &mut hints.batched_keys,
            _ => return self.means_nothing(hint),
        };
        let all: Vec<HintTable> = match tables.is_empty() {
            true => {
                let named = |alias: &String| HintTable { name: alias.clone(), block: None };
                self.block.relations.iter().map(|relation| named(&relation.alias)).collect()
            }
            false => tables.to_vec(),
        };
        for table in &all {
            let Some(at) = self.relation(hint, table) else { continue };
            let Some(relation) = self.block.relations.get_mut(at) else { continue };
            let chosen = choice(&mut relation.hints);
            if chosen.is_some() {
                let about = self.shown(table);
                self.conflicting(hint, &about);
            } else {
                *chosen = Some(wanted);
            }
        }
    }

    fn of_indexes(&mut self, hint: &Hint, table: &HintTable, indexes: &[String]) {
        let Some(at) = self.relation(hint, table) else { return };
        let Some(relation) = self.block.relations.get(at) else { return };
        let RelationSource::Base(base) = &relation.source else { return };
        let base = base.clone();
        let mut positions = Vec::with_capacity(indexes.len());
        for name in indexes {
            let is_named = |index: &std::sync::Arc<leafline_table::IndexDef>| {
                index.name.eq_ignore_ascii_case(name) && !index.is_hidden()
            };
            match base.ordered_indexes().iter().position(is_named) {
                Some(position) => positions.push(position),
                None => {
                    let name = format!("{} `{name}`", self.shown(table));
                    self.warnings.push(MysqlError::unresolved_hint_name(name, &hint.name));
                }
            }
        }
        if !indexes.is_empty() && positions.is_empty() {
            return;
        }
        let all = indexes.is_empty();
        let hinted = self.found.indexed.insert((at, hint.name.clone()));
        let Some(relation) = self.block.relations.get_mut(at) else { return };
        let TableHints { indexes: choices, unpushed, skip_scan, index_merge, multi_range_read, .. } =
            &mut relation.hints;
        let (name, wanted) = match hint.name.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (hint.name.as_str(), true),
        };
        let purposes = match name {
            "INDEX" => vec![&mut choices.join, &mut choices.order_by, &mut choices.group_by],
            "JOIN_INDEX" => vec![&mut choices.join],
            "ORDER_INDEX" => vec![&mut choices.order_by],
            "GROUP_INDEX" => vec![&mut choices.group_by],
            "ICP" => {
                let everything = (0..base.indexes.len()).collect();
                unpushed.extend(if all { everything } else { positions });
                return;
            }
            "SKIP_SCAN" | "INDEX_MERGE" | "MRR" => {
                let strategy = match name {
                    "SKIP_SCAN" => skip_scan,
                    "INDEX_MERGE" => index_merge,
                    _ => multi_range_read,
                };
                if let Some(known) = strategy
                    && name == "MRR"
                    && !all
                    && known.is_of_others(&positions)
                {
                    // Each index is checked by itself.
                    let named = known.indexes.get_or_insert_default();
                    if known.wanted == wanted { named } else { &mut known.opposite }.extend(positions);
                    return;
                }
                if strategy.is_some() {
                    let about = self.shown(table);
                    return self.conflicting(hint, &about);
                }
                *strategy =
                    Some(Strategy { wanted, indexes: (!all).then_some(positions), opposite: Vec::new() });
                return;
            }
            _ => return self.means_nothing(hint),
        };
        if !hinted {
            let about = self.shown(table);
            return self.conflicting(hint, &about);
        }
        for choice in purposes {
            // An optimizer hint overrides USE, FORCE and IGNORE INDEX.
            *choice = match (wanted, all) {
                (true, true) => IndexChoice { forced: true, ..IndexChoice::default() },
                (true, false) => {
                    IndexChoice { only: Some(positions.clone()), forced: true, ignored: Vec::new() }
                }
                (false, true) => {
                    IndexChoice { ignored: (0..base.indexes.len()).collect(), ..IndexChoice::default() }
                }
                (false, false) => IndexChoice { ignored: positions.clone(), ..IndexChoice::default() },
            };
        }
    }

    fn semijoin(&mut self, hint: &Hint, strategies: &[String]) {
        let wanted = hint.name == "SEMIJOIN";
        if self.found.semijoin.is_some() {
            return self.conflicting(hint, "");
        }
        let distinct: BTreeSet<&String> = strategies.iter().collect();
        if hint.name == "NO_SEMIJOIN" && !distinct.is_empty() && distinct.len() < SEMIJOIN_STRATEGIES {
            let what = "optimizer hint NO_SEMIJOIN for some strategies";
            return self.warnings.push(MysqlError::not_supported(what));
        }
        // The price decides between the two remaining strategies that SUBQUERY() names.
        self.found.semijoin = Some(wanted);
    }
}
