//! Conditions of comparisons and scopes of fences.

use hologram_kernels::named_codes;

named_codes! {
    /// Condition of `set`.
    ///
    /// The `u` conditions compare the operands' bits as unsigned integers: of signed integers too;
    /// of floats they are invalid. A NaN operand makes all but `ne` false.
    Condition {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
        /// Less, as unsigned.
        Ltu = "ltu",
        /// Less or equal, as unsigned.
        Leu = "leu",
        /// Greater, as unsigned.
        Gtu = "gtu",
        /// Greater or equal, as unsigned.
        Geu = "geu",
    }
}

impl Condition {
    /// One of the four unsigned conditions.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::Ltu | Self::Leu | Self::Gtu | Self::Geu)
    }
}

named_codes! {
    /// Observers that must see the memory accesses before a fence in order with those after it.
    MemoryScope {
        /// The lane itself: nothing to do.
        Thread = "thread",
        /// The lanes of the block.
        Block = "block",
        /// All lanes of the launch.
        Device = "device",
        /// The host too.
        System = "system",
    }
}
