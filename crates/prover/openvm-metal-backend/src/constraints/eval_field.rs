//! The fields that programs are evaluated over.

use crate::prelude::D_EF;

/// The field that the variables of an evaluation are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvalField {
    /// Round 0 and the leaves.
    Base,
    /// The rounds over the hypercube: values in four planes.
    Extension,
}

impl EvalField {
    /// Both, in the order of the steps of a proof.
    pub const ALL: [Self; 2] = [Self::Base, Self::Extension];

    /// Words of a value.
    pub fn words(self) -> u32 {
        match self {
            Self::Base => 1,
            Self::Extension => D_EF as u32,
        }
    }
}
