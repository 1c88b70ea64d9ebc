//! Loads and stores.

use std::cell::Cell;

use super::by_width;
use crate::cpu::lanes::Lanes;
use crate::cpu::memory::{Span, Word};
use crate::cpu::step::{Memory, Source, Space, Step};
use crate::error::FaultKind;
use crate::isa::Ty;
use crate::semantics::Scalar;

/// `d` = memory; the caller sets space, handle and offset.
pub(in crate::cpu) fn load(ty: Ty) -> Step {
    by_width!(ty, W => Step::fallible(|l, s, m| {
        // SAFETY: `access` calls this with the address of a word within a live span.
        access::<W>(l, s, m, |register, ptr| register.set(unsafe { W::read(ptr) }));
    }))
}

/// Memory = `d`; the caller sets space, handle and offset.
pub(in crate::cpu) fn store(ty: Ty) -> Step {
    by_width!(ty, W => Step::fallible(|l, s, m| {
        // SAFETY: as for loads.
        access::<W>(l, s, m, |register, ptr| unsafe { W::write(ptr, register.get()) });
    }))
}

/// A memory instruction with this negative offset.
pub(in crate::cpu) fn negative(offset: i32) -> Step {
    let step = Step::fallible(|l, s, _| {
        let offset = s.value as u32 as i32;
        l.fail(l.first(), FaultKind::NegativeOffset { offset });
    });
    Step {
        value: u64::from(offset as u32),
        ..step
    }
}

/// Calls `f` with the register of each active lane and the address of its word; notes the first fault.
///
/// Cost: one look-up of the handle and one comparison of the largest offset where all lanes name one
/// buffer; else both for each lane.
#[inline(always)]
fn access<W: Word + Scalar>(
    l: &Lanes,
    s: &Step,
    m: &mut Memory<'_>,
    f: impl Fn(&Cell<W>, *mut u8),
) {
    let registers = l.column::<W>(s.d);
    let handle = match s.handle {
        Source::Fixed(handle) => Some(handle),
        Source::Column(column) => l.uniform(column),
    };
    let span = handle.and_then(|handle| m.find(s.space, handle));
    if let Some((span, last)) = span.and_then(|s| Some((s, s.len.checked_sub(W::SIZE)?))) {
        match s.offset {
            Source::Fixed(offset) if offset <= last => {
                // SAFETY: the word at `offset` lies within the span.
                let ptr = unsafe { span.ptr.add(offset as usize) };
                l.each(|i| f(&registers[i], ptr));
                return;
            }
            Source::Column(column) => {
                let offsets = l.column::<u64>(column);
                let mut largest = 0;
                l.each(|i| largest = largest.max(offsets[i].get()));
                if largest <= last {
                    l.each(|i| {
                        // SAFETY: no offset is larger than `last`, where a word still fits. A load that
                        // overwrites its offsets' column has another type there, so another column, or
                        // is `u64` and reads each lane's offset before it writes that lane's register.
                        let ptr = unsafe { span.ptr.add(offsets[i].get() as usize) };
                        f(&registers[i], ptr);
                    });
                    return;
                }
            }
            Source::Fixed(_) => {}
        }
    }
    l.each_while(|i| match address::<W>(l, s, m, i) {
        Ok(ptr) => {
            f(&registers[i], ptr);
            true
        }
        Err(kind) => {
            l.fail(i, kind);
            false
        }
    });
}

/// The address of one lane's word, or its fault.
fn address<W: Word>(
    l: &Lanes,
    s: &Step,
    m: &Memory<'_>,
    lane: usize,
) -> Result<*mut u8, FaultKind> {
    let value = |source| match source {
        Source::Fixed(value) => value,
        Source::Column(column) => l.column::<u64>(column)[lane].get(),
    };
    let (handle, offset) = (value(s.handle), value(s.offset));
    let span = m.find(s.space, handle).ok_or(match s.space {
        Space::Pool => FaultKind::InvalidPoolHandle { handle },
        _ => FaultKind::InvalidBufferHandle { handle },
    })?;
    let fits = span
        .len
        .checked_sub(W::SIZE)
        .is_some_and(|last| offset <= last);
    if !fits {
        return Err(out_of_bounds(s.space, handle, offset, W::SIZE, span));
    }
    // SAFETY: the word at `offset` lies within the span.
    Ok(unsafe { span.ptr.add(offset as usize) })
}

fn out_of_bounds(space: Space, handle: u64, offset: u64, size: u64, span: Span) -> FaultKind {
    match space {
        Space::Global => FaultKind::BufferOutOfBounds {
            handle,
            offset,
            size,
            buffer_size: span.len,
        },
        Space::Shared => FaultKind::SharedOutOfBounds {
            offset,
            size,
            shared_size: span.len,
        },
        Space::Pool => FaultKind::PoolOutOfBounds {
            handle,
            offset,
            size,
            pool_size: span.len,
        },
    }
}
