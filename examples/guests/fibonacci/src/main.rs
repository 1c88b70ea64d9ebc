//! The n-th Fibonacci number modulo 2^64.
//!
//! Input: `n` as u64. Public values: the number, 8 bytes little endian.
#![no_std]
#![no_main]

openvm::entry!(main);

fn main() {
    let n: u64 = openvm::io::read();
    let (mut a, mut b) = (0u64, 1u64);
    for _ in 0..n {
        (a, b) = (b, a.wrapping_add(b));
    }
    openvm::io::reveal_u32(a as u32, 0);
    openvm::io::reveal_u32((a >> 32) as u32, 1);
}
