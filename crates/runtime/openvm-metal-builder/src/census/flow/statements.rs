//! Loops and choices by their parts.

use super::super::ast::Node;

/// A loop by its parts.
pub struct Loop<'n, 'a> {
    /// Statement before the first round.
    pub first: Option<&'n Node<'a>>,
    /// Variable that each test declares: `while (uint x = ...)`.
    pub declared: Option<&'n Node<'a>>,
    pub condition: Option<&'n Node<'a>>,
    /// Expression at the end of a round.
    pub step: Option<&'n Node<'a>>,
    pub body: &'n Node<'a>,
    /// The condition is asked behind the body.
    pub tests_last: bool,
}

impl<'n, 'a> Loop<'n, 'a> {
    pub fn new(n: &'n Node<'a>) -> Option<Self> {
        let some = |n: &'n Node<'a>| (!n.kind.is_empty()).then_some(n);
        let mut out = Self {
            first: None,
            declared: None,
            condition: None,
            step: None,
            body: n.inner.last()?,
            tests_last: false,
        };
        match (n.kind.as_ref(), n.inner.as_slice()) {
            ("ForStmt", [first, declared, condition, step, _]) => {
                (out.first, out.declared) = (some(first), some(declared));
                (out.condition, out.step) = (some(condition), some(step));
            }
            ("WhileStmt", [declared @ .., condition, _]) => {
                (out.declared, out.condition) = (declared.first(), Some(condition));
            }
            ("DoStmt", [body, condition]) => {
                (out.body, out.condition, out.tests_last) = (body, Some(condition), true);
            }
            _ => return None,
        }
        Some(out)
    }

    /// The parts that each round goes through.
    pub fn parts(&self) -> impl Iterator<Item = &'n Node<'a>> {
        let parts = [Some(self.body), self.step, self.declared, self.condition];
        parts.into_iter().flatten()
    }
}

/// Declarations before the condition of an `if`, the condition, and the branches.
pub fn branches<'n, 'a>(n: &'n Node<'a>) -> (&'n [Node<'a>], Option<&'n Node<'a>>, &'n [Node<'a>]) {
    let at = usize::from(n.has_init) + usize::from(n.has_var);
    let first = n.inner.get(..at).unwrap_or_default();
    let branches = n.inner.get(at + 1..).unwrap_or_default();
    (first, n.inner.get(at), branches)
}
