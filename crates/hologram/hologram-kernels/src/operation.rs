//! The table of whole-buffer operations: what is computed, apart from where the operands are.

use crate::legality::{any_float, binary_types, map_types};
use crate::{BinaryOp, Epsilon, LossOp, MapOp, ReduceOp, Ty};

/// Gives `$with!` what stands in the braces, and behind it the table of whole-buffer operations, a row for each:
///
/// - documentation, code in serialised programs, mnemonic, name of the operation, name of the instruction;
/// - `[word: type]`: words behind the mnemonic;
/// - `(operand: elements)`: the operands, the written one first;
/// - `{constant: type = kind}`: constants, with their [`Constant`](crate::Constant);
/// - `text (operand)`: the operands in the order of the instruction;
/// - `types expression`: whether the types are allowed, a `Result` as [`legality`](crate::legality) gives;
/// - `in place which`: the [`InPlace`](crate::InPlace).
#[doc(hidden)]
#[macro_export]
macro_rules! whole_buffer_operations {
    ($with:ident! { $($before:tt)* }) => {
        $with! {
            { $($before)* }

            /// `c` (m x n) = `a` (m x k) times `b` (k x n), row-major.
            128 "gemm" Gemm Gemm [ty: Ty]
            (
                /// Written.
                c: u64::from(m) * u64::from(n),
                /// Left factor.
                a: u64::from(m) * u64::from(k),
                /// Right factor.
                b: u64::from(k) * u64::from(n)
            )
            {
                /// Rows of `a` and `c`.
                m: u32 = Extent,
                /// Columns of `b` and `c`.
                n: u32 = Extent,
                /// Columns of `a`, rows of `b`.
                k: u32 = Extent
            }
            text (a, b, c) types any_float(ty), in place None;

            /// `dst[i]` = `op` of `src[i]`.
            129 "map" Map ParallelMap [op: MapOp, ty: Ty]
            (
                /// Written.
                dst: count,
                /// Read.
                src: count
            )
            {
                /// Elements.
                count: u64 = Count
            }
            text (dst, src) types map_types(op, ty), in place Each;

            /// `dst[i]` = `a[i]` `op` `b[i]`.
            130 "map2" MapBinary ParallelMapBinary [op: BinaryOp, ty: Ty]
            (
                /// Written.
                dst: count,
                /// Left operand.
                a: count,
                /// Right operand.
                b: count
            )
            {
                /// Elements.
                count: u64 = Count
            }
            text (dst, a, b) types binary_types(op, ty), in place Each;

            /// `dst[0]` = fold of `src`; the order of float sums and products is not defined.
            131 "reduce" Reduce ParallelReduce [op: ReduceOp, ty: Ty]
            (
                /// Written, one element.
                dst: 1,
                /// Read.
                src: count
            )
            {
                /// Elements of `src`.
                count: u64 = Count
            }
            text (dst, src) types Ok(()), in place Any;

            /// Each row of `src`: (x - mean) / sqrt(variance + `epsilon`) * `gamma` + `beta`; the variance is over `cols`.
            132 "layer_norm" LayerNorm LayerNorm [ty: Ty]
            (
                /// Written.
                dst: u64::from(rows) * u64::from(cols),
                /// Read.
                src: u64::from(rows) * u64::from(cols),
                /// Factors.
                gamma: u64::from(cols),
                /// Summands.
                beta: u64::from(cols)
            )
            {
                /// Rows.
                rows: u32 = Extent,
                /// Elements of a row.
                cols: u32 = Extent,
                /// Finite and not negative.
                epsilon: Epsilon = Tolerance
            }
            text (dst, src, gamma, beta) types any_float(ty), in place First;

            /// Each row: exp(x - max) / sum of them.
            133 "softmax" Softmax Softmax [ty: Ty]
            (
                /// Written.
                dst: u64::from(rows) * u64::from(cols),
                /// Read.
                src: u64::from(rows) * u64::from(cols)
            )
            {
                /// Rows.
                rows: u32 = Extent,
                /// Elements of a row.
                cols: u32 = Extent
            }
            text (dst, src) types any_float(ty), in place Each;

            /// `dst[i]` = `src[i]` `op` `value`.
            134 "map_scalar" MapScalar ParallelMapScalar [op: BinaryOp, ty: Ty]
            (
                /// Written.
                dst: count,
                /// Left operand.
                src: count
            )
            {
                /// Bits of the right operand, as of `mov_imm`.
                value: u64 = Bits,
                /// Elements.
                count: u64 = Count
            }
            text (dst, src) types binary_types(op, ty), in place Each;

            /// `dst[i]` = `low` where `src[i]` is less, else `high` where it is greater, else `src[i]`.
            135 "clip" Clip Clip [ty: Ty]
            (
                /// Written.
                dst: count,
                /// Read.
                src: count
            )
            {
                /// Bits of the lower bound, as of `mov_imm`.
                low: u64 = Bits,
                /// Bits of the upper bound, as of `mov_imm`.
                high: u64 = Bits,
                /// Elements.
                count: u64 = Count
            }
            text (dst, src) types Ok(()), in place Each;

            /// `dst[i]` = `value`.
            136 "fill" Fill Fill [ty: Ty]
            (
                /// Written.
                dst: count
            )
            {
                /// Bits of the value, as of `mov_imm`.
                value: u64 = Bits,
                /// Elements.
                count: u64 = Count
            }
            text (dst) types Ok(()), in place Each;

            /// `dst[0]` = a mean loss of `predicted` and `target`.
            137 "loss" Loss Loss [op: LossOp, ty: Ty]
            (
                /// Written, one element.
                dst: 1,
                /// Predictions.
                predicted: count,
                /// Targets.
                target: count
            )
            {
                /// Elements of each.
                count: u64 = Count
            }
            text (dst, predicted, target) types any_float(ty), in place Any;
        }
    };
}

