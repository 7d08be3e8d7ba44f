//! The `leafline` binary.

mod cli;

use leafline::CountingAllocator;
use std::alloc::System;
use std::process::ExitCode;

/// Counts memory, so that `leafline_server_memory` bounds that of all statements together.
#[global_allocator]
static MEMORY: CountingAllocator<System> = CountingAllocator(System);

fn main() -> ExitCode {
    leafline::tune_allocator();
    cli::run(std::env::args_os().collect())
}
