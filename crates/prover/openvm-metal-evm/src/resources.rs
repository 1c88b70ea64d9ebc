//! Memory, disk space and processor: checks before work starts. Sizes are by measurement.

use std::{ffi::CString, fs, io, mem::MaybeUninit, os::unix::ffi::OsStrExt as _, path::Path};

use openvm_metal_common::free_memory;
use openvm_metal_sdk::SdkError;

use crate::error::EvmError;

/// Most bytes of memory of making keys, and of a proof.
const MEMORY: u64 = 24 << 30;

/// Refuses work that does not fit into the memory that is free, and processors on which the field's assembly does not run. Swapped memory
/// counts, unless a control group or a limit leaves less than the machine has: much of the memory is not touched again.
///
/// # Errors
/// [`EvmError::Memory`], [`EvmError::Processor`].
pub fn check_machine(work: &'static str) -> Result<(), EvmError> {
    check_processor()?;
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    check_free(work, free_memory().map(|free| with_swap(free, &meminfo)))
}

/// Refuses processors without the instructions of halo2's assembly.
///
/// # Errors
/// [`EvmError::Processor`].
pub(crate) fn check_processor() -> Result<(), EvmError> {
    #[cfg(target_arch = "x86_64")]
    if !(is_x86_feature_detected!("adx") && is_x86_feature_detected!("bmi2")) {
        return Err(EvmError::Processor);
    }
    Ok(())
}

/// Free memory with the swap that Linux's `/proc/meminfo` tells, if nothing but the machine limits it.
fn with_swap(free: u64, meminfo: &str) -> u64 {
    // Between two looks the machine's free memory changes a little.
    const NEARLY: u64 = 256 << 20;
    match number(meminfo, "MemAvailable:") <= free.saturating_add(NEARLY) {
        true => free.saturating_add(number(meminfo, "SwapFree:")),
        false => free,
    }
}

/// Bytes behind a name in the text of `/proc/meminfo`, 0 if there are none.
fn number(meminfo: &str, name: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|digits| digits.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

fn check_free(work: &'static str, free: Option<u64>) -> Result<(), EvmError> {
    let needed = MEMORY;
    match free {
        Some(free) if free < needed => Err(EvmError::Memory {
            what: work,
            needed,
            free,
        }),
        _ => Ok(()),
    }
}

/// Refuses to write `needed` bytes into a folder whose disk has fewer free. Makes the folder.
pub(crate) fn check_disk_space(
    folder: &Path,
    what: &'static str,
    needed: u64,
) -> Result<(), EvmError> {
    let made = fs::create_dir_all(folder).and_then(|()| free_disk_space(folder));
    match made {
        Ok(free) if free < needed => Err(EvmError::Disk {
            folder: folder.to_owned(),
            what,
            needed,
            free,
        }),
        Ok(_) => Ok(()),
        Err(source) => Err(EvmError::Sdk(SdkError::Write {
            path: folder.to_owned(),
            what,
            source,
        })),
    }
}

/// Bytes that this user may still write into a folder.
fn free_disk_space(folder: &Path) -> io::Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    let mut facts = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a null byte, and the call writes at most the structure that it is given.
    if unsafe { libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so that it filled the structure.
    let facts = unsafe { facts.assume_init() };
    // The types of the fields differ between systems.
    #[allow(clippy::unnecessary_cast)]
    let bytes = (facts.f_bavail as u64).saturating_mul(facts.f_frsize as u64);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("a/b");
        check_disk_space(&below, "a file", 1).expect("room for a byte");
        assert!(below.is_dir());
        let refused =
            check_disk_space(&below, "a file", u64::MAX).expect_err("no disk is that large");
        assert!(matches!(refused, EvmError::Disk { .. }), "{refused}");
        let meminfo = "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\nSwapFree:        12 kB\n";
        assert_eq!(with_swap(8_000_000 << 10, meminfo), 8_000_012 << 10);
        // A control group leaves less than the machine has.
        assert_eq!(with_swap(1_000_000 << 10, meminfo), 1_000_000 << 10);
        assert_eq!(with_swap(7, ""), 7);
        check_free("making EVM keys", None).expect("the system does not say");
        check_free("a proof for the EVM", Some(64 << 30)).expect("enough");
        let refused = check_free("making EVM keys", Some(8 << 30)).expect_err("too little");
        assert!(refused.to_string().contains("8 GiB are free"), "{refused}");
    }
}
