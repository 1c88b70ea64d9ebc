//! The Lucas-Lehmer test on 256-bit integers, through the bigint extension: is 2^p - 1 prime?
//!
//! Input: an odd prime `p` in 3..=127 as u32. Public values: `p`, then 1 if 2^p - 1 is prime and 0 if not, each u32.
#![no_std]
#![no_main]

mod u256;

use u256::U256;

openvm::entry!(main);

fn main() {
    let p: u32 = openvm::io::read();
    assert!(
        (3..=127).contains(&p) && (2..p).all(|d| p % d != 0),
        "p = {p} is not an odd prime of at most 127"
    );
    openvm::io::reveal_u32(p, 0);
    openvm::io::reveal_u32(is_mersenne_prime(p) as u32, 1);
}

/// The sequence s = s^2 - 2 modulo M = 2^p - 1 from s = 4 reaches zero after p - 2 steps if and only if M is prime.
fn is_mersenne_prime(p: u32) -> bool {
    let exponent = U256::from(p);
    let modulus = U256::from(1).shl(&exponent).sub(&U256::from(1));
    let mut s = U256::from(4);
    for _ in 0..p - 2 {
        // s < 2^127, so the square fits. It is the sum of its low p bits and the rest, as 2^p = 1 modulo M.
        let square = s.mul(&s);
        let folded = square.and(&modulus).add(&square.shr(&exponent));
        let square = folded.reduce_once(&modulus);
        s = square.add(&modulus).sub(&U256::from(2)).reduce_once(&modulus);
    }
    s == U256::from(0)
}