/// A constant of an operation, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// Bits of an element.
    Bits(u64),
    /// A number of elements, which may be 0.
    Count(u64),
    /// Rows or columns: at least 1 in programs.
    Extent(u32),
    /// A float that is finite and not negative.
    Tolerance(Epsilon),
}

/// Read bytes that may be written as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InPlace {
    /// None.
    None,
    /// Bytes of the first operand that is read, if its extent is exactly that of the written one.
    First,
    /// Bytes of every operand whose extent is exactly that of the written one.
    Each,
    /// All.
    Any,
}

/// Text form of an operation: a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// First word of the instruction.
    pub mnemonic: &'static str,
    /// Words behind it.
    pub words: &'static [&'static str],
    /// Choices of each word.
    pub choices: &'static [&'static [&'static str]],
    /// Operands, the written one first.
    pub operands: &'static [&'static str],
    /// Constants, in their order.
    pub constants: &'static [&'static str],
    /// Operands in the order of the instruction.
    pub text: &'static [&'static str],
    /// Meaning of the operation.
    pub meaning: &'static str,
    /// Operands that may be in place.
    pub in_place: InPlace,
}

macro_rules! operation {
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
        /// One operation on whole buffers. Matrices are dense and row-major. The operands are, in this order,
        /// the one that is written (`dst`, `c`) and those that are read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $(
                $(#[doc = $doc])*
                $name {
                    $(#[doc = concat!("`", stringify!($word), "` of the mnemonic.")] $word: $word_ty,)*
                    $($(#[$constant_doc])* $constant: $constant_ty,)*
                },
            )*
        }

        #[allow(unused_variables)]
        impl Operation {
            /// The table.
            pub const FORMS: &'static [Form] = &[$(
                Form {
                    mnemonic: $mnemonic,
                    words: &[$(stringify!($word)),*],
                    choices: &[$(<$word_ty>::NAMES),*],
                    operands: &[$(stringify!($operand)),*],
                    constants: &[$(stringify!($constant)),*],
                    text: &[$(stringify!($text)),*],
                    meaning: concat!($($doc),*),
                    in_place: InPlace::$in_place,
                },
            )*];

            /// The row of the table.
            pub fn form(&self) -> &'static Form {
                &Self::FORMS[self.row()]
            }

            fn row(&self) -> usize {
                #[allow(clippy::enum_variant_names)]
                enum Row { $($name),* }
                match self { $(Self::$name { .. } => Row::$name as usize,)* }
            }

            /// Type of the elements.
            pub const fn ty(&self) -> Ty {
                match *self { $(Self::$name { ty, .. } => ty,)* }
            }

            /// Names of the words behind the mnemonic.
            pub fn words(&self) -> Vec<&'static str> {
                match *self { $(Self::$name { $($word,)* .. } => vec![$($word.name()),*],)* }
            }

            /// Elements of each operand, the written one first, and how many operands there are.
            pub fn lengths(&self) -> ([u64; 4], usize) {
                match *self { $(Self::$name { $($constant,)* .. } => {
                    let lengths = [$($length),*];
                    let mut all = [0; 4];
                    all[..lengths.len()].copy_from_slice(&lengths);
                    (all, lengths.len())
                })* }
            }

            /// The constants, in their order.
            pub fn constants(&self) -> Vec<Constant> {
                match *self { $(Self::$name { $($constant,)* .. } => vec![$(Constant::$kind($constant)),*],)* }
            }

            /// Checks the type.
            ///
            /// # Errors
            /// The type and the allowed ones, in words.
            pub fn check_types(&self) -> Result<(), (Ty, &'static str)> {
                match *self { $(Self::$name { $($word,)* .. } => $types,)* }
            }
        }
    };
}
whole_buffer_operations! { operation! {} }
