//! Random histories of transactions that append to lists and read them, checked for cycles of dependencies (Adya,
//! 1999; the method of Elle: Kingsbury and Alvaro, VLDB 2020).
//!
//! Every append has a unique number, so a list that was read tells the order of the writes before it, and a number
//! tells its writer. From that follow the edges between transactions: `ww` (its append comes next in the list), `wr`
//! (it read that append as the last one), `rw` (it read the list before that append).
//!
//! | cycle of | name | forbidden at |
//! |---|---|---|
//! | `ww` | G0 | every level |
//! | `ww`, `wr` | G1c | every level |
//! | those and one `rw` | G-single | REPEATABLE READ, SERIALIZABLE |
//! | those and any number of `rw` | G2 | SERIALIZABLE |

use super::clients::{Answer, Client, database, run};
use super::seeds::{scale, seed};
use leafline_sql::Instance;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: u64 = 12;
const THREADS: u64 = 4;

#[derive(Debug)]
enum Step {
    Append { key: u64, number: u64 },
    Read { key: u64, list: Vec<u64> },
}

#[derive(Debug)]
struct Transaction {
    steps: Vec<Step>,
    committed: bool,
}

fn list(text: &str) -> Vec<u64> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().expect("a number")).collect()
}

/// Runs the transactions of one client.
fn client(
    instance: &Arc<Instance>,
    level: &str,
    seed: u64,
    count: u64,
    numbers: &AtomicU64,
) -> Vec<Transaction> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut session = instance.connect().expect("a session");
    for sql in ["USE d", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")] {
        run(&mut session, sql).expect("succeeds");
    }
    let mut done = Vec::new();
    for _ in 0..count {
        let mut steps = Vec::new();
        let mut failed = false;
        let mut statement = |sql: &str| -> Answer { run(&mut session, sql) };
        statement("BEGIN").expect("succeeds");
        for _ in 0..random.random_range(1..5) {
            let key = random.random_range(0..KEYS);
            let answer = match random.random_range(0..6) {
                _ if random.random_range(0..8) == 0 => {
                    let last = (key + random.random_range(0..4)).min(KEYS - 1);
                    let column = if random.random() { "id" } else { "k" };
                    let sql =
                        format!("SELECT id, l FROM t WHERE {column} BETWEEN {key} AND {last} ORDER BY id");
                    let answer = statement(&sql);
                    if let Ok(rows) = &answer {
                        assert_eq!(rows.len() as u64, last - key + 1);
                        steps.extend(rows.iter().map(|row| {
                            let (key, text) = row.split_once(' ').expect("two values");
                            Step::Read { key: key.parse().expect("a key"), list: list(text) }
                        }));
                    }
                    answer
                }
                0..=2 => {
                    let number = numbers.fetch_add(1, Ordering::Relaxed);
                    steps.push(Step::Append { key, number });
                    // Some updates use the secondary index.
                    let column = if random.random() { "id" } else { "k" };
                    statement(&format!("UPDATE t SET l = CONCAT(l, '{number},') WHERE {column} = {key}"))
                }
                choice => {
                    let locking = match choice {
                        3 => " FOR UPDATE",
                        4 => " FOR SHARE",
                        _ => "",
                    };
                    let answer = statement(&format!("SELECT l FROM t WHERE id = {key}{locking}"));
                    if let Ok(rows) = &answer {
                        assert_eq!(rows.len(), 1);
                        steps.push(Step::Read { key, list: list(&rows[0]) });
                    }
                    answer
                }
            };
            match answer {
                Ok(_) => {}
                Err(1213) => {
                    failed = true;
                    break;
                }
                Err(other) => panic!("seed {seed}: error {other}"),
            }
        }
        let mut committed = !failed && random.random_range(0..8) > 0;
        if !failed {
            match statement(if committed { "COMMIT" } else { "ROLLBACK" }) {
                Err(1213) if committed && level == "SERIALIZABLE" => committed = false,
                other => drop(other.expect("succeeds")),
            }
        }
        done.push(Transaction { steps, committed });
    }
    done
}

/// The edges between committed transactions, by number.
#[derive(Default)]
struct Graph {
    ww: BTreeSet<(usize, usize)>,
    wr: BTreeSet<(usize, usize)>,
    rw: BTreeSet<(usize, usize)>,
}

