//! Results of RISC-V's multiplications and divisions.

/// The upper half of a signed product.
#[inline(always)]
pub(super) fn mulh(x: u32, y: u32) -> u32 {
    ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32
}

/// The upper half of the product of a signed and an unsigned number.
#[inline(always)]
pub(super) fn mulhsu(x: u32, y: u32) -> u32 {
    ((i64::from(x as i32) * i64::from(y)) >> 32) as u32
}

/// The upper half of an unsigned product.
#[inline(always)]
pub(super) fn mulhu(x: u32, y: u32) -> u32 {
    ((u64::from(x) * u64::from(y)) >> 32) as u32
}

/// The signed quotient, rounded to zero; -1 for a division by zero.
#[inline(always)]
pub(super) fn div(x: u32, y: u32) -> u32 {
    match y {
        0 => u32::MAX,
        y => (x as i32).wrapping_div(y as i32) as u32,
    }
}

/// The signed remainder; the dividend for a division by zero.
#[inline(always)]
pub(super) fn rem(x: u32, y: u32) -> u32 {
    match y {
        0 => x,
        y => (x as i32).wrapping_rem(y as i32) as u32,
    }
}

/// The unsigned quotient.
#[inline(always)]
pub(super) fn divu(x: u32, y: u32) -> u32 {
    x.checked_div(y).unwrap_or(u32::MAX)
}

/// The unsigned remainder.
#[inline(always)]
pub(super) fn remu(x: u32, y: u32) -> u32 {
    x.checked_rem(y).unwrap_or(x)
}
