//! Calls: an operation and its operands.

use std::fmt;

use hologram_kernels::{Constant, Operation};

use super::operand::{Operand, OperandUse, Operands};
use crate::error::{BackendError, Fault, FaultKind};
use crate::handle::BufferHandle;
use crate::isa::{BinaryOp, Epsilon, Instruction, LossOp, MapOp, ReduceOp, Register, Ty};

macro_rules! call {
    (
        {}
        $(
            $(#[doc = $doc:literal])*
            $code:literal $mnemonic:literal $name:ident $instruction:ident
            [$($word:ident: $word_ty:ty),*]
            ($($(#[$operand_doc:meta])* $operand:ident: $length:expr),*)
            {$($(#[$constant_doc:meta])* $constant:ident: $constant_ty:ty = $kind:ident),*}
            text ($($text:ident),*) types $types:expr, in place $in_place:ident;
        )*
    ) => {
        /// One operation on whole buffers. Matrices are dense and row-major.
        ///
        /// What is written may be exactly an operand of the same extent in `Map`, `MapBinary`, `MapScalar`,
        /// `Clip`, `Softmax` and `LayerNorm` (there `src` only); `Reduce` and `Loss` may write anywhere;
        /// any other overlap of written and read bytes is an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum IntrinsicCall {
            $(
                $(#[doc = $doc])*
                $name {
                    $(#[doc = concat!("`", stringify!($word), "` of the mnemonic.")] $word: $word_ty,)*
                    $($(#[$operand_doc])* $operand: Operand,)*
                    $($(#[$constant_doc])* $constant: $constant_ty,)*
                },
            )*
        }

        impl IntrinsicCall {
            /// The call that an instruction of a program makes; `None` when it is no intrinsic.
            ///
            /// # Errors
            /// Those of `register`, which gives a register's `u64`: the raw handle of a buffer.
            pub fn from_instruction<E>(
                instruction: &Instruction,
                mut register: impl FnMut(Register) -> Result<u64, E>,
            ) -> Result<Option<Self>, E> {
                let mut at = |r| register(r).map(|raw| Operand::from(BufferHandle::from_raw(raw)));
                Ok(match *instruction {
                    $(Instruction::$instruction { $($word,)* $($operand,)* $($constant,)* } => Some(Self::$name {
                        $($word,)*
                        $($operand: at($operand)?,)*
                        $($constant,)*
                    }),)*
                    // All that the table names stands above.
                    _ => None,
                })
            }

            /// The operation, without the operands.
            pub fn operation(&self) -> Operation {
                match *self {
                    $(Self::$name { $($word,)* $($constant,)* .. } => Operation::$name { $($word,)* $($constant,)* },)*
                }
            }

            /// Places of the operands, the written one first; repeated to fill the array.
            fn places(&self) -> [Operand; 4] {
                match *self {
                    $(Self::$name { $($operand,)* .. } => {
                        let places = [$($operand),*];
                        std::array::from_fn(|i| places[i % places.len()])
                    })*
                }
            }
        }
    };
}
hologram_kernels::whole_buffer_operations! { call! {} }

impl IntrinsicCall {
    /// Type of the elements.
    pub fn ty(&self) -> Ty {
        self.operation().ty()
    }

    /// The operands and how many bytes of each are used.
    pub fn operands(&self) -> Operands {
        let operands = self.places();
        let operation = self.operation();
        let size = operation.ty().size() as u64;
        let (lengths, len) = operation.lengths();
        let used = |index: usize| OperandUse {
            operand: operands[index],
            bytes: lengths[index].saturating_mul(size),
        };
        Operands::new([used(0), used(1), used(2), used(3)], len)
    }

    /// The error of a call that failed with `kind` outside of a program.
    pub fn fault(&self, kind: FaultKind) -> BackendError {
        BackendError::Fault(Fault {
            lane: 0,
            pc: 0,
            instruction: self.to_string(),
            kind,
        })
    }
}

impl fmt::Display for IntrinsicCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.operation();
        f.write_str(operation.form().mnemonic)?;
        for word in operation.words() {
            write!(f, ".{word}")?;
        }
        for (i, used) in self.operands().all().iter().enumerate() {
            write!(f, "{}{}", if i == 0 { " " } else { ", " }, used.operand)?;
        }
        for constant in operation.constants() {
            match constant {
                Constant::Bits(bits) => write!(f, ", {bits:#x}")?,
                Constant::Count(count) => write!(f, ", {count}")?,
                Constant::Extent(extent) => write!(f, ", {extent}")?,
                Constant::Tolerance(epsilon) => write!(f, ", {epsilon}")?,
            }
        }
        Ok(())
    }
}
