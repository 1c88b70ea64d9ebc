//! How much memory of the host is free.

#[cfg(any(target_os = "linux", test))]
use std::path::Path;

#[cfg(target_os = "linux")]
use openvm_metal_common::{address_space, memory_limit};

#[cfg(any(target_os = "linux", test))]
use crate::control_groups::{self, number_behind};

/// Share of the free memory that records and traces may take unless it is set: the rest is for the guest's memory, nodes of the
/// aggregation and everything else.
const SHARE: (u64, u64) = (3, 4);

/// Bytes of records and traces that the host may hold unless it is set: three quarters of what is free now. No bound if the
/// system does not say what is free.
pub fn default_host_memory() -> u64 {
    free().map_or(u64::MAX, |free| free / SHARE.1 * SHARE.0)
}

/// Bytes that are free or can be freed, or that resource limits leave if that is less. Nothing if the system does not say.
#[cfg(target_os = "linux")]
fn free() -> Option<u64> {
    let limit = memory_limit().map(|limit| {
        let held = address_space().unwrap_or(0);
        limit.bytes.saturating_sub(held)
    });
    [free_below(Path::new("/")), limit]
        .into_iter()
        .flatten()
        .min()
}

/// Bytes that are free or can be freed: of the machine, or of the control groups if they leave less. `root` is the folder that `/`
/// stands for.
#[cfg(any(target_os = "linux", test))]
fn free_below(root: &Path) -> Option<u64> {
    let machine = std::fs::read_to_string(root.join("proc/meminfo")).ok();
    let machine = machine.and_then(|text| of_machine(&text));
    [machine, control_groups::free(root)]
        .into_iter()
        .flatten()
        .min()
}

/// All memory of the machine: what is free is not told in a portable way.
#[cfg(not(target_os = "linux"))]
fn free() -> Option<u64> {
    // SAFETY: plain queries.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let [pages, page] = [pages, page].map(|n| u64::try_from(n).unwrap_or(0));
    Some(pages.saturating_mul(page)).filter(|&bytes| bytes > 0)
}

/// From the text of `/proc/meminfo`.
#[cfg(any(target_os = "linux", test))]
fn of_machine(text: &str) -> Option<u64> {
    let kib = number_behind(text, "MemAvailable:")?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_free_is_read_from_the_system_s_files() {
        let meminfo =
            "MemTotal:  16000 kB\nMemFree:    10 kB\nMemAvailable:    8000 kB\nBuffers: 1 kB\n";
        assert_eq!(of_machine(meminfo), Some(8000 * 1024));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);

        let name = format!("openvm-metal-free-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        assert_eq!(free_below(&root), None);
        for folder in ["proc/self", "sys/fs/cgroup/a"] {
            fs::create_dir_all(root.join(folder)).expect("made");
        }
        let file = |name: &str, text: &str| fs::write(root.join(name), text).expect("written");
        file("proc/meminfo", meminfo);
        assert_eq!(free_below(&root), Some(8000 * 1024));
        file("proc/self/cgroup", "0::/a\n");
        file(
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        );
        file("sys/fs/cgroup/a/memory.max", "5000000\n");
        file("sys/fs/cgroup/a/memory.current", "1000000\n");
        assert_eq!(free_below(&root), Some(4_000_000));
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(default_host_memory() > 1 << 20);
    }
}
