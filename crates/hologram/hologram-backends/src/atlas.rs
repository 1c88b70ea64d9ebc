//! Atlas classes in closed form.
//!
//! A class is `48*e1 + 24*e2 + 12*e3 + 6*e6 + 3*e7 + (d + 1)` with bits `e` and `d` in -1..=1.

/// Number of classes.
pub const CLASSES: u8 = 96;
/// Pages of a class in the boundary pool.
pub const PAGES: u8 = 48;
/// Bytes of a page.
pub const PAGE_BYTES: usize = 256;
/// Bytes of a class in the boundary pool.
pub const CLASS_BYTES: usize = PAGES as usize * PAGE_BYTES;
/// Bytes of the boundary pool.
pub const BOUNDARY_BYTES: usize = CLASSES as usize * CLASS_BYTES;
/// Modulus of the phase counter.
pub const PHASES: u32 = 768;
/// Mirror of no class.
pub const NO_CLASS: u8 = 255;

/// The class with `e7` flipped; [`NO_CLASS`] for no class.
pub const fn mirror(class: u8) -> u8 {
    if class >= CLASSES {
        NO_CLASS
    } else if (class / 3).is_multiple_of(2) {
        class + 3
    } else {
        class - 3
    }
}

/// One of the two classes of unity, 1 and 4.
pub const fn is_unity(class: u8) -> bool {
    class == 1 || class == 4
}

/// Neighbours in ascending order: `e1`, `e2`, `e3` or `e6` flipped, or `d` moved by one.
///
/// Six when `d` is 0, else five; none for no class.
pub fn neighbours(class: u8) -> impl Iterator<Item = u8> {
    let valid = class < CLASSES;
    let class = if valid { class } else { 0 };
    let flip = |weight: u8| {
        if (class / weight).is_multiple_of(2) {
            class + weight
        } else {
            class - weight
        }
    };
    let d = class % 3;
    let none = class;
    let mut found = [
        flip(48),
        flip(24),
        flip(12),
        flip(6),
        if d > 0 { class - 1 } else { none },
        if d < 2 { class + 1 } else { none },
    ];
    found.sort_unstable();
    found.into_iter().filter(move |&n| valid && n != class)
}

/// The class of a byte; bit 7 is ignored.
pub fn classify(byte: u8) -> u8 {
    let bit = |i: u8| (byte >> i) & 1;
    48 * bit(0) + 24 * bit(1) + 12 * bit(2) + 6 * bit(3) + 3 * bit(4) + ((byte >> 5) & 3) % 3
}

/// The class of a block where the launch asks for it: `block_x mod 96`.
pub const fn class_of_block(block_x: u32) -> u8 {
    (block_x % CLASSES as u32) as u8
}

/// Byte of the boundary pool of a coordinate; `None` when the class or page does not exist.
pub const fn boundary_offset(class: u8, page: u8, byte: u8) -> Option<usize> {
    if class < CLASSES && page < PAGES {
        Some(class as usize * CLASS_BYTES + page as usize * PAGE_BYTES + byte as usize)
    } else {
        None
    }
}
