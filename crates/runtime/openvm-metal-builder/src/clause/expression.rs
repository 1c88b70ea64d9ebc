//! Expressions of clauses: numbers that count something, 64 bits wide.

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `256`
    Number(u64),
    /// `p.n`, `p.offsets[1]`: a field of the struct of value parameter `param`, an entry of it.
    Field {
        /// Parameter of the kernel.
        param: String,
        /// Field.
        field: String,
        /// Entry of an array.
        entry: Option<u64>,
    },
    /// A value parameter that is an integer.
    Scalar(String),
    /// Number of the `Given:` clause.
    Given(usize),
    /// A template argument that is a number.
    Template(String),
    /// `sizeof(T)` of a template argument or a type.
    SizeOf(String),
    /// `threads`, `groups.x`, ...
    Grid(Extent, Option<usize>),
    /// `max(a, b)`, ...
    Call(Function, Vec<Expr>),
    /// `a + b`, ...
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a < b ? c : d`
    Choice(Box<Relation>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Some number in it is a given one.
    pub(crate) fn is_told(&self) -> bool {
        match self {
            Self::Given(_) => true,
            Self::Call(_, all) => all.iter().any(Self::is_told),
            Self::Binary(_, a, b) => a.is_told() || b.is_told(),
            Self::Choice(relation, a, b) => relation.is_told() || a.is_told() || b.is_told(),
            _ => false,
        }
    }
}

/// A size of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Threads in all.
    Threads,
    /// Threadgroups in all.
    Groups,
    /// Threads of a threadgroup.
    ThreadsPerGroup,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The quotient of two numbers, rounded up.
    CeilDiv,
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`, 0 where the second is larger
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    Different,
}

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Left side.
    pub left: Expr,
    /// The comparison.
    pub order: Order,
    /// Right side.
    pub right: Expr,
}

impl Relation {
    /// Some number in it is a given one.
    pub(crate) fn is_told(&self) -> bool {
        self.left.is_told() || self.right.is_told()
    }
}
