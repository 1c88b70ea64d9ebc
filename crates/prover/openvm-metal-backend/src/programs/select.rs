//! Instruction selection and ordering for one block of roots.

use super::{
    graph::{Graph, Node, NodeId},
    program::{Operand, Operation, Sink},
};

/// A value to deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    pub node: NodeId,
    pub sink: Sink,
}

impl Root {
    /// A node alone, to count what it needs.
    pub fn of(node: NodeId) -> Self {
        Self {
            node,
            sink: Sink::Accumulate0(0),
        }
    }
}

/// An instruction over virtual registers: `Operand::Register` and `Sink::Register` hold the index of
/// the value, each written once.
#[derive(Clone, Copy, Debug)]
pub struct Virtual {
    pub operation: Operation,
    pub operands: [Operand; 3],
    pub sink: Sink,
}

/// A number for some of the nodes, cleared in the time it took to fill.
pub struct Marks {
    numbers: Vec<u32>,
    marked: Vec<NodeId>,
}

impl Marks {
    const NONE: u32 = u32::MAX;

    /// No node marked.
    pub fn new(graph: &Graph) -> Self {
        Self {
            numbers: vec![Self::NONE; graph.nodes.len()],
            marked: Vec::new(),
        }
    }

    fn get(&self, id: NodeId) -> Option<u32> {
        Some(self.numbers[id as usize]).filter(|&number| number != Self::NONE)
    }

    fn set(&mut self, id: NodeId, number: u32) {
        if self.numbers[id as usize] == Self::NONE {
            self.marked.push(id);
        }
        self.numbers[id as usize] = number;
    }

    /// The marked nodes, in any order.
    pub fn marked(&self) -> &[NodeId] {
        &self.marked
    }

    /// Removes all marks.
    pub fn clear(&mut self) {
        for id in self.marked.drain(..) {
            self.numbers[id as usize] = Self::NONE;
        }
    }
}

/// The nodes that `roots` need and that `seen` does not hold yet are added to `seen`, with the number
/// of their uses; returns how many of them are operations.
pub fn reach(graph: &Graph, roots: &[Root], seen: &mut Marks) -> usize {
    let mut added = 0;
    let mut stack: Vec<NodeId> = roots.iter().map(|root| root.node).collect();
    while let Some(id) = stack.pop() {
        let uses = seen.get(id).unwrap_or(0) + 1;
        seen.set(id, uses);
        if uses == 1 {
            let before = stack.len();
            stack.extend(graph.nodes[id as usize].children());
            added += usize::from(stack.len() > before);
        }
    }
    added
}

struct Selector<'a> {
    graph: &'a Graph,
    /// Columns of the nodes that are variables.
    columns: &'a [u32],
    /// Uses of each node within the block: by operations and by roots.
    uses: &'a mut Marks,
    /// Values already computed.
    values: &'a mut Marks,
    /// Registers a node needs when its operands are evaluated in the better order.
    need: &'a mut Marks,
    code: Vec<Virtual>,
    next_value: u32,
    /// Nodes to evaluate, and whether their operands are available.
    stack: Vec<(NodeId, bool)>,
}

/// Straight-line code for `roots`, in their order. `columns` has the column of each node that is a variable; `marks` is scratch.
pub fn select(
    graph: &Graph,
    columns: &[u32],
    roots: &[Root],
    marks: &mut [Marks; 3],
) -> Vec<Virtual> {
    marks.iter_mut().for_each(Marks::clear);
    let [uses, values, need] = marks;
    reach(graph, roots, uses);
    let mut selector = Selector {
        graph,
        columns,
        uses,
        values,
        need,
        code: Vec::new(),
        next_value: 0,
        stack: Vec::new(),
    };
    selector.label();
    for root in roots {
        selector.root(*root);
    }
    selector.code
}

