//! Places of an operation's elements.

use std::fmt;

use crate::atlas::CLASS_BYTES;
use crate::handle::BufferHandle;

/// A dense run of elements in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The buffer.
    pub buffer: BufferHandle,
    /// First byte; a multiple of the element's size.
    pub offset: u64,
}

impl Operand {
    /// From byte `offset` of `buffer` on.
    pub const fn new(buffer: BufferHandle, offset: u64) -> Self {
        Self { buffer, offset }
    }

    /// The buffer without the classes of the boundary pool, and the offset in it.
    pub(super) fn root(self) -> (BufferHandle, u64) {
        match self.buffer.as_class() {
            Some(class) => (
                BufferHandle::BOUNDARY,
                self.offset
                    .saturating_add(u64::from(class) * CLASS_BYTES as u64),
            ),
            None => (self.buffer, self.offset),
        }
    }
}

impl From<BufferHandle> for Operand {
    fn from(buffer: BufferHandle) -> Self {
        Self::new(buffer, 0)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            0 => write!(f, "[{}]", self.buffer),
            offset => write!(f, "[{} + {offset}]", self.buffer),
        }
    }
}

/// An operand with its extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandUse {
    /// Place of the operand.
    pub operand: Operand,
    /// Bytes that are read or written; `u64::MAX` for sizes beyond.
    pub bytes: u64,
}

/// Operands of an operation: the one that is written, then those that are read, at most three.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    uses: [OperandUse; 4],
    len: usize,
}

impl Operands {
    pub(super) const fn new(uses: [OperandUse; 4], len: usize) -> Self {
        Self { uses, len }
    }

    /// The one that is written.
    pub const fn written(&self) -> OperandUse {
        self.uses[0]
    }

    /// Operands that are read, in the order of the call's fields.
    pub fn read(&self) -> &[OperandUse] {
        &self.uses[1..self.len]
    }

    /// The written one, then those that are read.
    pub fn all(&self) -> &[OperandUse] {
        &self.uses[..self.len]
    }
}
