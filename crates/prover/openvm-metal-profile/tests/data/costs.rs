//! Functions whose numbers of instructions are known, for tests of the profiler. Input: the rounds of `products`, as u32.
#![no_std]
#![no_main]

use core::{arch::asm, hint::black_box};

openvm::entry!(main);

/// 3 instructions for each of `n` rounds, and some around.
#[inline(never)]
fn products(n: u32) -> u32 {
    let mut product = 1_u32;
    let mut left = n;
    // SAFETY: the registers are named, and no memory is touched.
    unsafe {
        asm!(
            "2: mul {p}, {p}, {f}",
            "addi {l}, {l}, -1",
            "bnez {l}, 2b",
            p = inout(reg) product, l = inout(reg) left, f = in(reg) 3_u32,
        );
    }
    let _ = left;
    product
}

#[inline(always)]
fn added(n: u32) -> u32 {
    let mut sum = 0_u32;
    let mut left = n;
    // SAFETY: the registers are named, and no memory is touched.
    unsafe {
        asm!(
            "2: add {s}, {s}, {l}",
            "addi {l}, {l}, -1",
            "bnez {l}, 2b",
            s = inout(reg) sum, l = inout(reg) left,
        );
    }
    let _ = left;
    sum
}

#[inline(never)]
fn sums(n: u32) -> u32 {
    added(n).wrapping_mul(5)
}

/// Calls itself: one frame for each level.
#[inline(never)]
fn depth(n: u32) -> u32 {
    match n {
        0 => products(10),
        n => depth(n - 1).wrapping_add(black_box(n)),
    }
}

fn main() {
    let a = products(openvm::io::read());
    let b = sums(black_box(2000));
    let c = depth(black_box(20));
    openvm::io::reveal_u32(a ^ b ^ c, 0);
}
