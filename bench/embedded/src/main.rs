//! Compares Leafline with redb, LMDB, fjall, RocksDB and SQLite, in one process, on the same rows.
//!
//! `embedded [--rows N] [--seconds N] [--rounds N] [--only WORKLOAD] [--data beyond-memory] [--engine NAME]...
//! [--threads 1,2] [--keys int,text] [--memory BYTES] [--page-size BYTES] [--directory PATH]`
//!
//! Every engine stores keys (8-byte integers, or strings of 30 bytes) with values of 100 bytes, and commits as
//! durably as it can. Leafline is used through its interface without SQL (`leafline::Table`); SQLite through prepared
//! statements, because it has no lower interface; the others through their own interfaces. Each line is one figure:
//! engine, keys, threads, workload, and operations per second of all threads together. The engines take turns, and
//! the median of the rounds counts, so that other load on the machine affects all of them.

mod engine;
mod engines;
mod workload;

use engine::{Keys, Settings};
use std::path::PathBuf;
use workload::{Contender, Workload};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut workload = Workload::default();
    let mut names: Vec<String> = Vec::new();
    let mut directory = PathBuf::from("target/embedded");
    let (mut threads, mut keys) = (vec![1, 2], vec![Keys::Int, Keys::Text]);
    let (mut memory, mut page_size) = (1 << 30, 0);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| usage(&argument));
        let number = || value.parse::<u64>().unwrap_or_else(|_| usage(&value));
        match argument.as_str() {
            "--rows" => workload.rows = number(),
            "--seconds" => workload.seconds = number() as f64,
            "--data" if value == "beyond-memory" => workload.beyond_memory = true,
            "--rounds" => workload.rounds = number().max(1) as usize,
            "--only" => workload.only = value.clone(),
            "--engine" => names.push(value.clone()),
            "--threads" => {
                threads = value.split(',').map(|n| n.parse().unwrap_or_else(|_| usage(n))).collect()
            }
            "--keys" => keys = value.split(',').map(|k| Keys::parse(k).unwrap_or_else(|| usage(k))).collect(),
            "--memory" => memory = number(),
            "--page-size" => page_size = number() as usize,
            "--directory" => directory = PathBuf::from(&value),
            _ => usage(&argument),
        }
    }
    for keys in keys {
        let settings = Settings { keys, memory, page_size, beyond_memory: workload.beyond_memory };
        let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
        let chosen = engines::ALL.iter().filter(|(name, _)| wanted(name));
        let contenders: Vec<Contender> = chosen
            .map(|&(name, open)| {
                let path = directory.join(format!("{name}-{}", keys.name()));
                let _ = std::fs::remove_dir_all(&path);
                std::fs::create_dir_all(&path).expect("the directory can be made");
                Contender { name, engine: open(&path, &settings) }
            })
            .collect();
        contenders.iter().for_each(|contender| workload.load(contender, keys));
        threads.iter().for_each(|&threads| workload.run(&contenders, keys, threads));
        drop(contenders);
        let _ = std::fs::remove_dir_all(&directory);
    }
}

fn usage(what: &str) -> ! {
    eprintln!("not understood: {what}");
    eprintln!(
        "usage: embedded [--rows N] [--seconds N] [--rounds N] [--only WORKLOAD] [--data beyond-memory] [--engine NAME]... [--threads 1,2] [--keys int,text] [--memory BYTES] [--page-size BYTES] [--directory PATH]"
    );
    std::process::exit(2);
}
