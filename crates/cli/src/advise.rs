//! `leafline advise`: proposes indexes that would make a workload faster, as a script of the statements that create
//! and drop them.

use super::args::AdviseOptions as Options;
use super::args::Disk;
use super::existing::no_database;
use super::failure::Failure;
use super::open;
use leafline::Connection;
use std::fs;
use std::path::PathBuf;

/// Runs the verb.
pub fn run(options: &Options) -> Result<(), Failure> {
    let dir = &options.open.dir;
    if !dir.join("control").exists() {
        return Err(no_database(dir));
    }
    let read = |workload: &PathBuf| {
        fs::read_to_string(workload)
            .map_err(|error| Failure::io(format!("cannot read {}", workload.display()), error))
    };
    let text = options.workload.as_ref().map(read).transpose()?;
    let opening = open::options(&options.open, options.buffer_pool_size, Disk::None);
    let database = open::database(&opening, dir)?;
    let mut connection = database.connect()?;
    if let Some(name) = &options.database {
        connection.session().set_database(name).map_err(leafline::Error::from)?;
    }
    let count = advise(&mut connection, text.as_deref(), options.verify)?;
    for warning in connection.session().warnings().iter() {
        eprintln!("{}", warning.message);
    }
    if count == 0 {
        eprintln!("There is nothing to gain from other indexes");
    }
    drop(connection);
    database.close()?;
    Ok(())
}

/// Prints the advice, each statement below the reasons for it; returns how many statements there are.
fn advise(connection: &mut Connection, text: Option<&str>, verify: bool) -> Result<usize, Failure> {
    let verified = if verify { " VERIFY" } else { "" };
    let mut source = "";
    if let Some(text) = text {
        connection.execute("SET @workload = ?", (text,))?;
        source = " FROM @workload";
    }
    let mut count = 0;
    for row in connection.query(&format!("ADVISE{verified}{source}"), ())? {
        let row = row?;
        let number = |name| row.get::<i64>(name);
        println!("-- {}", row.get::<String>("WHY")?);
        let (before, after) = (number("READS_BEFORE_US")?, number("READS_AFTER_US")?);
        println!(
            "-- reads: {before} us before, {after} us after ({} % less); writes: {:+} us; space: {:+} bytes",
            number("GAIN_PERCENT")?,
            number("WRITES_US")?,
            number("BYTES")?
        );
        if let Some(verified) = row.get::<Option<String>>("VERIFIED")? {
            println!("-- {verified}");
        }
        println!("{};\n", row.get::<String>("STATEMENT")?);
        count += 1;
    }
    Ok(count)
}
