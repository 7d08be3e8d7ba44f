//! The plans of a query that hints can force.

use super::Query;

/// For up to this many tables, all join orders and join methods are tried.
const FEW: usize = 3;

/// Returns the combinations of hints, first none.
pub fn hints(query: &Query) -> Vec<String> {
    let mut found = vec![String::new()];
    let access = |alias: &str, indexes: &[&str]| -> Vec<String> {
        let by_index = indexes.iter().flat_map(|index| {
            [
                format!("INDEX({alias} {index})"),
                format!("INDEX({alias} {index}) NO_MRR({alias})"),
                format!("SKIP_SCAN({alias} {index})"),
            ]
        });
        by_index
            .chain([
                format!("NO_INDEX({alias})"),
                format!("INDEX({alias} PRIMARY)"),
                format!("INDEX_MERGE({alias})"),
            ])
            .chain([format!("NO_INDEX_MERGE({alias}) NO_SKIP_SCAN({alias})"), format!("NO_ICP({alias})")])
            .collect()
    };
    let ways: Vec<Vec<String>> =
        query.tables.iter().map(|(alias, table)| access(alias, table.indexes)).collect();
    if query.tables.len() == 1 {
        found.extend(ways.into_iter().flatten());
        return found;
    }
    for order in orders(query.tables.len().min(FEW)) {
        let aliases: Vec<&str> = order.iter().map(|at| query.tables[*at].0).collect();
        let join_order = format!("JOIN_ORDER({})", aliases.join(", "));
        let inner = aliases[1..].join(", ");
        found.extend(["", "HASH_JOIN", "NO_HASH_JOIN"].map(|join| match join {
            "" => join_order.clone(),
            join => format!("{join_order} {join}({inner})"),
        }));
        let ways = ways.iter().flatten().filter(|way| !way.contains("NO_"));
        found.extend(ways.map(|way| format!("{join_order} {way}")));
    }
    found
}

/// Returns all permutations of `count` numbers.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(count - 1);
    let longer = |order: &Vec<usize>| {
        let order = order.clone();
        (0..count).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, count - 1);
            longer
        })
    };
    shorter.iter().flat_map(longer).collect()
}

/// Returns the text of a plan without estimates, prices and rejected candidates, which hints change.
pub fn shape(tree: &[String]) -> String {
    let mut shape = String::new();
    for line in tree.iter().flat_map(|text| text.lines()) {
        if !line.trim_start().starts_with("not taken:") {
            shape.push_str(line.split("(cost=").next().unwrap_or(line).trim_end());
            shape.push('\n');
        }
    }
    shape
}
