//! Free memory of the host.

#[cfg(any(target_os = "linux", test))]
use std::path::Path;

#[cfg(any(target_os = "linux", test))]
use crate::control_groups::{self, number_behind};
#[cfg(target_os = "linux")]
use crate::memory_limit::{address_space, memory_limit};

/// Bytes of the host's memory that are free or can be freed, or that control groups or resource limits leave if that is less. Nothing
/// if the system does not say.
#[cfg(target_os = "linux")]
pub fn free_memory() -> Option<u64> {
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
pub fn free_memory() -> Option<u64> {
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

/// Reads the text of `/proc/meminfo`.
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

        let temporary = tempfile::tempdir().expect("a folder");
        let root = temporary.path();
        assert_eq!(free_below(root), None);
        for folder in ["proc/self", "sys/fs/cgroup/a"] {
            fs::create_dir_all(root.join(folder)).expect("made");
        }
        let file = |name: &str, text: &str| fs::write(root.join(name), text).expect("written");
        file("proc/meminfo", meminfo);
        assert_eq!(free_below(root), Some(8000 * 1024));
        file("proc/self/cgroup", "0::/a\n");
        file(
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        );
        file("sys/fs/cgroup/a/memory.max", "5000000\n");
        file("sys/fs/cgroup/a/memory.current", "1000000\n");
        assert_eq!(free_below(root), Some(4_000_000));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(free_memory().is_some_and(|free| free > 1 << 20));
    }
}
