//! Opens connections that read a database at one snapshot, for threads that share the work.
//!
//! On Leafline each begins a transaction FROM the SESSION of the first one. Other servers block commits (FLUSH TABLES
//! WITH READ LOCK) until all have begun; if the account may not do that, there is only one connection.

use super::failure::Failure;
use super::link::{Link, Place};

/// Opens between one and `wanted` connections, each in a transaction that reads.
///
/// # Errors
/// Errors of the server.
pub fn connections(place: &Place, wanted: usize) -> Result<Vec<Link>, Failure> {
    let mut leader = place.connect()?;
    prepare(&mut leader)?;
    let mut links = Vec::new();
    if leader.is_leafline() {
        begin(&mut leader, " READ ONLY, WITH CONSISTENT SNAPSHOT")?;
        let id = leader.id();
        for _ in 1..wanted {
            let mut link = place.connect()?;
            prepare(&mut link)?;
            begin(&mut link, &format!(" READ ONLY, WITH CONSISTENT SNAPSHOT FROM SESSION {id}"))?;
            links.push(link);
        }
    } else {
        let is_locked = wanted > 1 && leader.execute("FLUSH TABLES WITH READ LOCK").is_ok();
        begin(&mut leader, " WITH CONSISTENT SNAPSHOT")?;
        for _ in 1..if is_locked { wanted } else { 1 } {
            let mut link = place.connect()?;
            prepare(&mut link)?;
            begin(&mut link, " WITH CONSISTENT SNAPSHOT")?;
            links.push(link);
        }
        if is_locked {
            leader.execute("UNLOCK TABLES")?;
        }
    }
    links.insert(0, leader);
    Ok(links)
}

/// Sets the session so that texts do not depend on the server's settings.
fn prepare(link: &mut Link) -> Result<(), Failure> {
    link.execute("SET NAMES utf8mb4")?;
    link.execute("SET SESSION time_zone = '+00:00', sql_mode = '', net_write_timeout = 86400")?;
    link.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    if link.is_leafline() {
        // Rows in the order of their keys load faster, and each thread has its own tables.
        link.execute("SET SESSION max_parallel_degree = 1")?;
    }
    Ok(())
}

fn begin(link: &mut Link, how: &str) -> Result<(), Failure> {
    link.execute(&format!("START TRANSACTION{how}"))
}
