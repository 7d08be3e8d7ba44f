//! The `leafline` binary.

fn main() {}
