//! Address modes of the memory instructions.

use std::fmt;

use super::Register;

/// Address of a load or a store.
///
/// For `lds` and `sts` the handle part is ignored and never read: the offset part is the byte offset
/// in the block's shared memory ([`Address::PhiCoordinate`] is then invalid).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A fixed byte of a fixed buffer.
    BufferOffset {
        /// Raw buffer handle.
        handle: u64,
        /// Byte offset.
        offset: usize,
    },
    /// A byte of the boundary pool: `class * 12288 + page * 256 + byte` of buffer 0.
    PhiCoordinate {
        /// Class, below 96.
        class: u8,
        /// Page, below 48.
        page: u8,
        /// Byte of the page.
        byte: u8,
    },
    /// A fixed byte of the buffer whose handle a register holds; a negative offset is a fault.
    RegisterIndirect {
        /// Raw buffer handle, `u64`.
        base: Register,
        /// Byte offset.
        offset: i32,
    },
    /// Handle and byte offset from registers.
    RegisterIndirectComputed {
        /// Raw buffer handle, `u64`.
        handle_reg: Register,
        /// Byte offset, `u64`.
        offset_reg: Register,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferOffset { handle, offset } => write!(f, "[buf{handle} + {offset}]"),
            Self::PhiCoordinate { class, page, byte } => write!(f, "[phi {class}:{page}:{byte}]"),
            Self::RegisterIndirect { base, offset } if offset < 0 => {
                write!(f, "[{base} - {}]", offset.unsigned_abs())
            }
            Self::RegisterIndirect { base, offset } => write!(f, "[{base} + {offset}]"),
            Self::RegisterIndirectComputed {
                handle_reg,
                offset_reg,
            } => write!(f, "[{handle_reg} + {offset_reg}]"),
        }
    }
}
