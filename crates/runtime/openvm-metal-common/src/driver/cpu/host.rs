//! Facts about the CPU and its memory.

use std::sync::OnceLock;

use crate::kernel::CpuIsa;
use crate::memory::Segment;
use crate::memory_limit;

/// Huge pages are this large on x86-64 and with 4 KiB pages on AArch64.
const HUGE_PAGE: usize = 2 << 20;

const ALL_ISAS: [CpuIsa; 5] = [
    CpuIsa::X86V4,
    CpuIsa::X86V3,
    CpuIsa::X86V2,
    CpuIsa::Neon,
    CpuIsa::Generic,
];

/// Does the work of [`CpuIsa::is_available`], asked once per process.
pub(super) fn is_available(isa: CpuIsa) -> bool {
    static AVAILABLE: OnceLock<[bool; ALL_ISAS.len()]> = OnceLock::new();
    AVAILABLE.get_or_init(|| {
        let mut available = [false; ALL_ISAS.len()];
        ALL_ISAS
            .iter()
            .for_each(|&isa| available[isa as usize] = isa.is_available());
        available
    })[isa as usize]
}

/// The widest instruction set of this processor.
pub(crate) fn best_isa() -> CpuIsa {
    ALL_ISAS
        .into_iter()
        .find(|&isa| is_available(isa))
        .unwrap_or(CpuIsa::Generic)
}

/// Maps zeroed pages, 2 MiB aligned and in huge pages where the system has them; no page is touched.
///
/// Faulting in 4 KiB pages costs more than most kernels spend on them.
pub(super) fn map(bytes: u64) -> Option<Segment> {
    let asked = bytes;
    let bytes = usize::try_from(bytes)
        .ok()?
        .checked_next_multiple_of(HUGE_PAGE)?;
    let reserved = bytes.checked_add(HUGE_PAGE)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: a new anonymous mapping at an address of the system's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), reserved, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start as usize;
    let aligned = start.next_multiple_of(HUGE_PAGE);
    let (head, tail) = (aligned - start, HUGE_PAGE - (aligned - start));
    // SAFETY: both ranges are the unused ends of the mapping made above, whole pages each.
    unsafe {
        if head > 0 {
            libc::munmap(start as *mut libc::c_void, head);
        }
        if tail > 0 {
            libc::munmap((aligned + bytes) as *mut libc::c_void, tail);
        }
        #[cfg(target_os = "linux")]
        libc::madvise(aligned as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE);
    }
    Some(Segment {
        address: aligned as u64,
        reached: aligned as u64,
        object: 0,
        // What lies behind is never touched, so it costs nothing.
        bytes: asked,
    })
}

/// Gives a segment of [`map`] back.
pub(super) fn unmap(segment: Segment) {
    let bytes = (segment.bytes as usize).next_multiple_of(HUGE_PAGE);
    // SAFETY: the segment came from `map`, which mapped so many bytes, and the pool released it: no buffer
    // lies in it.
    unsafe { libc::munmap(segment.address as *mut libc::c_void, bytes) };
}

/// Physical memory, or what the control group or a resource limit allows of it.
pub(crate) fn memory_bytes() -> u64 {
    // SAFETY: plain queries.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let physical = (pages.max(0) as u64)
        .saturating_mul(page.max(0) as u64)
        .max(1 << 30);
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    let limits = [limit, memory_limit().map(|limit| limit.bytes)];
    limits.into_iter().flatten().fold(physical, u64::min)
}

/// Name of the processor as the system gives it.
pub(super) fn processor_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
    name.or_else(apple_processor_name)
        .unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

#[cfg(target_vendor = "apple")]
fn apple_processor_name() -> Option<String> {
    let mut text = [0u8; 128];
    let mut len = text.len();
    // SAFETY: the name is a C string, the buffer and its length are valid.
    let status = unsafe {
        libc::sysctlbyname(
            c"machdep.cpu.brand_string".as_ptr(),
            text.as_mut_ptr().cast(),
            &mut len,
            std::ptr::null_mut(),
            0,
        )
    };
    let text = std::ffi::CStr::from_bytes_until_nul(&text).ok()?;
    (status == 0).then(|| text.to_string_lossy().into_owned())
}

#[cfg(not(target_vendor = "apple"))]
fn apple_processor_name() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_aligned_and_zero() {
        let segment = map((3 << 20) + 5).unwrap();
        assert_eq!(segment.address as usize % HUGE_PAGE, 0);
        assert_eq!(segment.bytes, (3 << 20) + 5);
        let last = (segment.address + segment.bytes - 1) as *const u8;
        // SAFETY: mapped above.
        assert_eq!(unsafe { *last }, 0);
        unmap(segment);
        assert!(map(u64::MAX).is_none());
    }
}
