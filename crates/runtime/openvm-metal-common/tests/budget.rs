//! The memory taken from the device never passes the budget, whatever is allocated in whatever order.

use openvm_metal_common::{Device, MetalBuffer, MetalContext, MetalError};

/// Allocates and frees at random, from a few bytes to half of the budget; returns how many requests were refused.
fn traffic(budget: u64, seed: u64) -> usize {
    let ctx = MetalContext::with_budget(Device::Cpu, &[], Some(budget)).unwrap();
    let s = ctx.stream();
    let mut random = seed;
    let mut next = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let mut live: Vec<MetalBuffer<u8>> = Vec::new();
    let mut refused = 0;
    for step in 0..2000 {
        match next() % 8 {
            0..3 if !live.is_empty() => {
                live.swap_remove(next() as usize % live.len());
            }
            3 if !live.is_empty() => {
                let at = next() as usize % live.len();
                let len = live[at].len();
                live[at].shrink_to(next() as usize % (len + 1));
            }
            4 => ctx.trim(),
            kind => {
                let most = [4096, 1 << 20, budget / 8, budget / 2][next() as usize % 4];
                let len = (next() % most.max(1)) as usize;
                let made = if kind == 5 {
                    MetalBuffer::from_host(&s, &vec![0u8; len.min(1 << 16)])
                } else {
                    MetalBuffer::uninit(&ctx, len)
                };
                match made {
                    Ok(buffer) => live.push(buffer),
                    Err(MetalError::OutOfMemory { .. }) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        }
        let memory = ctx.memory();
        assert!(
            memory.live <= memory.reserved && memory.reserved <= budget,
            "step {step}: {memory:?}"
        );
    }
    assert!(ctx.memory().peak_reserved <= budget);
    live.clear();
    ctx.trim();
    assert_eq!((ctx.memory().live, ctx.memory().reserved), (0, 0));
    refused
}

#[test]
fn random_allocations_never_pass_the_budget() {
    // Smaller than any segment, no multiple of a granule, and room for some segments.
    for (budget, seed) in [
        (1 << 20, 1),
        ((37 << 20) + 12_345, 2),
        (200 << 20, 3),
        (1 << 30, 4),
    ] {
        assert!(traffic(budget, seed) > 0, "{budget} bytes are never short");
    }
}

#[test]
fn threads_that_allocate_at_once_share_the_budget() {
    let budget = 96 << 20;
    let ctx = MetalContext::with_budget(Device::Cpu, &[], Some(budget)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let ctx = &ctx;
            scope.spawn(move || {
                for round in 0..200u64 {
                    let len = ((thread * 31 + round * 17) % 40) << 20;
                    let _buffer = MetalBuffer::<u8>::uninit(ctx, len as usize);
                    assert!(ctx.memory().reserved <= budget);
                }
            });
        }
    });
    assert!(ctx.memory().peak_reserved <= budget);
}

/// A request that can never fit is refused without giving the pool's unused memory back, which others would then fetch
/// again.
#[test]
fn a_request_beyond_the_budget_leaves_the_pool_as_it_is() {
    let ctx = MetalContext::with_budget(Device::Cpu, &[], Some(64 << 20)).unwrap();
    // Small buffers have segments of their own, so one is unused as a whole.
    let small = MetalBuffer::<u8>::uninit(&ctx, 4096).unwrap();
    let live = MetalBuffer::<u8>::uninit(&ctx, 16 << 20).unwrap();
    drop(small);
    let before = ctx.memory().reserved;

    let refused = MetalBuffer::<u8>::uninit(&ctx, 56 << 20);

    assert!(matches!(refused, Err(MetalError::OutOfMemory { .. })));
    assert_eq!(ctx.memory().reserved, before);
    ctx.trim();
    assert!(ctx.memory().reserved < before, "nothing was unused");
    drop(live);
}
