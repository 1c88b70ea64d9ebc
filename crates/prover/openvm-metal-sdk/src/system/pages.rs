//! Parts of a large, mostly untouched mapping that may hold something else than zeros.

/// Below this size a scan is cheaper than a question to the kernel.
#[cfg(target_os = "linux")]
const ALWAYS_SCANNED: usize = 1 << 18;

/// The pages of `page_bytes` bytes of `memory` that may hold something else than zeros, ascending.
///
/// Guest memory is one anonymous mapping of 512 MiB, of which a program touches little. On Linux
/// the kernel's page table (`/proc/self/pagemap`) tells which pages exist; the others are zero and
/// reading them would only fill the page table. Elsewhere, and where that file cannot be read,
/// every page is named.
pub fn populated_pages(memory: &[u8], page_bytes: usize) -> Vec<u32> {
    #[cfg(target_os = "linux")]
    if memory.len() > ALWAYS_SCANNED {
        if let Some(pages) = pagemap::populated(memory, page_bytes) {
            return pages;
        }
    }
    (0..memory.len().div_ceil(page_bytes) as u32).collect()
}

#[cfg(target_os = "linux")]
mod pagemap {
    use std::{fs::File, os::unix::fs::FileExt, sync::OnceLock};

    /// Bytes of one entry of the file.
    const ENTRY: usize = 8;
    /// Entries read at once.
    const BATCH: usize = 1 << 13;
    /// The page is in memory (bit 63) or in swap (bit 62). A page with neither was never written,
    /// or was given back, and reads as zero.
    const EXISTS: u64 = 0b11 << 62;

    /// The system's page size, if the file answers and names a page that is certainly in memory.
    fn page_size() -> Option<usize> {
        static SIZE: OnceLock<Option<usize>> = OnceLock::new();
        *SIZE.get_or_init(|| {
            // SAFETY: sysconf reads no memory of ours.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let size = usize::try_from(size)
                .ok()
                .filter(|size| size.is_power_of_two())?;
            let witness = vec![1u8; 2 * size];
            let mut all = true;
            for_each_entry(&witness, size, |_, exists| all &= exists)?;
            // Otherwise the file hides the pages from us.
            all.then_some(size)
        })
    }

    /// Calls `visit` with the address of every system page that overlaps `memory` and whether the
    /// page exists. `None` if the file cannot be read.
    fn for_each_entry(
        memory: &[u8],
        page: usize,
        mut visit: impl FnMut(usize, bool),
    ) -> Option<()> {
        let file = File::open("/proc/self/pagemap").ok()?;
        let first = memory.as_ptr() as usize / page;
        let end = (memory.as_ptr() as usize + memory.len()).div_ceil(page);
        let mut entries = vec![0; BATCH.min(end - first) * ENTRY];
        for start in (first..end).step_by(BATCH) {
            let count = BATCH.min(end - start);
            let entries = &mut entries[..count * ENTRY];
            file.read_exact_at(entries, (start * ENTRY) as u64).ok()?;
            for (i, entry) in entries.chunks_exact(ENTRY).enumerate() {
                let entry = u64::from_ne_bytes(entry.try_into().expect("eight bytes"));
                visit((start + i) * page, entry & EXISTS != 0);
            }
        }
        Some(())
    }

    pub fn populated(memory: &[u8], page_bytes: usize) -> Option<Vec<u32>> {
        let size = page_size()?;
        let begin = memory.as_ptr() as usize;
        let mut pages: Vec<u32> = Vec::new();
        for_each_entry(memory, size, |address, exists| {
            if exists {
                let first = (address.max(begin) - begin) / page_bytes;
                let end = (address + size - begin)
                    .min(memory.len())
                    .div_ceil(page_bytes);
                let known = pages.last().map_or(0, |&last| last as usize + 1);
                pages.extend((first.max(known)..end).map(|page| page as u32));
            }
        })?;
        Some(pages)
    }
}

#[cfg(test)]
mod tests {
    use openvm_circuit::system::memory::online::{LinearMemory, MemoryBackend};

    use super::*;

    #[test]
    fn written_pages_are_named_and_fresh_memory_is_not() {
        const SIZE: usize = 64 << 20;
        let mut memory = MemoryBackend::new(SIZE);
        for written in [0, 5 << 20, (33 << 20) + 4097, SIZE - 1] {
            memory.as_mut_slice()[written] = 7;
        }
        for page_bytes in [512, 3072, 4096, 1 << 16] {
            let pages = populated_pages(memory.as_slice(), page_bytes);
            assert!(pages.is_sorted_by(|a, b| a < b));
            for (page, bytes) in memory.as_slice().chunks(page_bytes).enumerate() {
                if bytes.iter().any(|&byte| byte != 0) {
                    assert!(
                        pages.contains(&(page as u32)),
                        "page {page} of {page_bytes} bytes"
                    );
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn untouched_memory_is_not_read() {
        const SIZE: usize = 512 << 20;
        let mut memory = MemoryBackend::new(SIZE);
        memory.as_mut_slice()[SIZE / 2] = 1;
        let Some(pages) = pagemap::populated(memory.as_slice(), 4096) else {
            return; // the kernel hides the page table here: every page is scanned
        };
        // One page, or one transparent huge page.
        assert!(pages.len() <= 512, "{} pages", pages.len());
        assert!(pages.contains(&((SIZE / 2 / 4096) as u32)));
        memory.fill_zero();
        assert_eq!(pagemap::populated(memory.as_slice(), 4096), Some(vec![]));
    }
}
