//! The table of instructions, and that of whole-buffer operations as instructions; text and byte forms are made from them.

use std::fmt;

use hologram_kernels::Operation;

use super::field::{Field, Reader};
use super::{
    Address, BinaryOp, Condition, Epsilon, Label, LossOp, MapOp, MemoryScope, Predicate, ReduceOp,
    Register, Ty,
};

/// Category of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Loads, stores, moves, conversions.
    DataMovement,
    /// Sums, products and their kin.
    Arithmetic,
    /// Bits, shifts, comparisons, selection.
    Logic,
    /// Branches, calls, loops, the end.
    ControlFlow,
    /// Barriers and fences.
    Synchronization,
    /// Classes, neighbours, phase.
    Atlas,
    /// Folds over consecutive registers.
    Reduction,
    /// Exponentials, logarithms, roots, circular functions.
    Transcendental,
    /// Linear pools.
    PoolStorage,
    /// Operations on whole buffers, in launches of one lane.
    Intrinsic,
}

/// Row of an instruction in the reference page.
#[cfg(test)]
pub(crate) struct Row {
    pub category: Category,
    pub mnemonic: &'static str,
    /// Names and types of the words after the mnemonic.
    pub words: &'static [(&'static str, &'static str)],
    /// Names and types of the operands.
    pub operands: &'static [(&'static str, &'static str)],
    pub meaning: &'static str,
}

