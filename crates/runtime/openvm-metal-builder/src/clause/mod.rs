//! The clauses of a kernel.

mod expression;

pub use self::expression::{Binary, Expr, Extent, Function, Order, Relation};

/// The clauses of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    /// Cost of a launch.
    pub cost: Option<Cost>,
    /// Least number of elements of buffers, by name.
    pub lengths: Vec<(String, Expr)>,
    /// Buffers that may be one and the same range, by name.
    pub in_place: Vec<String>,
    /// Conditions on the parameters.
    pub requires: Vec<Requirement>,
    /// Numbers that only the caller knows, arguments of the launcher.
    pub given: Vec<String>,
    /// Most registers of a thread on NVIDIA GPUs.
    pub registers: Option<u32>,
    /// Conditions that callers of the `unsafe` launcher guarantee.
    pub safety: Option<String>,
}

impl Clauses {
    /// Nothing to evaluate for a launch.
    pub fn is_empty(&self) -> bool {
        self.cost.is_none()
            && self.lengths.is_empty()
            && self.in_place.is_empty()
            && self.requires.is_empty()
    }
}

/// A cost clause.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Each amount with the name of its unit, singular: `byte`, `product`, or a unit of the crate
    /// ([`Builder::cost_unit`](crate::Builder::cost_unit)).
    pub items: Vec<(Expr, String)>,
    /// Unit of work that the amounts belong to.
    pub per: Per,
}

/// Unit of work that a cost belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// One thread of the grid.
    Thread,
    /// One threadgroup of the grid.
    Threadgroup,
    /// The launch: for costs that follow from given numbers.
    Launch,
}

/// One condition.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The expression as it is written.
    pub text: String,
    /// One of these holds.
    pub one_of: Vec<Relation>,
}
