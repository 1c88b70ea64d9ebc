//! Sorts by handles.

use hologram_backends::backend::sorting::{Rows, Sorted, Sorting};
use hologram_backends::metal::MetalBackend;
use hologram_backends::{Backend, BackendError, Ty};
use openvm_metal_common::Device;

const WORDS: usize = 3_000;

fn word(i: usize) -> u32 {
    (i as u32).wrapping_mul(0x9e37_79b9) >> 5
}

/// A target may be the source, for elements alone; otherwise it shares no byte with it, whatever the length of rows.
#[test]
fn targets_on_the_source() -> Result<(), BackendError> {
    let folder = std::env::temp_dir().join("hologram-sorts-test");
    let mut backend = MetalBackend::with_scratch(Device::Cpu, folder)?;
    let buffer = backend.allocate_buffer(16 * WORDS)?;
    let data: Vec<u8> = (0..WORDS).flat_map(|i| word(i).to_le_bytes()).collect();
    backend.copy_to_buffer_at(buffer, 0, &data)?;
    let at = |offset| Rows { buffer, offset };
    for cols in [1_000, 1_500, 3_000] {
        let sorting = Sorting {
            ty: Ty::U32,
            rows: 1,
            cols,
            descending: false,
        };
        let bytes = 4 * cols as usize;
        for (sorted, offset) in [
            (Sorted::Values, 4),
            (Sorted::Values, bytes - 4),
            (Sorted::Order, 0),
            (Sorted::Order, bytes - 8),
        ] {
            let refused = backend.sort(&sorting, sorted, at(0), at(offset));
            assert!(
                matches!(refused, Err(BackendError::OverlappingCopy { dst_offset, len, .. })
                    if dst_offset == offset && len == bytes),
                "{cols}, {sorted:?}, {offset}: {refused:?}"
            );
        }
        backend.sort(&sorting, Sorted::Order, at(0), at(bytes))?;
        let mut found = vec![0; 2 * bytes];
        backend.copy_from_buffer_at(buffer, bytes, &mut found)?;
        let mut order: Vec<u64> = (0..cols).collect();
        order.sort_by_key(|&i| word(i as usize));
        let expected: Vec<u8> = order.into_iter().flat_map(u64::to_le_bytes).collect();
        assert!(found == expected, "order of {cols}");
        backend.copy_to_buffer_at(buffer, 0, &data)?;
        backend.sort(&sorting, Sorted::Values, at(0), at(0))?;
        let mut found = vec![0; bytes];
        backend.copy_from_buffer_at(buffer, 0, &mut found)?;
        let mut words: Vec<u32> = (0..cols as usize).map(word).collect();
        words.sort_unstable();
        let expected: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        assert!(found == expected, "{cols}");
        backend.copy_to_buffer_at(buffer, 0, &data)?;
    }
    Ok(())
}
