//! Return addresses of calls in the switch form: packed into words, or an array.
//!
//! Apple's compiler keeps an array that is indexed at run time in device memory, and was seen to read it wrongly in long kernels
//! (`docs/design/apple.md`). Few places stand behind calls, so their numbers are short and a stack of them is a long integer: a call
//! shifts its own in, a return shifts the last one out.

use std::fmt::Write;

use super::graph::{Flow, Graph};
use crate::backend::launch::MAX_CALL_DEPTH;
use crate::program::Program;
use crate::validate::deepest_call;

/// Most words of 64 bits that a stack may take on Apple GPUs.
const MAX_WORDS_APPLE: usize = 8;
/// The same elsewhere, where an array costs no more than shifts of several words.
const MAX_WORDS: usize = 1;

/// Numbers of the cases of a switch, and the return addresses, which are such numbers.
#[derive(Clone, Debug, Default)]
pub struct Returns {
    /// Case of each block, and of the end of the program behind them. Places behind calls have the smallest.
    cases: Vec<usize>,
    /// Different places behind calls.
    places: usize,
    /// Return addresses that a lane holds at most.
    depth: usize,
    /// The program has calls or returns.
    used: bool,
    /// Words of a packed stack; `None` for an array.
    words: Option<usize>,
}

impl Returns {
    /// Numbers the cases of a program, and chooses the form of its stack.
    pub fn new(program: &Program, graph: &Graph, apple: bool) -> Self {
        let count = graph.blocks.len();
        let mut is_behind = vec![false; count + 1];
        let mut used = false;
        for block in &graph.blocks {
            used |= matches!(block.flow, Flow::Call(_) | Flow::Ret);
            if let Flow::Call(_) = block.flow {
                is_behind[block.next.unwrap_or(count)] = true;
            }
        }
        let mut cases = vec![0; count + 1];
        let (behind, others): (Vec<_>, Vec<_>) = (0..=count).partition(|&block| is_behind[block]);
        for (case, &block) in behind.iter().chain(&others).enumerate() {
            cases[block] = case;
        }
        let mut returns = Self {
            cases,
            places: behind.len(),
            depth: match used {
                true => deepest_call(program).unwrap_or(MAX_CALL_DEPTH),
                false => 0,
            },
            used,
            words: None,
        };
        let words = (returns.depth * returns.bits()).div_ceil(64);
        let most = if apple { MAX_WORDS_APPLE } else { MAX_WORDS };
        returns.words = (words <= most).then_some(words);
        returns
    }

    /// Bits of the number of a place behind a call.
    fn bits(&self) -> usize {
        self.places.max(1).next_power_of_two().trailing_zeros() as usize
    }

    /// Case of a block; its number of blocks stands for the end of the program.
    pub fn case(&self, block: usize) -> usize {
        self.cases.get(block).copied().unwrap_or(block)
    }

    /// Declaration of the stack.
    pub fn declaration(&self) -> String {
        let (depth, bits) = (self.depth, self.bits());
        match self.words {
            _ if !self.used => String::new(),
            None => format!(
                "    // Return addresses in an array: {depth} of {bits} bits are too long to shift.\n\
                 \x20   uint sp = 0u, stack[{MAX_CALL_DEPTH}];\n"
            ),
            Some(0) => "    uint sp = 0u;\n".into(),
            Some(words) => {
                let names: Vec<String> = (0..words).map(|i| format!("ra{i} = 0ul")).collect();
                format!(
                    "    // Return addresses: {depth} of {bits} bits, the last one lowest.\n\
                     \x20   uint sp = 0u;\n    ulong {};\n",
                    names.join(", ")
                )
            }
        }
    }

    /// Statements that push the address of a block, where there is room.
    pub fn push(&self, block: usize) -> String {
        let (case, bits) = (self.case(block), self.bits());
        let Some(words) = self.words else {
            return format!("stack[sp] = {case}u; sp += 1u;");
        };
        let mut out = String::new();
        for i in (0..words).rev() {
            let lower = match i {
                0 => format!("{case}ul"),
                _ => format!("ra{} >> {}", i - 1, 64 - bits),
            };
            // Writing to a string does not fail.
            let _ = write!(out, "ra{i} = ra{i} << {bits} | {lower}; ");
        }
        out + "sp += 1u;"
    }

    /// Statements that pop the last address into `pc`, where there is one.
    pub fn pop(&self) -> String {
        let bits = self.bits();
        let mut out = String::from("sp -= 1u; ");
        match self.words {
            None => out.push_str("pc = stack[sp];"),
            Some(0) => out.push_str("pc = 0u;"),
            Some(words) => {
                let _ = write!(out, "pc = (uint)ra0 & {}u;", (1u64 << bits) - 1);
                for i in 0..words {
                    let _ = write!(out, " ra{i} = ra{i} >> {bits}");
                    if i + 1 < words {
                        let _ = write!(out, " | ra{} << {}", i + 1, 64 - bits);
                    }
                    out.push(';');
                }
            }
        }
        out
    }
}
