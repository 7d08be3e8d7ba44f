//! The memory of the machine, as far as this process may use it.
//!
//! The least of: the memory of the machine; the limits of the process's control group and of the groups above
//! it, in both versions of control groups; the limits on its address space and its data
//! (`ulimit -v`, `ulimit -d`).

use rustix::process::{Resource, getrlimit};
use std::fs::read_to_string;
use std::path::Path;

/// Tenths of the machine's memory that pages and statements may take together.
const TENTHS: u64 = 8;

/// Least value of `leafline_server_memory`, bytes.
pub(crate) const LEAST_SERVER_MEMORY: u64 = 64 << 20;

/// Bytes that a process maps and does not use, such as stacks of threads: limits on address space and data
/// count them.
const MAPPED: u64 = 48 << 20;

/// Bytes of memory that this process may use, if they can be determined.
pub fn machine_memory() -> Option<u64> {
    let total = memory_total(&read_to_string("/proc/meminfo").ok()?)?;
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let least = group_limits(&groups, |path| read_to_string(path).ok()).chain(own_limits()).min();
    Some(least.map_or(total, |least| total.min(least)))
}

/// The default of `leafline_server_memory` beside a buffer pool of `pool` bytes.
pub(crate) fn default_server_memory(pool: u64) -> u64 {
    let most = machine_memory().map_or(u64::MAX, |memory| memory / 10 * TENTHS);
    most.saturating_sub(pool).max(LEAST_SERVER_MEMORY)
}

fn own_limits() -> impl Iterator<Item = u64> {
    let limits =
        [Resource::As, Resource::Data].into_iter().filter_map(|resource| getrlimit(resource).current);
    limits.map(|limit| limit.saturating_sub(MAPPED).max(limit / 2))
}

fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The limits of the control groups in `/proc/self/cgroup`, of the groups above them, and of the root that a
/// container sees.
fn group_limits(groups: &str, read: impl Fn(&Path) -> Option<String>) -> impl Iterator<Item = u64> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let root = Path::new(root);
        let group = root.join(path.trim_start_matches('/'));
        let limits = group.ancestors().take_while(|above| above.starts_with(root));
        found.extend(limits.filter_map(|group| read(&group.join(file))?.trim().parse::<u64>().ok()));
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_meminfo() {
        assert_eq!(memory_total("MemTotal:       24 kB\nMemFree: 1 kB\n"), Some(24 * 1024));
        assert_eq!(memory_total("MemFree: 1 kB\n"), None);
        assert!(machine_memory().is_none_or(|bytes| bytes > 0));
        assert_eq!(default_server_memory(u64::MAX), LEAST_SERVER_MEMORY);
    }

    #[test]
    fn limits_of_control_groups_are_those_of_all_above() {
        let limits = |groups: &str| {
            let read = |path: &Path| match path.to_str() {
                Some("/sys/fs/cgroup/a/b/memory.max") => Some("max\n".to_owned()),
                Some("/sys/fs/cgroup/a/memory.max") => Some("500\n".to_owned()),
                Some("/sys/fs/cgroup/memory/c/memory.limit_in_bytes") => Some("70\n".to_owned()),
                _ => None,
            };
            group_limits(groups, read).collect::<Vec<_>>()
        };
        assert_eq!(limits("0::/a/b\n"), [500]);
        assert_eq!(limits("5:cpu:/c\n4:memory:/c\n"), [70]);
        assert_eq!(limits("0::/\n"), []);
    }
}
