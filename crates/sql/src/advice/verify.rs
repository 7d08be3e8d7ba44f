//! Tests proposals: builds each index, runs the queries that read its table before and after, and drops the
//! index again if they are no faster.
//!
//! The best of several runs of a query counts. Only queries that change and lock nothing are run; the cost of
//! the index for writes is not measured.

use super::Advice;
use super::workload::Query;
use crate::session::{Outcome, Session};
use leafline_types::MysqlError;
use std::time::Instant;

/// Number of runs of each query; the first ones read pages that are not in memory.
const RUNS: usize = 5;
/// Share of the time that an index has to save.
const LEAST_SAVED: f64 = 0.05;

/// Measures the cost of queries, each as often as the workload runs it.
pub(super) type Measure<'m> = &'m mut dyn FnMut(&mut Session, &[&Query]) -> Result<f64, MysqlError>;

/// Builds and measures the proposed indexes.
pub(super) fn verify(
    session: &mut Session,
    queries: &[Query],
    advice: &mut [Advice],
    measure: Measure<'_>,
) -> Result<(), MysqlError> {
    for one in advice.iter_mut() {
        let reads = |query: &&Query| {
            query.only_reads && query.wanted.iter().any(|wanted| wanted.table.id == one.table.id)
        };
        let measured: Vec<&Query> = queries.iter().filter(reads).collect();
        if measured.is_empty() {
            one.verified = Some("not built: no query that can be run reads the table".into());
            continue;
        }
        let before = measure(session, &measured)?;
        define(session, &one.statement)?;
        let after = measure(session, &measured);
        let is_better = after.as_ref().is_ok_and(|after| *after <= before * (1.0 - LEAST_SAVED));
        if let Some(undo) = one.undo.as_ref().filter(|_| !is_better) {
            define(session, undo)?;
        }
        let figures = format!("{before:.0} us before, {:.0} us after", after?);
        one.verified = Some(format!("{}: {figures}", if is_better { "kept" } else { "dropped again" }));
    }
    Ok(())
}

/// Runs a DDL statement.
fn define(session: &mut Session, sql: &str) -> Result<(), MysqlError> {
    let statement = session.parse(sql)?;
    session.run_statement(&statement, sql, &[])?;
    Ok(())
}

/// Time of the queries, microseconds.
pub(super) fn time_us(session: &mut Session, queries: &[&Query]) -> Result<f64, MysqlError> {
    let mut sum = 0.0;
    for query in queries {
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let begun = Instant::now();
            session.in_database(query.database.as_deref(), |session| run(session, &query.sql))?;
            best = best.min(begun.elapsed().as_secs_f64() * 1e6);
        }
        sum += best * query.runs;
    }
    Ok(sum)
}

/// Runs a query to its end.
pub(super) fn run(session: &mut Session, sql: &str) -> Result<(), MysqlError> {
    let statement = session.parse(sql)?;
    let planned = session.plan_statement(&statement, sql, Some(&[]))?;
    let planned = planned.ok_or_else(|| MysqlError::internal("a SELECT that is not planned"))?;
    if let Outcome::Rows(mut rows) = session.run_part(&planned, &[])? {
        while rows.next_batch(session)?.is_some() {}
    }
    Ok(())
}
