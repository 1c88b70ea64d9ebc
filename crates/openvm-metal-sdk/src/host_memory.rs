//! How much memory of the host is free.

/// Share of the free memory that records and traces may take unless it is set: the rest is for the guest's memory, nodes of the
/// aggregation and everything else.
const SHARE: (u64, u64) = (3, 4);

/// Bytes of records and traces that the host may hold unless it is set; no bound if the system does not say what is free.
pub(crate) fn default_bound() -> u64 {
    free().map_or(u64::MAX, |free| free / SHARE.1 * SHARE.0)
}

/// Bytes that are free or can be freed: of the machine, or of the control group if that has less. Nothing if the system
/// does not say.
#[cfg(target_os = "linux")]
fn free() -> Option<u64> {
    use std::fs::read_to_string;

    let machine = read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| of_machine(&text));
    let group = || {
        let file = |name| read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok();
        of_group(&file("max")?, &file("current")?, &file("stat")?)
    };
    [machine, group()].into_iter().flatten().min()
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

/// From the texts of a control group's files; nothing if it has no bound.
#[cfg(any(target_os = "linux", test))]
fn of_group(max: &str, current: &str, stat: &str) -> Option<u64> {
    let max: u64 = max.trim().parse().ok()?;
    let current: u64 = current.trim().parse().ok()?;
    // Files that nobody used lately: they go when memory is needed.
    let files = number_behind(stat, "inactive_file").unwrap_or(0);
    Some(max.saturating_sub(current.saturating_sub(files)))
}

/// The number behind a name at the start of a line.
#[cfg(any(target_os = "linux", test))]
fn number_behind(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_read_from_the_system_s_texts() {
        let meminfo =
            "MemTotal:  16000 kB\nMemFree:    10 kB\nMemAvailable:    8000 kB\nBuffers: 1 kB\n";
        assert_eq!(of_machine(meminfo), Some(8000 * 1024));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);

        let stat = "anon 5\ninactive_file 300\nactive_file 100\n";
        assert_eq!(of_group("1000\n", "800\n", stat), Some(500));
        assert_eq!(of_group("1000\n", "200\n", stat), Some(1000));
        assert_eq!(of_group("100\n", "800\n", ""), Some(0));
        assert_eq!(of_group("max\n", "800\n", stat), None);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(default_bound() > 1 << 20);
    }
}
