//! Leafline beside redb, LMDB, fjall, RocksDB and SQLite, in one process, on the same rows.
//!
//! `embedded [--rows N] [--engine NAME]... [--threads 1,2] [--keys int,text] [--memory BYTES] [--directory PATH]`
//!
//! Every engine stores keys (8-byte integers, or strings of 30 bytes) with values of 100 bytes, and is as durable as it can
//! be when it commits. Leafline is used through its interface without SQL (`leafline::Table`); SQLite through prepared
//! statements, as it has nothing below them; the others through their own interfaces. Each line is one figure: operations
//! per second, all threads together.

mod engine;
mod engines;
mod workload;

use engine::{Engine, Keys};
use std::path::PathBuf;
use workload::Workload;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut workload = Workload::default();
    let mut names: Vec<String> = Vec::new();
    let mut directory = PathBuf::from("target/embedded");
    let (mut threads, mut keys) = (vec![1, 2], vec![Keys::Int, Keys::Text]);
    let mut memory = 1 << 30;
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| usage(&argument));
        let number = || value.parse::<u64>().unwrap_or_else(|_| usage(&value));
        match argument.as_str() {
            "--rows" => workload.rows = number(),
            "--seconds" => workload.seconds = number() as f64,
            "--engine" => names.push(value.clone()),
            "--threads" => threads = value.split(',').map(|n| n.parse().unwrap_or_else(|_| usage(n))).collect(),
            "--keys" => keys = value.split(',').map(|k| Keys::parse(k).unwrap_or_else(|| usage(k))).collect(),
            "--memory" => memory = number(),
            "--directory" => directory = PathBuf::from(&value),
            _ => usage(&argument),
        }
    }
    println!("engine\tkeys\tthreads\tworkload\tops/s");
    for keys in keys {
        for (name, open) in engines::ALL {
            if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
                continue;
            }
            let path = directory.join(format!("{name}-{}", keys.name()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).expect("the directory can be made");
            let engine: Box<dyn Engine> = open(&path, keys, memory);
            workload.run(name, &*engine, keys, &threads);
            drop(engine);
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn usage(what: &str) -> ! {
    eprintln!("not understood: {what}");
    eprintln!(
        "usage: embedded [--rows N] [--seconds N] [--engine NAME]... [--threads 1,2] [--keys int,text] [--memory BYTES] [--directory PATH]"
    );
    std::process::exit(2);
}