impl Selector<'_> {
    fn label(&mut self) {
        let mut ids = self.uses.marked().to_vec();
        ids.sort_unstable(); // topological
        for id in ids {
            let mut children = self.graph.nodes[id as usize].children();
            let need = match (children.next(), children.next()) {
                (Some(a), Some(b)) => match (self.need_of(a), self.need_of(b)) {
                    (a, b) if a == b => a + 1,
                    (a, b) => a.max(b),
                },
                _ => 0,
            };
            self.need.set(id, need);
        }
    }

    fn need_of(&self, id: NodeId) -> u32 {
        self.need.get(id).unwrap_or(0)
    }

    fn leaf(&self, id: NodeId) -> Option<Operand> {
        match self.graph.nodes[id as usize] {
            Node::Variable(_) => {
                let column = self.columns[id as usize];
                assert_ne!(column, u32::MAX, "a variable without a column");
                Some(Operand::Variable(column))
            }
            Node::Uniform(u) => Some(Operand::Uniform(u)),
            _ => self.values.get(id).map(Operand::Register),
        }
    }

    fn single(&self, id: NodeId) -> bool {
        self.uses.get(id) == Some(1)
    }

    /// A product used once and not computed yet can be part of the sum that uses it.
    fn fusable(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        match self.graph.nodes[id as usize] {
            Node::Mul(a, b) if self.single(id) && self.values.get(id).is_none() => Some((a, b)),
            _ => None,
        }
    }

    fn is_uniform(&self, id: NodeId) -> bool {
        matches!(self.graph.nodes[id as usize], Node::Uniform(_))
    }

    /// The operation that computes a node, with its operands; a uniform factor comes second.
    fn shape(&self, id: NodeId) -> (Operation, [NodeId; 3]) {
        let ordered = |(a, b): (NodeId, NodeId)| if self.is_uniform(a) { (b, a) } else { (a, b) };
        let fused = |mul: (NodeId, NodeId), c: NodeId, full: Operation, uniform: Operation| {
            let (a, b) = ordered(mul);
            (if self.is_uniform(b) { uniform } else { full }, [a, b, c])
        };
        match self.graph.nodes[id as usize] {
            Node::Variable(_) | Node::Uniform(_) => (Operation::Copy, [id; 3]),
            Node::Mul(a, b) => {
                let (a, b) = ordered((a, b));
                (
                    if self.is_uniform(b) {
                        Operation::MulU
                    } else {
                        Operation::Mul
                    },
                    [a, b, a],
                )
            }
            Node::Add(x, y) => match (self.fusable(x), self.fusable(y)) {
                (_, Some(mul)) => fused(mul, x, Operation::MulAdd, Operation::MulAddU),
                (Some(mul), None) => fused(mul, y, Operation::MulAdd, Operation::MulAddU),
                (None, None) => (Operation::Add, [x, y, x]),
            },
            Node::Sub(x, y) => match (self.fusable(x), self.fusable(y)) {
                (_, Some(mul)) => fused(mul, x, Operation::NegMulAdd, Operation::NegMulAddU),
                (Some(mul), None) => fused(mul, y, Operation::MulSub, Operation::MulSubU),
                (None, None) => (Operation::Sub, [x, y, x]),
            },
        }
    }

    /// Emits whatever `id` needs, depth first with an explicit stack, operands of greater need first.
    fn evaluate(&mut self, id: NodeId) {
        self.stack.push((id, false));
        self.evaluate_stack();
    }

    fn evaluate_stack(&mut self) {
        while let Some((id, ready)) = self.stack.pop() {
            if self.leaf(id).is_some() {
                continue;
            }
            if ready {
                let value = self.next_value;
                self.next_value += 1;
                self.push(id, Sink::Register(value));
                self.values.set(id, value);
            } else {
                self.stack.push((id, true));
                self.push_operands(id);
            }
        }
    }

    fn push_operands(&mut self, id: NodeId) {
        let (operation, mut operands) = self.shape(id);
        let operands = &mut operands[..operation.arity()];
        operands.sort_by_key(|&child| self.need_of(child)); // the last is popped first
        self.stack
            .extend(operands.iter().map(|&child| (child, false)));
    }

    /// Emits the instruction of `id`, whose operands are available.
    fn push(&mut self, id: NodeId, sink: Sink) {
        let (operation, operands) = self.shape(id);
        let operands = operands.map(|child| self.leaf(child).expect("operand was evaluated"));
        self.code.push(Virtual {
            operation,
            operands,
            sink,
        });
    }

    fn root(&mut self, root: Root) {
        if self.leaf(root.node).is_none() && self.single(root.node) {
            // Straight into the sink.
            self.push_operands(root.node);
            self.evaluate_stack();
            self.push(root.node, root.sink);
            return;
        }
        self.evaluate(root.node);
        let value = self.leaf(root.node).expect("root was evaluated");
        self.code.push(Virtual {
            operation: Operation::Copy,
            operands: [value; 3],
            sink: root.sink,
        });
    }
}
