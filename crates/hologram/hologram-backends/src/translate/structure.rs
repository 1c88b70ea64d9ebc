//! Structured control flow from a reducible graph (after Ramsey's "Beyond Relooper").
//!
//! Blocks that several forward edges reach follow a `do { } while (false)` that is left by `break`; loop
//! heads open `for (;;)`. A jump over more than one such construct sets `to` and breaks; the check stands
//! behind each construct that is passed. A jump to what comes next anyway costs nothing.

use super::graph::{Flow, Graph};

/// Deeper nesting is left to the switch form: compilers limit brackets.
const MAX_DEPTH: usize = 60;
/// More blocks are left to the switch form: the recursion here is as deep as joins are in sequence.
const MAX_BLOCKS: usize = 1500;

/// Writes what is inside blocks.
pub trait Emit {
    /// The instructions of a block, except its last one where that is a jump.
    fn body(&mut self, block: usize, out: &mut String);
    /// Condition of the last instruction's jump and what is done when it is taken.
    fn condition(&mut self, block: usize) -> (String, String);
    /// Ends the lane.
    fn exit(&mut self, out: &mut String);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Block(usize),
    Exit,
}

struct Construct {
    /// Target of `break`.
    after: Option<Target>,
    /// Target of `continue`.
    head: Option<Target>,
    /// Targets that leave it through `to`.
    escapes: Vec<Target>,
}

struct Writer<'a, E> {
    graph: &'a Graph,
    emit: &'a mut E,
    out: String,
    heads: Vec<bool>,
    merges: Vec<bool>,
    /// Blocks dominated directly, latest first.
    children: Vec<Vec<usize>>,
    stack: Vec<Construct>,
    flagged: bool,
    failed: bool,
}

/// The program as structured text, or nothing if it does not have the form for it.
pub fn structured(graph: &Graph, emit: &mut impl Emit) -> Option<String> {
    if !graph.reducible || graph.blocks.is_empty() || graph.blocks.len() > MAX_BLOCKS {
        return None;
    }
    let mut children = vec![Vec::new(); graph.blocks.len()];
    for &b in graph.sequence.iter().skip(1).rev() {
        children[graph.dominator[b]].push(b);
    }
    let mut writer = Writer {
        heads: graph.heads(),
        merges: graph.forward_entries().iter().map(|&n| n > 1).collect(),
        graph,
        emit,
        out: String::new(),
        children,
        stack: Vec::new(),
        flagged: false,
        failed: false,
    };
    writer.tree(0, Target::Exit);
    if writer.failed || deepest(&writer.out) > MAX_DEPTH {
        return None;
    }
    let declaration = if writer.flagged {
        "    uint to = 0u;\n"
    } else {
        ""
    };
    Some(format!("{declaration}{}", writer.out))
}

/// Most brackets that are open at a time.
fn deepest(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    for c in text.bytes() {
        match c {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

impl<E: Emit> Writer<'_, E> {
    /// A block and what it dominates; `fall` is where the end of the text leads.
    fn tree(&mut self, block: usize, fall: Target) {
        if self.failed {
            return;
        }
        if !self.heads[block] {
            return self.within(block, 0, fall);
        }
        let here = Target::Block(block);
        self.open("for (;;) {\n", Some(fall), Some(here));
        self.within(block, 0, here);
        self.close("}\n");
    }

    /// The block inside the constructs for its joins, from child `from` on.
    fn within(&mut self, block: usize, from: usize, fall: Target) {
        let join =
            (from..self.children[block].len()).find(|&i| self.merges[self.children[block][i]]);
        if let Some(i) = join {
            let follow = self.children[block][i];
            let target = Target::Block(follow);
            self.open("do {\n", Some(target), None);
            self.within(block, i + 1, target);
            self.close("} while (false);\n");
            return self.tree(follow, fall);
        }
        self.emit.body(block, &mut self.out);
        let b = &self.graph.blocks[block];
        let target = |t: Option<usize>| t.map_or(Target::Exit, Target::Block);
        match b.flow {
            Flow::Jump(_) => {
                let to = target(b.taken);
                self.branch(block, to, fall);
            }
            Flow::Branch(_) | Flow::Loop(_) => {
                let (taken, next) = (target(b.taken), target(b.next));
                let (condition, action) = self.emit.condition(block);
                self.out.push_str(&format!("if ({condition}) {{\n{action}"));
                self.branch(block, taken, fall);
                let before = self.out.len();
                self.out.push_str("} else {\n");
                let start = self.out.len();
                self.branch(block, next, fall);
                if self.out.len() == start {
                    self.out.truncate(before);
                }
                self.out.push_str("}\n");
            }
            Flow::Exit => self.jump(Target::Exit, fall),
            Flow::Next | Flow::Barrier => {
                let to = target(b.next);
                self.branch(block, to, fall);
            }
            Flow::Call(_) | Flow::Ret => self.failed = true,
        }
    }

    fn branch(&mut self, from: usize, to: Target, fall: Target) {
        match to {
            Target::Block(b) if self.graph.order[b] > self.graph.order[from] && !self.merges[b] => {
                self.tree(b, fall);
            }
            _ => self.jump(to, fall),
        }
    }

    fn jump(&mut self, to: Target, fall: Target) {
        if to == fall {
            return;
        }
        if to == Target::Exit {
            return self.emit.exit(&mut self.out);
        }
        self.leave(to, true);
    }

    /// Leaves the innermost construct for `to`; `set` if the flag must be set.
    fn leave(&mut self, to: Target, set: bool) {
        let clear = if set { "" } else { "to = 0u; " };
        let Some(inner) = self.stack.last_mut() else {
            self.failed = true;
            return;
        };
        if inner.after == Some(to) {
            self.out.push_str(&format!("{clear}break;\n"));
        } else if inner.head == Some(to) {
            self.out.push_str(&format!("{clear}continue;\n"));
        } else {
            if !inner.escapes.contains(&to) {
                inner.escapes.push(to);
            }
            self.flagged = true;
            let Target::Block(block) = to else {
                self.failed = true;
                return;
            };
            let text = if set {
                format!("to = {}u; break;\n", block + 1)
            } else {
                "break;\n".into()
            };
            self.out.push_str(&text);
        }
    }

    fn open(&mut self, text: &str, after: Option<Target>, head: Option<Target>) {
        self.failed |= self.stack.len() > MAX_DEPTH;
        self.out.push_str(text);
        self.stack.push(Construct {
            after,
            head,
            escapes: Vec::new(),
        });
    }

    fn close(&mut self, text: &str) {
        self.out.push_str(text);
        let Some(construct) = self.stack.pop() else {
            self.failed = true;
            return;
        };
        for to in construct.escapes {
            let Target::Block(block) = to else { continue };
            self.out.push_str(&format!("if (to == {}u) {{ ", block + 1));
            self.leave(to, false);
            self.out.push_str("}\n");
        }
    }
}
