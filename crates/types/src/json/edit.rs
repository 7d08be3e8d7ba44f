//! Edits a tree at the place that a path names. The path must select at most one value.

use super::node::{Key, Node};
use super::path::{Index, Leg};

/// Returns the value that the path names, if it exists.
fn locate<'n>(node: &'n mut Node, legs: &[Leg]) -> Option<&'n mut Node> {
    legs.iter().try_fold(node, |node, leg| match (leg, node) {
        (Leg::Member(name), Node::Object(members)) => members.get_mut(&Key(name.clone())),
        (Leg::Cell(index), Node::Array(cells)) => {
            let at = index.within(cells.len())?;
            cells.get_mut(at)
        }
        (Leg::Cell(index), other) if index.within(1).is_some() => Some(other),
        _ => None,
    })
}

/// Whether existing values are replaced and missing ones added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// JSON_INSERT: adds a missing value, replaces none.
    Insert,
    /// JSON_REPLACE: replaces an existing value, adds none.
    Replace,
    /// JSON_SET: replaces or adds.
    Set,
}

/// Puts a value at the place that the path names. A new cell goes to the end of its array or before its first cell; a
/// value that is not an array is wrapped in one. Does nothing if the parent value does not exist.
pub fn put(node: &mut Node, legs: &[Leg], value: Node, mode: Mode) {
    if let Some(found) = locate(node, legs) {
        if mode != Mode::Insert {
            *found = value;
        }
        return;
    }
    let Some((last, parents)) = legs.split_last() else { return };
    if mode == Mode::Replace {
        return;
    }
    match (last, locate(node, parents)) {
        (Leg::Member(name), Some(Node::Object(members))) => {
            members.insert(Key(name.clone()), value);
        }
        (Leg::Cell(index), Some(Node::Array(cells))) => insert_new(cells, *index, value),
        (Leg::Cell(index), Some(parent)) => {
            let mut cells = vec![std::mem::replace(parent, Node::Null)];
            insert_new(&mut cells, *index, value);
            *parent = Node::Array(cells);
        }
        _ => {}
    }
}

/// Adds a cell that does not exist: behind all others, or before them if `index` counts from the last.
fn insert_new(cells: &mut Vec<Node>, index: Index, value: Node) {
    match index {
        Index::First(_) => cells.push(value),
        Index::Last(_) => cells.insert(0, value),
    }
}

/// Appends a cell to the array that the path names; a value that is not an array is wrapped in one.
pub fn append(node: &mut Node, legs: &[Leg], value: Node) {
    let Some(found) = locate(node, legs) else { return };
    let mut cells = std::mem::replace(found, Node::Null).into_cells();
    cells.push(value);
    *found = Node::Array(cells);
}

/// Inserts a cell before the one that the path names, if its parent is an array. Returns whether the path names a
/// cell.
pub fn insert_cell(node: &mut Node, legs: &[Leg], value: Node) -> bool {
    let Some((Leg::Cell(index), parents)) = legs.split_last() else { return false };
    if let Some(Node::Array(cells)) = locate(node, parents) {
        cells.insert(index.place(cells.len()), value);
    }
    true
}

/// Removes the member or cell that the path names. Returns whether the path names one; `$` does not.
pub fn remove(node: &mut Node, legs: &[Leg]) -> bool {
    let Some((last, parents)) = legs.split_last() else { return false };
    match (last, locate(node, parents)) {
        (Leg::Member(name), Some(Node::Object(members))) => {
            members.remove(&Key(name.clone()));
        }
        (Leg::Cell(index), Some(Node::Array(cells))) => {
            if let Some(at) = index.within(cells.len()) {
                cells.remove(at);
            }
        }
        _ => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::{Json, Path, parse};
    use super::*;

    type Change = fn(&mut Node, &[Leg], Node);

    #[test]
    fn a_path_of_many_legs_takes_no_stack() {
        let mut node = parse::parse("1").unwrap();
        let path = Path::parse(&format!("${}", "[0]".repeat(100_000))).unwrap();
        put(&mut node, path.legs(), Node::Int(9), Mode::Set);
        assert!(matches!(node, Node::Int(9)));
    }

    #[test]
    fn changes_are_mysqls() {
        let insert: Change = |node, legs, v| put(node, legs, v, Mode::Insert);
        let replace: Change = |node, legs, v| put(node, legs, v, Mode::Replace);
        let set: Change = |node, legs, v| put(node, legs, v, Mode::Set);
        let cell: Change = |node, legs, v| assert!(insert_cell(node, legs, v));
        let gone: Change = |node, legs, _| assert!(remove(node, legs));
        for (change, document, path, expected) in [
            (insert, "[1, 2]", "$[7]", "[1, 2, 9]"),
            (insert, "[1, 2]", "$[last-2]", "[9, 1, 2]"),
            (insert, "[1, 2]", "$[last-1]", "[1, 2]"),
            (insert, "[]", "$[last]", "[9]"),
            (insert, "1", "$[1]", "[1, 9]"),
            (insert, "1", "$[last-1]", "[9, 1]"),
            (insert, "1", "$[0]", "1"),
            (insert, "[1, 2]", "$[1][1]", "[1, [2, 9]]"),
            (insert, "{\"a\": 1}", "$.a.b", "{\"a\": 1}"),
            (insert, "{\"a\": {}}", "$.a.b", "{\"a\": {\"b\": 9}}"),
            (insert, "{}", "$.a.b", "{}"),
            (replace, "{\"a\": 1}", "$.b", "{\"a\": 1}"),
            (replace, "{\"a\": 1}", "$.a[0]", "{\"a\": 9}"),
            (set, "{\"a\": 1}", "$", "9"),
            (append, "{\"a\": 1}", "$[0].a", "{\"a\": [1, 9]}"),
            (append, "[1]", "$", "[1, 9]"),
            (cell, "[1, 2]", "$[last]", "[1, 9, 2]"),
            (cell, "[1, 2]", "$[last-5]", "[9, 1, 2]"),
            (cell, "true", "$[0]", "true"),
            (gone, "[1, 2]", "$[0]", "[2]"),
            (gone, "{\"a\": 1, \"b\": [3]}", "$.b[last]", "{\"a\": 1, \"b\": []}"),
            (gone, "1", "$[0]", "1"),
        ] {
            let mut node = parse::parse(document).unwrap();
            let path = Path::parse(path).unwrap();
            change(&mut node, path.legs(), Node::Int(9));
            assert_eq!(Json::new(&node).unwrap().to_string(), expected, "{document} {path:?}");
        }
    }
}
