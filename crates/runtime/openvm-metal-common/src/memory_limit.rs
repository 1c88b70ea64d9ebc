//! The bound that resource limits set on this process's memory.

/// A resource limit on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The bytes that the process may have.
    pub bytes: u64,
    /// The limit's name in the system's interface.
    pub name: &'static str,
    /// The shell's command that shows and sets it.
    pub command: &'static str,
}

/// The limit that allows least; nothing if none is set. Allocates nothing, so that it can be asked when memory has ended.
#[cfg(target_os = "linux")]
pub fn memory_limit() -> Option<MemoryLimit> {
    // SAFETY: each call writes one `rlimit`, which is plain data.
    let limits = unsafe {
        let mut limits = [std::mem::zeroed::<libc::rlimit>(); 2];
        let read = [
            libc::getrlimit(libc::RLIMIT_AS, &mut limits[0]),
            libc::getrlimit(libc::RLIMIT_DATA, &mut limits[1]),
        ];
        if read != [0, 0] {
            return None;
        }
        limits
    };
    let names = [("RLIMIT_AS", "ulimit -v"), ("RLIMIT_DATA", "ulimit -d")];
    let set = limits
        .iter()
        .zip(names)
        .filter_map(|(limit, (name, command))| {
            (limit.rlim_cur != libc::RLIM_INFINITY).then_some(MemoryLimit {
                bytes: limit.rlim_cur,
                name,
                command,
            })
        });
    set.min_by_key(|limit| limit.bytes)
}

/// Other systems do not enforce such limits.
#[cfg(not(target_os = "linux"))]
pub fn memory_limit() -> Option<MemoryLimit> {
    None
}

/// The bytes of address space that the process has, if the system tells. Allocates nothing.
#[cfg(target_os = "linux")]
pub fn address_space() -> Option<u64> {
    use std::io::Read as _;

    let mut text = [0; 128];
    let mut file = std::fs::File::open("/proc/self/statm").ok()?;
    let length = file.read(&mut text).ok()?;
    let pages = std::str::from_utf8(&text[..length]).ok()?;
    let pages: u64 = pages.split_ascii_whitespace().next()?.parse().ok()?;
    // SAFETY: a plain query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.checked_mul(u64::try_from(page).ok()?)
}

/// The bytes of address space that the process has, if the system tells.
#[cfg(not(target_os = "linux"))]
pub fn address_space() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A limit is in force for the whole process, so that a process of its own sets it: the shell runs this test again.
    #[test]
    fn limits_are_read() {
        const CHILD: &str = "OPENVM_METAL_TEST_OF_LIMITS";
        if std::env::var_os(CHILD).is_some() {
            let limit = memory_limit().expect("a limit");
            assert_eq!((limit.bytes, limit.name), (4 << 30, "RLIMIT_AS"));
            let held = address_space().expect("told");
            assert!((1 << 20..limit.bytes).contains(&held), "{held}");
            assert!(crate::host_memory() <= limit.bytes);
            return;
        }
        let output = std::process::Command::new("sh")
            .args([
                "-c",
                "ulimit -v 4194304 && exec \"$0\" --exact memory_limit::tests::limits_are_read",
            ])
            .arg(std::env::current_exe().expect("this program"))
            .env(CHILD, "1")
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }
}
