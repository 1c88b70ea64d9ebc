//! Costs of the run time itself on a device: dispatches, waits, copies, allocations.
//!
//! `OPENVM_METAL_DEVICE=cpu cargo run --release -p openvm-metal-common --example measure`

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use openvm_metal_common::{
    Device, Grid, MemCopyD2H, MemCopyH2D, MetalBuffer, MetalContext, Result,
};
use support::{add, LIBRARY};

fn main() -> Result<()> {
    let start = Instant::now();
    let ctx = MetalContext::new(Device::from_env()?, &[&LIBRARY])?;
    println!(
        "{}: opened in {:.1} ms",
        ctx.info(),
        start.elapsed().as_secs_f64() * 1e3
    );
    let s = ctx.stream();
    let a = MetalBuffer::from_host(&s, &[1u32; 256])?;
    let mut b = MetalBuffer::<u32>::zeroed(&s, 256)?;

    let dispatch = |count: u32, b: &mut MetalBuffer<u32>| {
        (0..count).try_for_each(|_| add(&s, Grid::threads(256), &a, &mut *b, 1, 256))
    };
    dispatch(1000, &mut b)?;
    s.wait()?;
    let start = Instant::now();
    dispatch(100_000, &mut b)?;
    let encoded = start.elapsed();
    s.wait()?;
    println!(
        "dispatch of 256 threads: {:.2} us encoded",
        encoded.as_secs_f64() * 10.0
    );
    println!(
        "                         {:.2} us to the end",
        start.elapsed().as_secs_f64() * 10.0
    );

    let start = Instant::now();
    for _ in 0..2000 {
        dispatch(1, &mut b)?;
        s.wait()?;
    }
    println!(
        "dispatch and wait:       {:.2} us",
        start.elapsed().as_secs_f64() * 1e6 / 2000.0
    );
    let start = Instant::now();
    for _ in 0..2000 {
        dispatch(1, &mut b)?;
        b.slice(..16).to_host(&s)?;
    }
    println!(
        "dispatch and read 64 B:  {:.2} us",
        start.elapsed().as_secs_f64() * 1e6 / 2000.0
    );
    let start = Instant::now();
    for _ in 0..20_000 {
        drop(MetalBuffer::<u32>::uninit(&ctx, 1 << 20)?);
    }
    println!(
        "allocate and free 4 MiB: {:.2} us",
        start.elapsed().as_secs_f64() * 1e6 / 2e4
    );
    let start = Instant::now();
    for _ in 0..20_000 {
        drop(s.stage("stage"));
    }
    println!(
        "enter and leave a stage: {:.2} us",
        start.elapsed().as_secs_f64() * 1e6 / 2e4
    );

    let n = 64 << 20;
    let mut host = vec![1u32; n];
    let gigabytes = (4 * n) as f64 * 1e-9;
    let rate = |what: &str, bytes: f64, seconds: f64| {
        println!("{what:<25}{:.1} GB/s", bytes / seconds);
    };
    for round in ["first", "again"] {
        let start = Instant::now();
        let mut big = MetalBuffer::from_host(&s, &host)?;
        s.wait()?;
        rate(
            &format!("from_host 256 MiB, {round}"),
            gigabytes,
            start.elapsed().as_secs_f64(),
        );
        let start = Instant::now();
        host[..].copy_to(&mut big, &s)?;
        s.wait()?;
        rate(
            "copy to the device",
            gigabytes,
            start.elapsed().as_secs_f64(),
        );
        let start = Instant::now();
        big.copy_to_host(&mut host, &s)?;
        rate("copy to the host", gigabytes, start.elapsed().as_secs_f64());
        let time = s.time(|| big.fill_zero(&s))?;
        rate("fill", gigabytes, time.as_secs_f64());
        let mut other = MetalBuffer::<u32>::zeroed(&s, n)?;
        let time = s.time(|| add(&s, Grid::threads(n), &big, &mut other, 1, n))?;
        rate(
            "add kernel, read + write",
            2.0 * gigabytes,
            time.as_secs_f64(),
        );
    }
    Ok(())
}
