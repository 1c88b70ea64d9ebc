//! Tests of the guest's own functions, which only run in the guest: memory, words and Keccak.

use core::hint::black_box;

use alloy_primitives::{keccak256, B256, U256};
use ethereum_core::{Software, Words};
use hex_literal::hex;

use crate::crypto::Extensions;

extern "C" {
    fn memcmp(a: *const u8, b: *const u8, length: usize) -> i32;
}

/// Bytes aligned to words.
#[repr(align(4))]
struct Buffer([u8; 168]);

/// Longest copy, fill and comparison.
const LONGEST: usize = 100;

/// Hash of a chain: each link hashes the one before and a message of the next length. Computed natively, see
/// `host/tests/programs.rs`.
const KECCAK_CHAIN: B256 = B256::new(hex!(
    "1035bc5b7914a4e29f24ca9d01a83c263064c33da357aad33a349353f5e82bb5"
));

/// Panics at the first difference.
pub fn run() {
    for length in 0..=LONGEST {
        for at in 0..4 {
            fills(length, at);
            for from in 0..4 {
                copies(length, at, from);
                comparisons(length, at, from);
            }
        }
    }
    words();
    assert_eq!(keccak_chain(), KECCAK_CHAIN, "keccak256");
}

/// Byte that a buffer has at a position before the test.
fn pattern(position: usize) -> u8 {
    (position * 7 + 1) as u8
}

fn patterned() -> Buffer {
    let mut buffer = Buffer([0; 168]);
    for (position, byte) in buffer.0.iter_mut().enumerate() {
        *byte = pattern(position);
    }
    buffer
}

fn copies(length: usize, at: usize, from: usize) {
    let source = patterned();
    let mut target = Buffer([0xa5; 168]);
    let (at, from) = (at + 32, from + 8);
    // SAFETY: both ranges lie in their buffers: 36 + 100 and 12 + 100 are below 168.
    unsafe {
        core::ptr::copy_nonoverlapping(
            source.0.as_ptr().add(from),
            target.0.as_mut_ptr().add(at),
            black_box(length),
        );
    }
    for (position, byte) in black_box(&target).0.iter().enumerate() {
        let expected = match position.checked_sub(at) {
            Some(offset) if offset < length => pattern(from + offset),
            _ => 0xa5,
        };
        assert_eq!(*byte, expected, "memcpy of {length} to {at} from {from}");
    }
}

fn fills(length: usize, at: usize) {
    for value in [0, 1, 0xff] {
        let mut target = patterned();
        let at = at + 32;
        // SAFETY: the range lies in the buffer: 36 + 100 is below 168.
        unsafe {
            core::ptr::write_bytes(
                target.0.as_mut_ptr().add(at),
                black_box(value),
                black_box(length),
            );
        }
        for (position, byte) in black_box(&target).0.iter().enumerate() {
            let expected = match position.checked_sub(at) {
                Some(offset) if offset < length => value,
                _ => pattern(position),
            };
            assert_eq!(*byte, expected, "memset of {length} at {at}");
        }
    }
}

fn comparisons(length: usize, at: usize, from: usize) {
    let (mut a, mut b) = (Buffer([0; 168]), Buffer([1; 168]));
    for offset in 0..length {
        a.0[at + offset] = pattern(offset);
        b.0[from + offset] = pattern(offset);
    }
    let compare = |a: &Buffer, b: &Buffer| {
        // SAFETY: both ranges lie in their buffers: 4 + 100 is below 168.
        unsafe {
            memcmp(
                black_box(a).0.as_ptr().add(at),
                black_box(b).0.as_ptr().add(from),
                black_box(length),
            )
        }
    };
    assert_eq!(compare(&a, &b), 0, "memcmp of {length}");
    for offset in [0, 1, 3, 4, 30, 31, 32, 33, 63, 64, 65, 98, 99] {
        if offset < length {
            b.0[from + offset] ^= 0x80;
            let order = a.0[at + offset].cmp(&b.0[from + offset]);
            assert_eq!(
                compare(&a, &b).cmp(&0),
                order,
                "memcmp of {length} at {offset}"
            );
            b.0[from + offset] ^= 0x80;
        }
    }
}

fn words() {
    let top = U256::ONE << 255;
    let cases: [U256; 16] = [
        U256::ZERO,
        U256::ONE,
        U256::from(31),
        U256::from(255),
        U256::from(256),
        U256::from(u32::MAX),
        U256::from(1_u64 << 32),
        U256::from(u64::MAX),
        U256::ONE << 64,
        U256::ONE << 128,
        top - U256::ONE,
        top,
        top + U256::ONE,
        U256::MAX - U256::ONE,
        U256::MAX,
        U256::from_be_bytes(hex!(
            "0123456789abcdef02468ace13579bdf00112233445566778899aabbccddeeff"
        )),
    ];
    macro_rules! same {
        ($a:ident, $b:ident, $($name:ident)*) => {
            $({
                let (mut found, mut expected) = ($b, $b);
                Extensions::$name(&$a, &mut found);
                Software::$name(&$a, &mut expected);
                assert_eq!(found, expected, "{} {} {}", stringify!($name), $a, $b);
            })*
        };
    }
    for a in cases {
        for b in cases {
            same!(a, b, add sub mul and or xor lt gt slt sgt eq shl shr sar);
        }
        for (found, expected) in [
            (
                Extensions::not as fn(&mut U256),
                Software::not as fn(&mut U256),
            ),
            (Extensions::iszero, Software::iszero),
        ] {
            let (mut x, mut y) = (a, a);
            found(&mut x);
            expected(&mut y);
            assert_eq!(x, y, "of {a}");
        }
        assert_eq!(Extensions::is_zero(&a), Software::is_zero(&a), "{a}");
        assert_eq!(Extensions::to_u32(&a), Software::to_u32(&a), "{a}");
    }
}

fn keccak_chain() -> B256 {
    let message = patterned();
    let mut link = [0; 400];
    let mut hash = B256::ZERO;
    for length in 0..330 {
        let at = length % 4;
        link[at..at + 32].copy_from_slice(&hash[..]);
        for offset in 0..length {
            link[at + 32 + offset] = message.0[offset % 168];
        }
        hash = keccak256(black_box(&link[at..at + 32 + length]));
    }
    hash
}
