//! Sorts on devices against the host's, on random rows: the device in `OPENVM_METAL_DEVICE` (the CPU by default) and conformance mode,
//! where every thread is a coroutine and memory is poisoned.

use hologram_kernels::device::{self, DeviceError, DeviceSpan, LIBRARY};
use hologram_kernels::{host, Sorting, Ty};
use openvm_metal_common::{Device, MetalBuffer, MetalContext};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn open(device: Device) -> MetalContext {
    MetalContext::new(device, &[&LIBRARY]).expect("the device")
}

/// The device that is asked for.
fn asked() -> MetalContext {
    match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(_) => open(Device::from_env().expect("a device")),
        Err(_) => open(Device::Cpu),
    }
}

/// Words of which many are equal, with zeros of both signs, infinities and NaN among the floats.
fn words(ty: Ty, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let sign = 1u64 << (ty.bits() - 1);
    let special = match ty {
        Ty::F32 => [0, sign, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0xffc0_0002],
        Ty::F64 => [
            0,
            sign,
            0x7ff0 << 48,
            0xfff0 << 48,
            (0x7ff8 << 48) | 1,
            (0xfff8 << 48) | 2,
        ],
        _ => [0, sign, sign - 1, ty.mask(), 1, sign | 1],
    };
    let mut out = Vec::with_capacity(count * ty.size());
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = match state % 8 {
            0 => special[(state >> 8) as usize % special.len()],
            1 | 2 => (state >> 40) % 50,
            _ => state >> 3,
        };
        out.extend_from_slice(&word.to_le_bytes()[..ty.size()]);
    }
    out
}

fn span(buffer: &MetalBuffer<u8>, offset: usize) -> DeviceSpan<'_> {
    DeviceSpan {
        memory: buffer.as_slice(),
        offset,
    }
}

fn check(context: &MetalContext, sorting: &Sorting, seed: u64) -> Outcome {
    let stream = context.stream();
    let count = (sorting.rows * sorting.cols) as usize;
    let (size, offset) = (sorting.ty.size(), 8 * (seed as usize % 3));
    let data = words(sorting.ty, count, seed);
    let shifted = [vec![0xee; offset], data.clone()].concat();
    let source = MetalBuffer::from_host(&stream, &shifted)?;
    let target = MetalBuffer::from_host(&stream, &vec![0x11; offset + count * 8 + 8])?;

    device::sort(
        sorting,
        &stream,
        span(&source, offset),
        span(&target, offset),
    )?;
    let mut expected = vec![0; count * size];
    host::sort::sort(sorting, &data, &mut expected);
    let found = target.to_host(&stream)?;
    assert_eq!(found[..offset], vec![0x11; offset]);
    assert!(found[offset..][..count * size] == expected, "{sorting:?}");
    assert_eq!(found[offset + count * size], 0x11);
    assert!(
        source.to_host(&stream)? == shifted,
        "{sorting:?}: the source"
    );

    device::order(
        sorting,
        &stream,
        span(&source, offset),
        span(&target, offset),
    )?;
    let mut expected = vec![0; count];
    host::sort::order(sorting, &data, &mut expected);
    let found = target.to_host(&stream)?;
    let found: Vec<i64> = found[offset..][..8 * count]
        .chunks_exact(8)
        .map(|b| i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
        .collect();
    assert!(found == expected, "order of {sorting:?}");

    // In place.
    device::sort(
        sorting,
        &stream,
        span(&source, offset),
        span(&source, offset),
    )?;
    let mut expected = vec![0; count * size];
    host::sort::sort(sorting, &data, &mut expected);
    assert!(
        source.to_host(&stream)?[offset..] == expected,
        "{sorting:?} in place"
    );
    Ok(())
}

const TYPES: [Ty; 6] = [Ty::U32, Ty::I32, Ty::F32, Ty::U64, Ty::I64, Ty::F64];

fn check_all(context: &MetalContext, shapes: &[(u64, u64)]) -> Outcome {
    for (number, &(rows, cols)) in shapes.iter().enumerate() {
        for (k, ty) in TYPES.into_iter().enumerate() {
            let sorting = Sorting {
                ty,
                rows,
                cols,
                descending: (number + k) % 2 == 1,
            };
            check(context, &sorting, (number * TYPES.len() + k) as u64 + 1)?;
        }
    }
    Ok(())
}

#[test]
fn rows_of_all_lengths() -> Outcome {
    let shapes = [
        (0, 5),
        (3, 0),
        (1, 1),
        (5, 1),
        (1, 2),
        (7, 3),
        (2, 17),
        (3, 1023),
        (1, 1024),
        (2, 1025),
        (3, 2048),
        (1, 2049),
        (2, 5_003),
        (1, 65_537),
        (1, 200_003),
    ];
    check_all(&asked(), &shapes)
}

#[test]
fn threads_that_meet() -> Outcome {
    let shapes = [(2, 3), (1, 257), (1, 1024), (2, 1030), (1, 4_500)];
    check_all(&open(Device::CpuConformance), &shapes)
}

#[test]
fn equal_elements_keep_their_order() -> Outcome {
    let context = asked();
    let stream = context.stream();
    let count = 70_001;
    let data: Vec<u8> = (0..count as u32)
        .flat_map(|i| (i % 3).to_le_bytes())
        .collect();
    let source = MetalBuffer::from_host(&stream, &data)?;
    let target = MetalBuffer::<u8>::uninit(&context, 8 * count)?;
    for descending in [false, true] {
        let sorting = Sorting {
            ty: Ty::U32,
            rows: 1,
            cols: count as u64,
            descending,
        };
        device::order(&sorting, &stream, span(&source, 0), span(&target, 0))?;
        let found = target.to_host(&stream)?;
        let mut expected: Vec<u64> = (0..count as u64).collect();
        expected.sort_by_key(|&i| match descending {
            true => 2 - i % 3,
            false => i % 3,
        });
        let bytes: Vec<u8> = expected.iter().flat_map(|i| i.to_le_bytes()).collect();
        assert!(found == bytes, "descending {descending}");
    }
    Ok(())
}

#[test]
fn small_types_are_refused() -> Outcome {
    let context = asked();
    let stream = context.stream();
    let buffer = MetalBuffer::<u8>::zeroed(&stream, 64)?;
    let sorting = Sorting {
        ty: Ty::I16,
        rows: 1,
        cols: 4,
        descending: false,
    };
    let refused = device::sort(&sorting, &stream, span(&buffer, 0), span(&buffer, 0));
    assert!(matches!(refused, Err(DeviceError::Unsupported(_))));
    let sorting = Sorting {
        ty: Ty::I32,
        cols: 40,
        ..sorting
    };
    let refused = device::sort(&sorting, &stream, span(&buffer, 0), span(&buffer, 0));
    assert!(matches!(refused, Err(DeviceError::Device(_))));
    Ok(())
}
