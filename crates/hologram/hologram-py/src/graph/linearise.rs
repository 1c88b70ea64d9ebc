//! A graph in the order of computation.

use std::sync::Arc;

use hologram_backends::Ty;
use hologram_core::expression::{Step, StepOp};

use super::node::{Node, Operation};
use super::value::{Leaf, Number, Value};

/// Steps in the order of computation. Values are numbered: leaves, numbers, then steps.
pub struct Steps {
    /// Leaves that are read.
    pub leaves: Vec<Leaf>,
    /// Numbers, each once.
    pub numbers: Vec<Number>,
    /// Steps that are computed.
    pub steps: Vec<Step>,
}

impl Steps {
    /// Types of the leaves.
    pub fn leaf_types(&self) -> Vec<Ty> {
        self.leaves.iter().map(Leaf::ty).collect()
    }

    /// Types of the numbers.
    pub fn number_types(&self) -> Vec<Ty> {
        self.numbers.iter().map(|number| number.ty).collect()
    }
}

/// A value before it is known how many leaves and numbers there are.
#[derive(Clone, Copy)]
enum Found {
    Leaf(usize),
    Number(usize),
    Step(usize),
}

/// State of the walk. Graphs have at most some hundred values, which are looked through faster than they are hashed.
#[derive(Default)]
struct Walk {
    leaves: Vec<Leaf>,
    numbers: Vec<Number>,
    steps: Vec<(StepOp, Ty, Vec<Found>)>,
    nodes: Vec<(*const Node, Found)>,
}

impl Walk {
    fn value(&mut self, value: &Value) -> Found {
        match value {
            Value::Leaf(leaf) => self.leaf(leaf),
            Value::Number(number) => {
                let known = self.numbers.iter().position(|known| known == number);
                Found::Number(known.unwrap_or_else(|| {
                    self.numbers.push(*number);
                    self.numbers.len() - 1
                }))
            }
            Value::Node(node) => self.node(node),
        }
    }

    fn leaf(&mut self, leaf: &Leaf) -> Found {
        let known = self.leaves.iter().position(|known| known.same(leaf));
        Found::Leaf(known.unwrap_or_else(|| {
            self.leaves.push(leaf.clone());
            self.leaves.len() - 1
        }))
    }

    /// The depth is bounded: a graph is computed before it has many steps.
    fn node(&mut self, node: &Arc<Node>) -> Found {
        let name = Arc::as_ptr(node);
        if let Some(&(_, found)) = self.nodes.iter().find(|known| known.0 == name) {
            return found;
        }
        if let Some(leaf) = node.leaf() {
            return self.leaf(&leaf);
        }
        let args: Vec<Found> = node.args().iter().map(|arg| self.value(arg)).collect();
        let found = match node.operation {
            Operation::Copy => args[0],
            Operation::Step(op) => {
                self.steps.push((op, node.of, args));
                Found::Step(self.steps.len() - 1)
            }
        };
        self.nodes.push((name, found));
        found
    }
}

/// The steps to compute some values, and the numbers of these.
pub fn linearise<'a>(roots: impl IntoIterator<Item = &'a Value>) -> (Steps, Vec<usize>) {
    let mut walk = Walk::default();
    let found: Vec<Found> = roots.into_iter().map(|root| walk.value(root)).collect();
    let (leaves, numbers) = (walk.leaves.len(), walk.numbers.len());
    let place = |found: &Found| match *found {
        Found::Leaf(at) => at,
        Found::Number(at) => leaves + at,
        Found::Step(at) => leaves + numbers + at,
    };
    let steps = walk.steps.iter().map(|(op, ty, args)| Step {
        op: *op,
        ty: *ty,
        args: args.iter().map(place).collect(),
    });
    let steps = Steps {
        steps: steps.collect(),
        leaves: walk.leaves,
        numbers: walk.numbers,
    };
    (steps, found.iter().map(place).collect())
}
