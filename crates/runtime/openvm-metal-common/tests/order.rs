//! Operations overlap only where they use different memory: whatever order is allowed gives the same bytes.

mod support;

use openvm_metal_common::kernel::{ArgKind, KernelSpec};
use openvm_metal_common::{
    Device, Grid, MemCopyD2D, MemCopyH2D, MetalBuffer, MetalContext, MetalError, Order,
    ORDER_VARIABLE,
};
use support::{add, add_native, arg, entry, reverse, AddParams, KERNEL, LIBRARY};

/// [`add`] with a signature that hides what it writes.
static HIDDEN: KernelSpec = KernelSpec {
    name: "hidden",
    ptx_entry: "msl_hidden",
    args: &[
        arg("in", 0, ArgKind::BufferRead { elem: 4 }),
        arg("out", 1, ArgKind::BufferRead { elem: 4 }),
        arg("p", 2, ArgKind::Value { size: 8 }),
    ],
    cpu: &[entry(add_native)],
    ..KERNEL
};

/// Kernels, copies, fills and uploads over buffers and parts of them, with memory that is dropped and used again.
fn traffic(order: Order, seed: u64) -> Result<Vec<Vec<u32>>, MetalError> {
    const LEN: usize = 1024;
    let ctx = MetalContext::with_order(Device::Cpu, &[&LIBRARY], order)?;
    let s = ctx.stream();
    let mut random = seed;
    let mut draw = move |n: usize| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) as usize % n
    };
    let mut buffers = Vec::new();
    for b in 0..6u32 {
        let data: Vec<u32> = (0..LEN as u32).map(|i| i * 7 + b).collect();
        buffers.push(MetalBuffer::from_host(&s, &data)?);
    }
    let mut read = Vec::new();
    for step in 0..400u32 {
        let (a, b) = (draw(6), draw(6));
        let (start, len) = (draw(4) * 256, 256 * (1 + draw(2)));
        let end = (start + len).min(LEN);
        let n = end - start;
        // The target is taken out while the source is borrowed; it may be the same.
        let mut target = buffers.swap_remove(b);
        let source = &buffers[a % buffers.len()];
        match draw(7) {
            0 | 1 => {
                let part = source.slice(start..end);
                add(&s, Grid::threads(n), part, target.slice_mut(..n), step, n)?;
            }
            2 => reverse(
                &s,
                Grid::groups(4, 64),
                target.slice_mut(start..start + 256),
                &0,
                64,
            )?,
            3 => source
                .slice(..n)
                .copy_to(target.slice_mut(start..end), &s)?,
            4 => target.slice_mut(start..end).fill_zero(&s)?,
            5 => {
                let data: Vec<u32> = (0..n as u32).map(|i| i ^ step).collect();
                data[..].copy_to(target.slice_mut(start..end), &s)?;
            }
            _ => {
                // New memory in place of the old, which may still be in use.
                let mut fresh = MetalBuffer::uninit(&ctx, LEN)?;
                add(&s, Grid::threads(LEN), &target, &mut fresh, 1, LEN)?;
                target = fresh;
            }
        }
        buffers.push(target);
        if draw(60) == 0 {
            read.push(buffers[draw(6)].to_host(&s)?);
        }
    }
    for buffer in &buffers {
        read.push(buffer.to_host(&s)?);
    }
    Ok(read)
}

#[test]
fn every_order_gives_the_same_bytes() {
    for seed in 0..20 {
        let serial = traffic(Order::Serial, seed).unwrap();
        assert_eq!(traffic(Order::Concurrent, seed).unwrap(), serial);
        for order in [Order::Shuffled(seed), Order::Shuffled(seed + 1000)] {
            assert!(
                traffic(order, seed).unwrap() == serial,
                "{order:?} of {seed}"
            );
        }
    }
}

#[test]
fn a_shuffled_device_really_waits_until_somebody_does() {
    let ctx = MetalContext::with_order(Device::Cpu, &[&LIBRARY], Order::Shuffled(3)).unwrap();
    let s = ctx.stream();
    let a = MetalBuffer::from_host(&s, &[1u32; 64]).unwrap();
    let mut b = MetalBuffer::from_host(&s, &[0u32; 64]).unwrap();
    // A kernel that fails fails when it runs.
    ctx.set_wait_limit(std::time::Duration::from_secs(5));
    add(&s, Grid::threads(64), &a, &mut b, 1, 64).unwrap();
    reverse(&s, Grid::groups(1, 64), &mut b, &2, 64).unwrap();
    let error = s.wait().unwrap_err();
    assert!(
        matches!(error, MetalError::DivergentBarrier { .. }),
        "{error}"
    );
    assert!(s.wait().is_err());
}

#[test]
fn a_kernel_that_hides_what_it_writes_is_found_out() {
    let chain = |order| -> Result<u32, MetalError> {
        let ctx = MetalContext::with_order(Device::Cpu, &[&LIBRARY], order)?;
        let s = ctx.stream();
        let buffers = (0..6).map(|_| MetalBuffer::from_host(&s, &[1u32; 64]));
        let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
        for pair in buffers.windows(2) {
            let (from, to) = (&pair[0], &pair[1]);
            let p = AddParams { k: 1, n: 64 };
            let call = s.encode(&HIDDEN, Grid::threads(64));
            let call = call.buffer(0, &from).buffer(1, &to).value(2, &p);
            // SAFETY: both buffers hold 64 elements.
            unsafe { call.dispatch_unchecked()? };
        }
        Ok(buffers[5].to_host(&s)?[0])
    };
    assert_eq!(chain(Order::Serial).unwrap(), 6);
    assert!((0..10).any(|seed| chain(Order::Shuffled(seed)).unwrap() != 6));
}

#[test]
fn only_the_cpu_device_shuffles() {
    for device in [Device::Metal, Device::Cuda(0)] {
        let error = MetalContext::with_order(device, &[&LIBRARY], Order::Shuffled(1)).unwrap_err();
        assert!(error.to_string().contains(ORDER_VARIABLE), "{error}");
    }
}