fn graph(all: &[Transaction], lists: &BTreeMap<u64, Vec<u64>>, what: &str) -> Graph {
    let mut writers = HashMap::new();
    for (at, transaction) in all.iter().enumerate() {
        for step in &transaction.steps {
            if let Step::Append { number, .. } = step {
                writers.insert(*number, at);
            }
        }
    }
    let mut graph = Graph::default();
    let edge = |edges: &mut BTreeSet<(usize, usize)>, from: usize, to: usize| {
        if from != to {
            edges.insert((from, to));
        }
    };
    for (key, list) in lists {
        let distinct: BTreeSet<&u64> = list.iter().collect();
        assert_eq!(distinct.len(), list.len(), "{what}: key {key}: an append happened twice");
        for number in list {
            assert!(all[writers[number]].committed, "{what}: key {key}: {number} was rolled back (G1a)");
        }
        for pair in list.windows(2) {
            edge(&mut graph.ww, writers[&pair[0]], writers[&pair[1]]);
        }
    }
    for (at, transaction) in all.iter().enumerate().filter(|(_, transaction)| transaction.committed) {
        for (place, step) in transaction.steps.iter().enumerate() {
            let (key, read) = match step {
                Step::Append { key, number } => {
                    assert!(lists[key].contains(number), "{what}: {number} was committed and is lost");
                    continue;
                }
                Step::Read { key, list } => (key, list),
            };
            let own = |number: &u64| writers[number] == at;
            // The transaction's own appends before this read, and no later ones.
            let appended: Vec<u64> = transaction.steps[..place]
                .iter()
                .filter_map(|step| match step {
                    Step::Append { key: other, number } if other == key => Some(*number),
                    _ => None,
                })
                .collect();
            let seen: Vec<u64> = read.iter().copied().filter(own).collect();
            assert_eq!(seen, appended, "{what}: own writes of {transaction:?}");
            let others: Vec<u64> = read.iter().copied().filter(|number| !own(number)).collect();
            let of_others: Vec<u64> = lists[key].iter().copied().filter(|number| !own(number)).collect();
            assert!(of_others.starts_with(&others), "{what}: {read:?} is no state of {:?}", lists[key]);
            if let Some(last) = others.last() {
                // If a transaction's append is the last one seen, it must be the transaction's last to that list
                // (G1b).
                let writer = writers[last];
                let next = of_others.get(others.len());
                assert!(next.is_none_or(|next| writers[next] != writer), "{what}: half of {:?}", all[writer]);
                edge(&mut graph.wr, writer, at);
            }
            if let Some(next) = of_others.get(others.len()) {
                edge(&mut graph.rw, at, writers[next]);
            }
        }
    }
    graph
}

/// Returns the strongly connected component of each transaction (Kosaraju).
fn components(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    let mut forward = vec![Vec::new(); count];
    let mut backward = vec![Vec::new(); count];
    for &(from, to) in edges {
        forward[from].push(to);
        backward[to].push(from);
    }
    // Finishing order forward, then trees backward.
    let mut order = Vec::new();
    let mut seen = vec![false; count];
    for start in 0..count {
        let mut way = vec![(start, 0)];
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        while let Some((node, next)) = way.last_mut() {
            match forward[*node].get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to], true) {
                        way.push((to, 0));
                    }
                }
                None => {
                    order.push(*node);
                    way.pop();
                }
            }
        }
    }
    let mut component = vec![usize::MAX; count];
    for &root in order.iter().rev() {
        let mut left = vec![root];
        while let Some(node) = left.pop() {
            if component[node] == usize::MAX {
                component[node] = root;
                left.extend(&backward[node]);
            }
        }
    }
    component
}

fn is_reachable(from: usize, to: usize, edges: &BTreeSet<(usize, usize)>) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut left = vec![from];
    while let Some(node) = left.pop() {
        if node == to {
            return true;
        }
        left.extend(
            edges.range((node, 0)..=(node, usize::MAX)).map(|(_, to)| *to).filter(|to| seen.insert(*to)),
        );
    }
    false
}

/// Names the circles that a level forbids beyond G0 and G1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Forbids {
    Nothing,
    GSingle,
    G2,
}

fn check(all: &[Transaction], lists: &BTreeMap<u64, Vec<u64>>, forbids: Forbids, what: &str) {
    let graph = graph(all, lists, what);
    let written: BTreeSet<_> = graph.ww.union(&graph.wr).copied().collect();
    let component = components(all.len(), &written);
    for &(from, to) in &written {
        assert_ne!(component[from], component[to], "{what}: G0 or G1c: {:?} {:?}", all[from], all[to]);
    }
    if forbids >= Forbids::GSingle {
        for &(from, to) in &graph.rw {
            let circle = is_reachable(to, from, &written);
            assert!(!circle, "{what}: G-single: {:?} did not see {:?}", all[from], all[to]);
        }
    }
    if forbids >= Forbids::G2 {
        let edges: BTreeSet<_> = written.union(&graph.rw).copied().collect();
        let component = components(all.len(), &edges);
        for &(from, to) in &edges {
            assert_ne!(component[from], component[to], "{what}: G2: {:?} {:?}", all[from], all[to]);
        }
    }
}

