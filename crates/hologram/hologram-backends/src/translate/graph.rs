//! Control-flow graph of a program: blocks, reverse postorder, dominators, reducibility.

/// Effect of an instruction on the flow of control; targets are instruction indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on.
    Next,
    /// Always jumps.
    Jump(usize),
    /// Jumps if its predicate is true.
    Branch(usize),
    /// Jumps if its counter is not 0, which it decrements.
    Loop(usize),
    /// Pushes the next index and jumps.
    Call(usize),
    /// Pops and jumps.
    Ret,
    /// Ends the lane.
    Exit,
    /// Waits for the block.
    Barrier,
}

/// A stretch of instructions that is entered only at its start.
#[derive(Clone, Debug)]
pub struct Block {
    /// First instruction.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// End of the block; `Next` if the following instruction is the target of a jump.
    pub flow: Flow,
    /// Block that a taken jump leads to.
    pub taken: Option<usize>,
    /// Block that follows; `None` also stands for the end of the program.
    pub next: Option<usize>,
}

/// Blocks of a program in the order of its instructions; block 0 is the entry.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// Position in reverse postorder, `usize::MAX` if unreachable.
    pub order: Vec<usize>,
    /// Blocks in reverse postorder.
    pub sequence: Vec<usize>,
    /// Immediate dominator; the entry's is itself.
    pub dominator: Vec<usize>,
    /// Every loop is entered only at its head, and there are no calls and returns.
    pub reducible: bool,
}

impl Graph {
    /// Builds the graph; targets that lie past the end end the lane.
    pub fn new(flows: &[Flow]) -> Self {
        let n = flows.len();
        let mut starts = vec![false; n + 1];
        starts[0] = true;
        for (i, flow) in flows.iter().enumerate() {
            match *flow {
                Flow::Next => {}
                Flow::Jump(t) | Flow::Branch(t) | Flow::Loop(t) | Flow::Call(t) => {
                    starts[t.min(n)] = true;
                    starts[i + 1] = true;
                }
                Flow::Ret | Flow::Exit | Flow::Barrier => starts[i + 1] = true,
            }
        }
        let mut blocks = Vec::new();
        let mut block_of = vec![0; n];
        let mut start = 0;
        for i in 0..n {
            block_of[i] = blocks.len();
            if starts[i + 1] || i + 1 == n {
                blocks.push(Block {
                    start,
                    end: i + 1,
                    flow: flows[i],
                    taken: None,
                    next: None,
                });
                start = i + 1;
            }
        }
        let count = blocks.len();
        for (index, block) in blocks.iter_mut().enumerate() {
            let at = |t: usize| block_of.get(t).copied();
            let following = Some(index + 1).filter(|&b| b < count);
            (block.taken, block.next) = match block.flow {
                Flow::Next | Flow::Barrier => (None, following),
                Flow::Jump(t) => (at(t), None),
                Flow::Branch(t) | Flow::Loop(t) => (at(t), following),
                Flow::Call(t) => (at(t), following),
                Flow::Ret | Flow::Exit => (None, None),
            };
        }
        let mut graph = Self {
            blocks,
            order: vec![usize::MAX; count],
            sequence: Vec::new(),
            dominator: vec![usize::MAX; count],
            reducible: true,
        };
        graph.number();
        graph.dominate();
        graph.reducible = graph.check();
        graph
    }

    /// Blocks that may run next.
    pub fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let b = &self.blocks[block];
        [b.taken, b.next].into_iter().flatten()
    }

    /// Edges that do not go back, into each block.
    pub fn forward_entries(&self) -> Vec<usize> {
        let mut entries = vec![0; self.blocks.len()];
        for &b in &self.sequence {
            for s in self.successors(b) {
                if self.order[s] > self.order[b] {
                    entries[s] += 1;
                }
            }
        }
        entries
    }

    /// True for a loop head: an edge goes back to it.
    pub fn heads(&self) -> Vec<bool> {
        let mut heads = vec![false; self.blocks.len()];
        for &b in &self.sequence {
            for s in self.successors(b) {
                if self.order[s] <= self.order[b] {
                    heads[s] = true;
                }
            }
        }
        heads
    }

    fn number(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let mut seen = vec![false; self.blocks.len()];
        let mut post = Vec::new();
        let mut stack = vec![(0, self.successors(0).collect::<Vec<_>>())];
        seen[0] = true;
        while let Some((block, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(s) if !seen[s] => {
                    seen[s] = true;
                    let next = self.successors(s).collect();
                    stack.push((s, next));
                }
                Some(_) => {}
                None => {
                    post.push(*block);
                    stack.pop();
                }
            }
        }
        post.reverse();
        for (position, &block) in post.iter().enumerate() {
            self.order[block] = position;
        }
        self.sequence = post;
    }

    /// Cooper, Harvey and Kennedy's iteration.
    fn dominate(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let mut before = vec![Vec::new(); self.blocks.len()];
        for &b in &self.sequence {
            for s in self.successors(b) {
                before[s].push(b);
            }
        }
        self.dominator[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &b in &self.sequence[1..] {
                let mut best = usize::MAX;
                for &p in &before[b] {
                    if self.dominator[p] != usize::MAX {
                        best = if best == usize::MAX {
                            p
                        } else {
                            self.common(best, p)
                        };
                    }
                }
                if best != self.dominator[b] {
                    self.dominator[b] = best;
                    changed = true;
                }
            }
        }
    }

    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            while self.order[a] > self.order[b] {
                a = self.dominator[a];
            }
            while self.order[b] > self.order[a] {
                b = self.dominator[b];
            }
        }
        a
    }

    /// True if `a` lies on every way to `b`.
    pub fn dominates(&self, a: usize, mut b: usize) -> bool {
        while self.order[b] > self.order[a] {
            b = self.dominator[b];
        }
        a == b
    }

    fn check(&self) -> bool {
        self.sequence.iter().all(|&b| {
            !matches!(self.blocks[b].flow, Flow::Call(_) | Flow::Ret)
                && self
                    .successors(b)
                    .all(|s| self.order[s] > self.order[b] || self.dominates(s, b))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_joins_are_found() {
        // 0: branch 3; 1: next; 2: jump 4; 3: next; 4: loop 0; 5: exit
        let g = Graph::new(&[
            Flow::Branch(3),
            Flow::Next,
            Flow::Jump(4),
            Flow::Next,
            Flow::Loop(0),
            Flow::Exit,
        ]);
        assert!(g.reducible);
        assert_eq!(g.blocks.len(), 5);
        assert!(g.heads()[0]);
        let join = g.blocks.iter().position(|b| b.start == 4).expect("a block");
        assert_eq!(g.forward_entries()[join], 2);
        assert_eq!(g.dominator[join], 0);
    }

    #[test]
    fn two_entries_into_a_loop_are_irreducible() {
        let g = Graph::new(&[Flow::Branch(2), Flow::Next, Flow::Next, Flow::Branch(1)]);
        assert!(!g.reducible);
    }
}
