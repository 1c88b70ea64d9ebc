//! The normalised expression graph of an AIR.

use openvm_stark_backend::air_builders::symbolic::{
    symbolic_variable::{Entry, SymbolicVariable},
    SymbolicExpressionDag, SymbolicExpressionNode,
};
use p3_field::PrimeCharacteristicRing;
use rustc_hash::FxHashMap;

use super::error::ProgramError;
use crate::prelude::F;

/// A trace value that varies over the points of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variable {
    /// A column of a part, parts numbered: preprocessed (if the AIR has it), cached, common main;
    /// `next`: of the row after.
    Column { part: u32, column: u32, next: bool },
    /// 1 in the first row, else 0.
    IsFirstRow,
    /// 0 in the last row, else 1.
    IsTransition,
    /// 1 in the last row, else 0.
    IsLastRow,
}

/// A value that is the same at all points: an entry of the uniform table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniform {
    /// Fixed by the key.
    Constant(F),
    /// Public value with this index.
    Public(u32),
}

/// Index of a node of the [`Graph`].
pub type NodeId = u32;

/// An operation on earlier nodes, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Variable(Variable),
    Uniform(u32),
    Add(NodeId, NodeId),
    Sub(NodeId, NodeId),
    Mul(NodeId, NodeId),
}

impl Node {
    /// The operands.
    pub fn children(self) -> impl Iterator<Item = NodeId> {
        let pair = match self {
            Node::Variable(_) | Node::Uniform(_) => None,
            Node::Add(a, b) | Node::Sub(a, b) | Node::Mul(a, b) => Some([a, b]),
        };
        pair.into_iter().flatten()
    }
}

/// A node or its negative: negations move up to the sum that absorbs them.
#[derive(Clone, Copy)]
struct Signed {
    id: NodeId,
    negative: bool,
}

/// Nodes in topological order, each once.
#[derive(Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub uniforms: Vec<Uniform>,
    index: FxHashMap<Node, NodeId>,
    uniform_index: FxHashMap<Uniform, u32>,
    /// For each node of the DAG.
    roots: Vec<Signed>,
}

/// Widths of the parts of an AIR and the number of its public values, as the key states them.
pub struct AirShape<'a> {
    pub air: &'a str,
    pub has_preprocessed: bool,
    pub part_widths: &'a [usize],
    pub public_values: usize,
}

impl AirShape<'_> {
    fn resolve(
        &self,
        var: &SymbolicVariable<F>,
    ) -> Result<Result<Variable, Uniform>, ProgramError> {
        let air = || self.air.to_string();
        let (part, offset) = match var.entry {
            Entry::Preprocessed { offset } => {
                if !self.has_preprocessed {
                    return Err(ProgramError::NoPreprocessed { air: air() });
                }
                (0, offset)
            }
            Entry::Main { part_index, offset } => {
                (part_index + usize::from(self.has_preprocessed), offset)
            }
            Entry::Public => {
                if var.index >= self.public_values {
                    return Err(ProgramError::PublicValueIndex {
                        air: air(),
                        index: var.index,
                        len: self.public_values,
                    });
                }
                return Ok(Err(Uniform::Public(var.index as u32)));
            }
            Entry::Challenge => return Err(ProgramError::Challenge { air: air() }),
        };
        let width = *self
            .part_widths
            .get(part)
            .ok_or_else(|| ProgramError::NoPart {
                air: air(),
                part,
                parts: self.part_widths.len(),
            })?;
        if var.index >= width {
            return Err(ProgramError::ColumnIndex {
                air: air(),
                part,
                column: var.index,
                width,
            });
        }
        if offset > 1 {
            return Err(ProgramError::Offset { air: air(), offset });
        }
        Ok(Ok(Variable::Column {
            part: part as u32,
            column: var.index as u32,
            next: offset == 1,
        }))
    }
}

impl Graph {
    /// Reads a symbolic DAG and checks every index in it.
    pub fn new(dag: &SymbolicExpressionDag<F>, shape: &AirShape<'_>) -> Result<Self, ProgramError> {
        let mut graph = Self::default();
        for (position, node) in dag.nodes.iter().enumerate() {
            let child = |idx: usize| {
                graph
                    .roots
                    .get(idx)
                    .copied()
                    .ok_or_else(|| ProgramError::Order {
                        air: shape.air.to_string(),
                        node: position,
                        operand: idx,
                    })
            };
            let root = match *node {
                SymbolicExpressionNode::Variable(ref var) => match shape.resolve(var)? {
                    Ok(variable) => graph.leaf(Node::Variable(variable)),
                    Err(uniform) => graph.uniform(uniform),
                },
                SymbolicExpressionNode::IsFirstRow => {
                    graph.leaf(Node::Variable(Variable::IsFirstRow))
                }
                SymbolicExpressionNode::IsLastRow => {
                    graph.leaf(Node::Variable(Variable::IsLastRow))
                }
                SymbolicExpressionNode::IsTransition => {
                    graph.leaf(Node::Variable(Variable::IsTransition))
                }
                SymbolicExpressionNode::Constant(c) => graph.uniform(Uniform::Constant(c)),
                SymbolicExpressionNode::Add {
                    left_idx,
                    right_idx,
                    ..
                } => {
                    let (a, b) = (child(left_idx)?, child(right_idx)?);
                    graph.add(a, b)
                }
                SymbolicExpressionNode::Sub {
                    left_idx,
                    right_idx,
                    ..
                } => {
                    let (a, b) = (child(left_idx)?, child(right_idx)?);
                    graph.add(
                        a,
                        Signed {
                            negative: !b.negative,
                            ..b
                        },
                    )
                }
                SymbolicExpressionNode::Neg { idx, .. } => {
                    let a = child(idx)?;
                    Signed {
                        negative: !a.negative,
                        ..a
                    }
                }
                SymbolicExpressionNode::Mul {
                    left_idx,
                    right_idx,
                    ..
                } => {
                    let (a, b) = (child(left_idx)?, child(right_idx)?);
                    graph.mul(a, b)
                }
            };
            graph.roots.push(root);
        }
        Ok(graph)
    }

