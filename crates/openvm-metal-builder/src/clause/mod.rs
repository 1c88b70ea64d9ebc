//! What the clauses of a kernel say.

mod expression;

pub use self::expression::{Binary, Expr, Extent, Function, Order, Relation};

/// The clauses of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    /// What a launch costs.
    pub cost: Option<Cost>,
    /// Least number of elements of buffers, by name.
    pub lengths: Vec<(String, Expr)>,
    /// Conditions on the parameters.
    pub requires: Vec<Requirement>,
    /// Numbers that only the caller knows, arguments of the launcher.
    pub given: Vec<String>,
    /// Most registers of a thread on NVIDIA GPUs.
    pub registers: Option<u32>,
    /// What callers of the `unsafe` launcher vouch for.
    pub safety: Option<String>,
}

impl Clauses {
    /// Nothing to evaluate for a launch.
    pub fn is_empty(&self) -> bool {
        self.cost.is_none() && self.lengths.is_empty() && self.requires.is_empty()
    }
}

/// A cost clause.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Each amount with what it counts.
    pub items: Vec<(Expr, Unit)>,
    /// What the amounts are for.
    pub per: Per,
}

/// What a cost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Products of base-field elements.
    Product,
    /// Products of extension elements: 19/2 products.
    ExtProduct,
    /// Poseidon2 permutations of width 16: 564 products.
    Permutation,
    /// Bytes read or written.
    Byte,
}

/// What a cost is for.
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
    /// As it is written.
    pub text: String,
    /// One of these holds.
    pub one_of: Vec<Relation>,
}
