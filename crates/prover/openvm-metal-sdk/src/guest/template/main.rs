//! The guest: what it reads is private, what it reveals is public, and a proof says that the one follows from the other.
//!
//! Input: `n` as u32. Public values: the sum of the first `n` squares, 8 bytes little endian.
//!
//! It ends well when `main` returns, or with `openvm::process::exit()`. It fails, and there is no proof, if it panics (exit code 1)
//! or traps (2), as `std::process::abort()`, `std::process::exit()` and `core::intrinsics::abort()` do with any code.

fn main() {
    let n: u32 = openvm::io::read();
    assert!(n <= 1_000_000, "n is at most a million");
    let sum = {CRATE}::sum_of_squares(n);
    println!("the sum of the first {n} squares is {sum}");
    openvm::io::reveal_u32(sum as u32, 0);
    openvm::io::reveal_u32((sum >> 32) as u32, 1);
}