    /// The column of each node that is a variable of this order; `u32::MAX` for others.
    pub fn columns(&self, order: &[Variable]) -> Vec<u32> {
        let mut columns = vec![u32::MAX; self.nodes.len()];
        for (&variable, column) in order.iter().zip(0..) {
            if let Some(&id) = self.index.get(&Node::Variable(variable)) {
                columns[id as usize] = column;
            }
        }
        columns
    }

    /// The degree of every node in the columns and selectors, or a bound that is too high.
    pub fn degrees(&self) -> Vec<usize> {
        let mut degrees: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |id: NodeId| degrees[id as usize];
            let degree = match *node {
                Node::Variable(_) => 1,
                Node::Uniform(_) => 0,
                Node::Add(a, b) | Node::Sub(a, b) => of(a).max(of(b)),
                Node::Mul(a, b) => of(a).saturating_add(of(b)),
            };
            degrees.push(degree);
        }
        degrees
    }

    /// The graph node with the value of a node of the DAG; adds a negation where one is left over.
    pub fn root(&mut self, dag_node: usize) -> Option<NodeId> {
        let root = *self.roots.get(dag_node)?;
        if !root.negative {
            return Some(root.id);
        }
        if let Some(c) = self.constant(root.id) {
            return Some(self.uniform(Uniform::Constant(-c)).id);
        }
        let zero = self.uniform(Uniform::Constant(F::ZERO));
        Some(self.intern(Node::Sub(zero.id, root.id)))
    }

    fn intern(&mut self, node: Node) -> NodeId {
        let next = self.nodes.len() as NodeId;
        let id = *self.index.entry(node).or_insert(next);
        if id == next {
            self.nodes.push(node);
        }
        id
    }

    fn leaf(&mut self, node: Node) -> Signed {
        Signed {
            id: self.intern(node),
            negative: false,
        }
    }

    fn uniform(&mut self, uniform: Uniform) -> Signed {
        let next = self.uniforms.len() as u32;
        let index = *self.uniform_index.entry(uniform).or_insert(next);
        if index == next {
            self.uniforms.push(uniform);
        }
        self.leaf(Node::Uniform(index))
    }

    fn constant(&self, id: NodeId) -> Option<F> {
        match self.nodes[id as usize] {
            Node::Uniform(u) => match self.uniforms[u as usize] {
                Uniform::Constant(c) => Some(c),
                Uniform::Public(_) => None,
            },
            _ => None,
        }
    }

    fn signed_constant(&self, x: Signed) -> Option<F> {
        self.constant(x.id).map(|c| if x.negative { -c } else { c })
    }

    fn add(&mut self, a: Signed, b: Signed) -> Signed {
        let (x, y) = (self.signed_constant(a), self.signed_constant(b));
        if let (Some(x), Some(y)) = (x, y) {
            return self.uniform(Uniform::Constant(x + y));
        }
        if x == Some(F::ZERO) {
            return b;
        }
        if y == Some(F::ZERO) {
            return a;
        }
        let node = match (a.negative, b.negative) {
            (false, false) | (true, true) => {
                let negative = a.negative;
                let id = self.intern(Node::Add(a.id.min(b.id), a.id.max(b.id)));
                return Signed { id, negative };
            }
            (false, true) => Node::Sub(a.id, b.id),
            (true, false) => Node::Sub(b.id, a.id),
        };
        // x - y and y - x are one node.
        if let Node::Sub(x, y) = node {
            if x == y {
                return self.uniform(Uniform::Constant(F::ZERO));
            }
            if let Some(&id) = self.index.get(&Node::Sub(y, x)) {
                return Signed { id, negative: true };
            }
        }
        self.leaf(node)
    }

    fn mul(&mut self, a: Signed, b: Signed) -> Signed {
        let constants = (self.signed_constant(a), self.signed_constant(b));
        if let (Some(x), Some(y)) = constants {
            return self.uniform(Uniform::Constant(x * y));
        }
        for (constant, other) in [(constants.0, b), (constants.1, a)] {
            if constant == Some(F::ZERO) {
                return self.uniform(Uniform::Constant(F::ZERO));
            }
            if constant == Some(F::ONE) {
                return other;
            }
            if constant == Some(F::NEG_ONE) {
                return Signed {
                    negative: !other.negative,
                    ..other
                };
            }
        }
        let id = self.intern(Node::Mul(a.id.min(b.id), a.id.max(b.id)));
        Signed {
            id,
            negative: a.negative != b.negative,
        }
    }
}
