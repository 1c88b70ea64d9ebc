//! Operations of the whole-buffer instructions.

/// Makes an enum whose values have a name and a code.
#[doc(hidden)]
#[macro_export]
macro_rules! named_codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All values, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$($text,)*];

            /// Name in assembly.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The value called `name`.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }

            /// Code in serialised programs.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The value with a code.
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.get(code as usize).copied()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named_codes! {
    /// Unary operation of `map`.
    MapOp {
        /// Absolute value.
        Abs = "abs",
        /// Negation.
        Neg = "neg",
        /// e to the x.
        Exp = "exp",
        /// Natural logarithm.
        Log = "log",
        /// Square root.
        Sqrt = "sqrt",
        /// 1 / square root.
        Rsqrt = "rsqrt",
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Tangent.
        Tan = "tan",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// 1 / (1 + exp(-x)).
        Sigmoid = "sigmoid",
        /// max(x, 0); NaN gives 0.
        Relu = "relu",
        /// Error function.
        Erf = "erf",
        /// Towards plus infinity.
        Ceil = "ceil",
        /// Towards minus infinity.
        Floor = "floor",
        /// To the nearest, halves to even.
        Round = "round",
        /// 1 / x.
        Reciprocal = "reciprocal",
        /// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
        Gelu = "gelu",
    }
}

named_codes! {
    /// Binary operation of `map2`.
    BinaryOp {
        /// a + b; integers wrap.
        Add = "add",
        /// a - b; integers wrap.
        Sub = "sub",
        /// a * b; integers wrap.
        Mul = "mul",
        /// a / b; an integer division by zero is a fault.
        Div = "div",
        /// a to the b; floats only.
        Pow = "pow",
        /// The smaller; a NaN yields the other.
        Min = "min",
        /// The larger; a NaN yields the other.
        Max = "max",
        /// Angle of (b, a); floats only.
        Atan2 = "atan2",
    }
}

named_codes! {
    /// Operation of `reduce`.
    ReduceOp {
        /// Sum, 0 when empty.
        Sum = "sum",
        /// Product, 1 when empty.
        Product = "product",
        /// Smallest; the largest value (infinity) when empty.
        Min = "min",
        /// Largest; the smallest value (minus infinity) when empty.
        Max = "max",
    }
}

named_codes! {
    /// Operation of `loss`: a mean over `count` pairs of prediction p and target t; NaN of none.
    ///
    /// A product with a logarithm is 0 where its other factor is 0.
    LossOp {
        /// Mean of (p - t)^2.
        Mse = "mse",
        /// Minus the mean of t ln p.
        CrossEntropy = "cross_entropy",
        /// Minus the mean of t ln p + (1 - t) ln(1 - p).
        BinaryCrossEntropy = "binary_cross_entropy",
    }
}