macro_rules! instruction_set {
    (
        { $($category:ident { $(
            $(#[doc = $doc:literal])*
            $code:literal $mnemonic:literal $name:ident
            [$($suffix:ident: $suffix_ty:ty),*] ($($field:ident: $field_ty:ty),*);
        )* })* }
        // Whole-buffer operations, as `whole_buffer_operations` gives them.
        $(
            $(#[doc = $op_doc:literal])*
            $op_code:literal $op_mnemonic:literal $operation:ident $op_name:ident
            [$($word:ident: $word_ty:ty),*]
            ($($(#[$operand_doc:meta])* $operand:ident: $length:expr),*)
            {$($(#[$constant_doc:meta])* $constant:ident: $constant_ty:ty = $kind:ident),*}
            text ($($handle:ident),*) types $types:expr, in place $in_place:ident;
        )*
    ) => {
        /// One instruction.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Instruction {
            $($(
                $(#[doc = $doc])*
                $name {
                    $(#[doc = concat!("`", stringify!($suffix), "` of the mnemonic.")] $suffix: $suffix_ty,)*
                    $(#[doc = concat!("Operand `", stringify!($field), "`.")] $field: $field_ty,)*
                },
            )*)*
            $(
                $(#[doc = $op_doc])*
                ///
                /// Registers hold handles of buffers (`u64`).
                $op_name {
                    $(#[doc = concat!("`", stringify!($word), "` of the mnemonic.")] $word: $word_ty,)*
                    $(#[doc = concat!("Operand `", stringify!($handle), "`.")] $handle: Register,)*
                    $($(#[$constant_doc])* $constant: $constant_ty,)*
                },
            )*
        }

        impl Instruction {
            /// Code in serialised programs.
            pub const fn opcode(&self) -> u8 {
                match self {
                    $($(Self::$name { .. } => $code,)*)*
                    $(Self::$op_name { .. } => $op_code,)*
                }
            }

            /// First word in assembly, without types.
            pub const fn mnemonic(&self) -> &'static str {
                match self {
                    $($(Self::$name { .. } => $mnemonic,)*)*
                    $(Self::$op_name { .. } => $op_mnemonic,)*
                }
            }

            /// Category of the instruction.
            pub const fn category(&self) -> Category {
                match self {
                    $($(Self::$name { .. } => Category::$category,)*)*
                    $(Self::$op_name { .. } => Category::Intrinsic,)*
                }
            }

            /// Opcode and mnemonic of every instruction.
            pub const ALL: &'static [(u8, &'static str)] = &[
                $($(($code, $mnemonic),)*)*
                $(($op_code, $op_mnemonic),)*
            ];

            /// Rows of the reference page: every instruction that is no whole-buffer operation.
            #[cfg(test)]
            pub(crate) const ROWS: &'static [Row] = &[$($(
                Row {
                    category: Category::$category,
                    mnemonic: $mnemonic,
                    words: &[$((stringify!($suffix), stringify!($suffix_ty)),)*],
                    operands: &[$((stringify!($field), stringify!($field_ty)),)*],
                    meaning: concat!($($doc,)*),
                },
            )*)*];

            /// The whole-buffer operation of the instruction, if it is one.
            pub fn operation(&self) -> Option<Operation> {
                match *self {
                    $($(Self::$name { .. } => None,)*)*
                    $(Self::$op_name { $($word,)* $($constant,)* .. } => {
                        Some(Operation::$operation { $($word,)* $($constant,)* })
                    })*
                }
            }

            /// Calls `f` with every register that holds the handle of a whole-buffer operation's operand.
            pub(super) fn for_each_handle(&self, mut f: impl FnMut(Register)) {
                match *self {
                    $($(Self::$name { .. } => {})*)*
                    $(Self::$op_name { $($handle,)* .. } => { $(f($handle);)* })*
                }
            }

            pub(crate) fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.opcode());
                match self {
                    $($(Self::$name { $($suffix,)* $($field,)* } => {
                        $($suffix.encode(out);)*
                        $($field.encode(out);)*
                    })*)*
                    $(Self::$op_name { $($word,)* $($handle,)* $($constant,)* } => {
                        $($word.encode(out);)*
                        $($handle.encode(out);)*
                        $($constant.encode(out);)*
                    })*
                }
            }

            pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
                let [code] = input.array()?;
                match code {
                    $($($code => Ok(Self::$name {
                        $($suffix: Field::decode(input)?,)*
                        $($field: Field::decode(input)?,)*
                    }),)*)*
                    $($op_code => Ok(Self::$op_name {
                        $($word: Field::decode(input)?,)*
                        $($handle: Field::decode(input)?,)*
                        $($constant: Field::decode(input)?,)*
                    }),)*
                    _ => Err(format!("no instruction has code {code}")),
                }
            }

            /// Reads `mnemonic.suffixes operands`.
            pub(crate) fn parse(text: &str) -> Result<Self, String> {
                let (head, tail) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                let mut words = head.split('.');
                let mnemonic = words.next().unwrap_or_default();
                let ty = words.clone().find_map(Ty::from_name);
                let mut operands = tail.split(',').map(str::trim);
                if tail.trim().is_empty() {
                    operands.next();
                }
                let instruction = match mnemonic {
                    $($($mnemonic => Self::$name {
                        $($suffix: Field::parse(words.next()).map_err(|e| format!("{}: {e}", stringify!($suffix)))?,)*
                        $($field: Field::parse_in(operands.next(), stringify!($field), ty).map_err(|e| format!("{}: {e}", stringify!($field)))?,)*
                    },)*)*
                    $($op_mnemonic => Self::$op_name {
                        $($word: Field::parse(words.next()).map_err(|e| format!("{}: {e}", stringify!($word)))?,)*
                        $($handle: Field::parse(operands.next()).map_err(|e| format!("{}: {e}", stringify!($handle)))?,)*
                        $($constant: Field::parse_in(operands.next(), stringify!($constant), ty).map_err(|e| format!("{}: {e}", stringify!($constant)))?,)*
                    },)*
                    _ => return Err(format!("unknown instruction `{mnemonic}`")),
                };
                match (words.next(), operands.next()) {
                    (Some(word), _) => Err(format!("`{word}` is one word too many after `{mnemonic}`")),
                    (_, Some(operand)) => Err(format!("`{operand}` is one operand too many")),
                    _ => Ok(instruction),
                }
            }

            /// Words after the mnemonic, and operands.
            fn texts(&self) -> (Vec<Option<String>>, Vec<Option<String>>) {
                let ty = self.constant_type();
                match self {
                    $($(Self::$name { $($suffix,)* $($field,)* } => (
                        vec![$($suffix.show(),)*],
                        vec![$($field.show_in(stringify!($field), ty),)*],
                    ),)*)*
                    $(Self::$op_name { $($word,)* $($handle,)* $($constant,)* } => (
                        vec![$($word.show(),)*],
                        vec![$($handle.show(),)* $($constant.show_in(stringify!($constant), ty),)*],
                    ),)*
                }
            }
        }
    };
}

macro_rules! pattern {
    (
        {}
        $(
            $(#[doc = $doc:literal])*
            $code:literal $mnemonic:literal $operation:ident $name:ident [$($words:tt)*] ($($operands:tt)*) {$($constants:tt)*}
            text ($($text:tt)*) types $types:expr, in place $in_place:ident;
        )*
    ) => {
        /// A pattern that all whole-buffer operations match.
        macro_rules! whole_buffer {
            () => { $($crate::isa::Instruction::$name { .. })|* };
        }
    };
}
hologram_kernels::whole_buffer_operations! { pattern! {} }
pub(crate) use whole_buffer;

hologram_kernels::whole_buffer_operations! { instruction_set! {
    DataMovement {
        /// `dst` = memory at `addr`.
        1 "ldg" Ldg [ty: Ty] (dst: Register, addr: Address);
        /// Memory at `addr` = `src`.
        2 "stg" Stg [ty: Ty] (src: Register, addr: Address);
        /// `dst` = the block's shared memory at the offset of `addr`.
        3 "lds" Lds [ty: Ty] (dst: Register, addr: Address);
        /// The block's shared memory at the offset of `addr` = `src`.
        4 "sts" Sts [ty: Ty] (src: Register, addr: Address);
        /// `dst` = `src`.
        5 "mov" Mov [ty: Ty] (dst: Register, src: Register);
        /// `dst` = the low bits of `value`, of floats their bit pattern.
        6 "mov_imm" MovImm [ty: Ty] (dst: Register, value: u64);
        /// `dst` = `src` converted.
        7 "cvt" Cvt [dst_ty: Ty, src_ty: Ty] (dst: Register, src: Register);
    }
    Arithmetic {
        /// `dst` = `src1` + `src2`; integers wrap.
        16 "add" Add [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = `src1` - `src2`; integers wrap.
        17 "sub" Sub [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = `src1` * `src2`; integers wrap.
        18 "mul" Mul [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = `src1` / `src2`; integers truncate, MIN / -1 wraps, zero is a fault.
        19 "div" Div [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = `a` * `b` + `c`; floats round twice.
        20 "mad" Mad [ty: Ty] (dst: Register, a: Register, b: Register, c: Register);
        /// `dst` = `a` * `b` + `c`, rounded once.
        21 "fma" Fma [ty: Ty] (dst: Register, a: Register, b: Register, c: Register);
        /// `dst` = the smaller; a NaN yields the other, equals the first.
        22 "min" Min [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = the larger; a NaN yields the other, equals the first.
        23 "max" Max [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = |`src`|; the minimum integer stays.
        24 "abs" Abs [ty: Ty] (dst: Register, src: Register);
        /// `dst` = -`src`; the minimum integer stays.
        25 "neg" Neg [ty: Ty] (dst: Register, src: Register);
    }
    Logic {
        /// `dst` = `src1` & `src2`.
        32 "and" And [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = `src1` | `src2`.
        33 "or" Or [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = `src1` ^ `src2`.
        34 "xor" Xor [ty: Ty] (dst: Register, src1: Register, src2: Register);
        /// `dst` = !`src`.
        35 "not" Not [ty: Ty] (dst: Register, src: Register);
        /// `dst` = `src` << (`amount` mod width); `amount` is `u32`.
        36 "shl" Shl [ty: Ty] (dst: Register, src: Register, amount: Register);
        /// `dst` = `src` >> (`amount` mod width), arithmetic when signed; `amount` is `u32`.
        37 "shr" Shr [ty: Ty] (dst: Register, src: Register, amount: Register);
        /// `dst` = comparison of `src1` and `src2`.
        38 "set" SetCc [cond: Condition, ty: Ty] (dst: Predicate, src1: Register, src2: Register);
        /// `dst` = `pred` ? `src_true` : `src_false`; both must be initialised.
        39 "sel" Sel [ty: Ty] (dst: Register, pred: Predicate, src_true: Register, src_false: Register);
    }
    ControlFlow {
        /// Jump to `target`, where `pred` is given when it is true.
        48 "bra" Bra [] (target: Label, pred: Option<Predicate>);
        /// Push the next pc, jump to `target`.
        49 "call" Call [] (target: Label);
        /// Pop a pc and go on there.
        50 "ret" Ret [] ();
        /// If `count` (`u32`) > 0: decrement it and jump to `body`.
        51 "loop" Loop [] (count: Register, body: Label);
        /// The lane ends.
        52 "exit" Exit [] ();
    }
    Synchronization {
        /// All lanes of the block meet here.
        56 "bar_sync" BarSync [] (id: u8);
        /// Memory fence.
        57 "mem_fence" MemFence [scope: MemoryScope] ();
    }
    Atlas {
        /// `dst` (`u8`) = the lane's class.
        64 "cls_get" ClsGet [] (dst: Register);
        /// `dst` (`u8`) = mirror of class `src` (`u8`), 255 for no class.
        65 "mirror" Mirror [] (dst: Register, src: Register);
        /// `dst` = the lane's class is one of unity.
        66 "unity_test" UnityTest [] (dst: Predicate, epsilon: Epsilon);
        /// `dst` (`u32`) = neighbours of class `class` (`u8`).
        67 "nbr_count" NbrCount [] (dst: Register, class: Register);
        /// `dst` (`u8`) = neighbour `index`, ascending, of class `class` (`u8`); 0 past the last.
        68 "nbr_get" NbrGet [] (dst: Register, class: Register, index: u8);
        /// Adds `value` (`f64`) to the lane's own sum of class `class` (`u8`).
        69 "res_accum" ResAccum [] (class: Register, value: Register);
        /// `dst` (`u32`) = the lane's phase.
        70 "phase_get" PhaseGet [] (dst: Register);
        /// The lane's phase += `delta` mod 768.
        71 "phase_adv" PhaseAdv [] (delta: u16);
        /// `dst` (`u64`) = byte of the boundary pool of (`class`, `page`, `byte`), each `u8`.
        72 "bound_map" BoundMap [] (dst: Register, class: Register, page: Register, byte: Register);
    }
    Reduction {
        /// `dst` = sum of `count` registers from `src_base` on, left to right; 0 of none.
        80 "reduce_add" ReduceAdd [ty: Ty] (dst: Register, src_base: Register, count: u32);
        /// `dst` = smallest of `count` registers from `src_base` on.
        81 "reduce_min" ReduceMin [ty: Ty] (dst: Register, src_base: Register, count: u32);
        /// `dst` = largest of `count` registers from `src_base` on.
        82 "reduce_max" ReduceMax [ty: Ty] (dst: Register, src_base: Register, count: u32);
        /// `dst` = product of `count` registers from `src_base` on; 1 of none.
        83 "reduce_mul" ReduceMul [ty: Ty] (dst: Register, src_base: Register, count: u32);
    }
    Transcendental {
        /// e to the `src`.
        96 "exp" Exp [ty: Ty] (dst: Register, src: Register);
        /// Natural logarithm.
        97 "log" Log [ty: Ty] (dst: Register, src: Register);
        /// Logarithm to base 2.
        98 "log2" Log2 [ty: Ty] (dst: Register, src: Register);
        /// Logarithm to base 10.
        99 "log10" Log10 [ty: Ty] (dst: Register, src: Register);
        /// Square root, correctly rounded.
        100 "sqrt" Sqrt [ty: Ty] (dst: Register, src: Register);
        /// 1 / square root.
        101 "rsqrt" Rsqrt [ty: Ty] (dst: Register, src: Register);
        /// Sine.
        102 "sin" Sin [ty: Ty] (dst: Register, src: Register);
        /// Cosine.
        103 "cos" Cos [ty: Ty] (dst: Register, src: Register);
        /// Tangent.
        104 "tan" Tan [ty: Ty] (dst: Register, src: Register);
        /// Hyperbolic tangent.
        105 "tanh" Tanh [ty: Ty] (dst: Register, src: Register);
        /// 1 / (1 + exp(-`src`)).
        106 "sigmoid" Sigmoid [ty: Ty] (dst: Register, src: Register);
        /// `src1` to the `src2`.
        107 "pow" Pow [ty: Ty] (dst: Register, src1: Register, src2: Register);
    }
    PoolStorage {
        /// `dst` (`u64`) = handle of a new zeroed pool of `size` bytes.
        112 "pool_alloc" PoolAlloc [] (dst: Register, size: u64);
        /// Frees the pool `handle` (`u64`).
        113 "pool_free" PoolFree [] (handle: Register);
        /// `dst` = pool `pool` (`u64`) at byte `offset` (`u64`).
        114 "pool_load" PoolLoad [ty: Ty] (dst: Register, pool: Register, offset: Register);
        /// Pool `pool` (`u64`) at byte `offset` (`u64`) = `src`.
        115 "pool_store" PoolStore [ty: Ty] (src: Register, pool: Register, offset: Register);
    }
}}

impl Instruction {
    /// Type of the constants that an instruction has.
    fn constant_type(&self) -> Option<Ty> {
        match *self {
            Self::MovImm { ty, .. } => Some(ty),
            // Of the others only whole-buffer operations have constants.
            _ => self.operation().map(|operation| operation.ty()),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, operands) = self.texts();
        f.write_str(self.mnemonic())?;
        for word in words.iter().flatten() {
            write!(f, ".{word}")?;
        }
        for (i, operand) in operands.iter().flatten().enumerate() {
            write!(f, "{}{operand}", if i == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}