fn histories(level: &str, forbids: Forbids) {
    let first = seed();
    for round in 0..3 * scale() {
        let seed = first.wrapping_add(round);
        let what = format!("seed {seed}, {level}");
        let instance = database();
        let setup = Client::new_without_database(&instance);
        setup.must(&["CREATE DATABASE d", "USE d"]);
        setup.must(&["CREATE TABLE t (id INT PRIMARY KEY, k INT, l VARCHAR(1500), UNIQUE KEY (k))"]);
        for key in 0..KEYS {
            setup.must(&[&format!("INSERT INTO t VALUES ({key}, {key}, '')")]);
        }
        let numbers = AtomicU64::new(1);
        let all: Vec<Transaction> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (instance, numbers) = (&instance, &numbers);
                    let seed = seed.wrapping_mul(THREADS).wrapping_add(thread);
                    scope.spawn(move || client(instance, level, seed, 250, numbers))
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect()
        });
        let rows = setup.must(&["SELECT id, l FROM t"]);
        let lists = rows.iter().map(|row| {
            let (key, text) = row.split_once(' ').expect("two values");
            (key.parse().expect("a key"), list(text))
        });
        check(&all, &lists.collect(), forbids, &what);
        let committed = all.iter().filter(|transaction| transaction.committed).count();
        assert!(committed > all.len() / 4, "{what}: {committed} of {} committed", all.len());
        assert_eq!(setup.must(&["CHECK TABLE t"]), ["d.t check status OK"], "{what}");
    }
}

#[test]
fn read_committed_has_no_g0_and_no_g1() {
    histories("READ COMMITTED", Forbids::Nothing);
}

#[test]
fn repeatable_read_has_no_g_single_either() {
    histories("REPEATABLE READ", Forbids::GSingle);
}

#[test]
fn serializable_has_no_g2_either() {
    histories("SERIALIZABLE", Forbids::G2);
}

/// The check finds what it is for: histories with one fault each.
#[test]
fn faults_are_found() {
    let append = |key, number| Step::Append { key, number };
    let read = |key, list: &[u64]| Step::Read { key, list: list.into() };
    let found = |all: Vec<Vec<Step>>, lists: &[(u64, &[u64])]| {
        let all: Vec<Transaction> =
            all.into_iter().map(|steps| Transaction { steps, committed: true }).collect();
        let lists = lists.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        let result = std::panic::catch_unwind(|| check(&all, &lists, Forbids::G2, "faulty"));
        result.err().map(|panic| *panic.downcast::<String>().expect("a message")).unwrap_or_default()
    };
    let name = |text: &str| {
        let after = text.split("faulty: ").nth(1).unwrap_or_default();
        after.split(':').next().unwrap_or_default().to_owned()
    };
    // Write cycle; circular information; lost update; read skew; lost append.
    let g0 = found(
        vec![vec![append(1, 1), append(2, 2)], vec![append(1, 3), append(2, 4)]],
        &[(1, &[1, 3]), (2, &[4, 2])],
    );
    assert_eq!(name(&g0), "G0 or G1c");
    let g1c = found(
        vec![vec![append(1, 1), read(2, &[2])], vec![append(2, 2), read(1, &[1])]],
        &[(1, &[1]), (2, &[2])],
    );
    assert_eq!(name(&g1c), "G0 or G1c");
    let p4 = found(vec![vec![read(1, &[]), append(1, 1)], vec![read(1, &[]), append(1, 2)]], &[(1, &[1, 2])]);
    assert_eq!(name(&p4), "G-single");
    let skew = found(
        vec![vec![append(1, 1), append(2, 2)], vec![read(1, &[]), read(2, &[2])]],
        &[(1, &[1]), (2, &[2])],
    );
    assert_eq!(name(&skew), "G-single");
    let write_skew = found(
        vec![vec![read(1, &[]), append(2, 2)], vec![read(2, &[]), append(1, 1)]],
        &[(1, &[1]), (2, &[2])],
    );
    assert_eq!(name(&write_skew), "G2");
    let lost = found(vec![vec![append(1, 1)], vec![append(1, 2)]], &[(1, &[2])]);
    assert!(lost.contains("is lost"), "{lost}");
    let fine = found(vec![vec![append(1, 1)], vec![read(1, &[1]), append(1, 2)]], &[(1, &[1, 2])]);
    assert_eq!(fine, "");
}
