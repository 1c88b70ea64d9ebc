//! The sum of squares 1 + 4 + ... + n^2.
//!
//! Input: `n` as u32. Public values: the sum, 8 bytes little endian.

fn main() {
    let n: u32 = openvm::io::read();
    let sum: u64 = (1..=u64::from(n)).map(|i| i * i).sum();
    println!("the sum of the first {n} squares is {sum}");
    openvm::io::reveal_u32(sum as u32, 0);
    openvm::io::reveal_u32((sum >> 32) as u32, 1);
}
