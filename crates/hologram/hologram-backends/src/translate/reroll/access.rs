//! Memory accesses of repetitions, and whether they are independent.

use crate::handle::BufferHandle;

/// An access of a repetition: where it is in the first one, and how far it moves each time.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Raw handle of a buffer that has no other name.
    pub handle: u64,
    /// First byte in the first repetition.
    pub start: i128,
    /// Bytes that it moves.
    pub step: i128,
    /// Bytes.
    pub size: i128,
    /// It writes.
    pub store: bool,
}

impl Access {
    /// First byte and one past the last over all repetitions.
    pub fn extent(&self, count: u64) -> (i128, i128) {
        let last = self.start + self.step * (i128::from(count) - 1);
        (self.start.min(last), self.start.max(last) + self.size)
    }

    /// All repetitions lie inside a buffer of `size` bytes.
    pub fn inside(&self, count: u64, size: Option<usize>) -> bool {
        let (low, high) = self.extent(count);
        low >= 0 && size.is_some_and(|size| high <= size as i128)
    }
}

/// Not the boundary pool, whose bytes have two names.
pub fn has_one_name(handle: u64) -> bool {
    handle != 0 && BufferHandle::from_raw(handle).as_class().is_none()
}

/// No repetition touches what another writes.
pub fn independent(accesses: &[Access], count: u64) -> bool {
    accesses.iter().enumerate().all(|(i, a)| {
        let mut others = accesses.iter().enumerate();
        !a.store || others.all(|(j, b)| apart(a, b, i == j, count))
    })
}

/// Nothing that one of the lists writes is touched by the other; each with its number of repetitions.
pub fn unrelated((a, a_count): (&[Access], u64), (b, b_count): (&[Access], u64)) -> bool {
    let disjoint = |a: &Access, b: &Access| {
        let ((a_low, a_high), (b_low, b_high)) = (a.extent(a_count), b.extent(b_count));
        a_high <= b_low || b_high <= a_low
    };
    a.iter().all(|a| {
        b.iter()
            .all(|b| !(a.store || b.store) || a.handle != b.handle || disjoint(a, b))
    })
}

/// No repetition of `a` touches what another repetition of `b` does.
fn apart(a: &Access, b: &Access, same: bool, count: u64) -> bool {
    if a.handle != b.handle || count <= 1 {
        return true;
    }
    let ((a_low, a_high), (b_low, b_high)) = (a.extent(count), b.extent(count));
    if !same && (a_high <= b_low || b_high <= a_low) {
        return true;
    }
    if a.step != b.step || a.step == 0 {
        return false;
    }
    let (step, delta) = (a.step.abs(), b.start - a.start);
    delta >= a.size - step && delta <= step - b.size
}
