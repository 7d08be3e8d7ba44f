//! Answers requests of the console's pages: counters, statements, indexes and page maps.

use super::Shared;
use super::shapes::{index_size, page_map, statement, statement_id};
use crate::http::Request;
use leafline_sql::observed::StatementId;
use leafline_sql::status::StatusKind;
use leafline_types::MysqlError;
use serde_json::{Map, Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most statements in a list.
const MOST_STATEMENTS: usize = 200;

/// Why a request fails: an HTTP status and a message.
pub(super) struct Refusal(pub u16, pub String);

impl From<MysqlError> for Refusal {
    fn from(error: MysqlError) -> Refusal {
        Refusal(400, format!("ERROR {}: {}", error.code, error.message))
    }
}

/// Returns the statement that a request names.
pub(super) fn named_statement(request: &Request) -> Result<StatementId, Refusal> {
    let digest = request.parameter("digest").ok_or_else(|| Refusal(400, "no statement is named".into()))?;
    Ok(StatementId { schema: request.parameter("schema").map(str::to_owned), digest: digest.to_owned() })
}

impl Shared {
    /// Returns the status variables: counters, which only grow, and gauges.
    pub(super) fn status(&self) -> Value {
        let (mut counters, mut gauges) = (Map::new(), Map::new());
        for (name, value, is) in self.instance.status() {
            match is {
                StatusKind::Counter => counters.insert(name.to_owned(), value.into()),
                StatusKind::Gauge => gauges.insert(name.to_owned(), value.into()),
            };
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "at": now.as_secs_f64(),
            "version": self.instance.facts().version,
            "directory": self.instance.facts().data_directory,
            "counters": counters,
            "gauges": gauges,
        })
    }

    /// Returns the statements that took most time, and the load of each over time.
    pub(super) fn statements(&self) -> Value {
        let listed: Vec<Value> = self.instance.statements(MOST_STATEMENTS).iter().map(statement).collect();
        let history = self.history.lock();
        let samples = history.samples().map(|sample| {
            let loads = sample
                .loads
                .iter()
                .map(|(id, time, executions)| json!([statement_id(id), time.as_secs_f64(), executions]));
            json!({
                "at": sample.at,
                "seconds": sample.length.as_secs_f64(),
                "loads": loads.collect::<Vec<_>>(),
                "rest": [sample.rest.0.as_secs_f64(), sample.rest.1],
            })
        });
        json!({ "statements": listed, "samples": samples.collect::<Vec<_>>() })
    }

    /// Returns the sizes of all indexes.
    pub(super) fn indexes(&self) -> Value {
        let page_bytes = self.instance.facts().page_bytes;
        let indexes: Vec<Value> = self.instance.index_sizes().iter().map(index_size).collect();
        json!({ "page_bytes": page_bytes, "indexes": indexes })
    }

    /// Returns the page map of an index: where its leaves lie in the file.
    pub(super) fn map(&self, request: &Request) -> Result<Value, Refusal> {
        let name = |name| request.parameter(name).unwrap_or_default();
        let partition = request.parameter("partition");
        let map = self.instance.page_map(name("database"), name("table"), name("index"), partition)?;
        map.as_ref().map(page_map).ok_or_else(|| Refusal(404, "there is no such index".into()))
    }
}
