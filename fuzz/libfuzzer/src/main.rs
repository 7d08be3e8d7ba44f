//! One binary for all targets: `LEAFLINE_FUZZ` names the one to run.

#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<leafline_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("LEAFLINE_FUZZ").unwrap_or_default();
    let found = leafline_fuzz::TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("LEAFLINE_FUZZ names no target: '{name}'")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
