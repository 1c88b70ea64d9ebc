//! Text of blocks of instructions.

use std::collections::BTreeSet;

use super::fault;
use super::graph::{Flow, Graph};
use super::plan::{Slot, Source};
use super::returns::Returns;
use super::structure::Emit;
use super::types::{constant, from_bits, local, msl, predicate};
use super::value::assignment;
use crate::backend::launch::MAX_CALL_DEPTH;
use crate::isa::{Instruction, MemoryScope, Register, Ty};
use crate::program::Program;

/// Most 64-bit words of parameters, of 512 that 4 KiB hold.
const MAX_SLOTS: usize = 480;
/// Integers up to this stand in the text; larger ones, and floats, become parameters.
const LITERAL: u64 = 64;

/// State of emission.
pub struct Emitter<'a> {
    pub program: &'a Program,
    pub graph: &'a Graph,
    /// Constant handle of each memory instruction.
    pub handles: Vec<Option<Source>>,
    pub slots: Vec<Slot>,
    /// Steps are counted.
    pub counted: bool,
    /// Accesses and divisors are not tested.
    pub in_bounds: bool,
    /// Statements by which a lane leaves after a fault, and at its end.
    pub leave_fault: &'static str,
    pub leave: &'static str,
    pub table: bool,
    pub boundary: bool,
    /// Numbers of the cases of the switch form, and its stack.
    pub returns: Returns,
    block: usize,
    pub(super) pc: usize,
}

impl<'a> Emitter<'a> {
    pub fn new(program: &'a Program, graph: &'a Graph, slots: Vec<Slot>) -> Self {
        Self {
            program,
            graph,
            handles: Vec::new(),
            slots,
            counted: false,
            in_bounds: false,
            leave_fault: "return;",
            leave: "return;",
            table: false,
            boundary: false,
            returns: Returns::default(),
            block: 0,
            pc: 0,
        }
    }

    /// Word of the parameters, if there is room.
    pub(super) fn slot(&mut self, slot: Slot) -> Option<String> {
        let known = self.slots.iter().position(|&s| s == slot);
        let index = match known {
            Some(index) => index,
            None if self.slots.len() < MAX_SLOTS => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
            None => return None,
        };
        Some(format!("P.v[{index}]"))
    }

    pub(super) fn fault(&self, code: &str, details: [&str; 3]) -> String {
        let [a, b, c] = details;
        let pc = self.pc;
        if self.counted {
            let start = self.graph.blocks[self.block].start;
            format!(
                "{{ hg_fault_at(F, lane, n, B, {}u, {start}u, {code}, {a}, {b}, {c}); {} }}",
                pc - start,
                self.leave_fault
            )
        } else {
            format!(
                "{{ hg_fault(F, lane, {code}, {pc}u, {a}, {b}, {c}); {} }}",
                self.leave_fault
            )
        }
    }

    fn plain_fault(&self, code: u32) -> String {
        self.fault(&format!("{code}u"), ["0ul", "0ul", "0ul"])
    }

    /// Text of one instruction that is not a jump.
    fn instruction(&mut self, out: &mut String) {
        use Instruction as I;
        let program = self.program;
        let instruction = &program.instructions()[self.pc];
        let text = match *instruction {
            I::Ldg { ty, dst, addr } => self.global(ty, addr, None, Some(dst)),
            I::Stg { ty, src, addr } => self.global(ty, addr, Some(src), None),
            I::Lds { ty, dst, addr } => self.shared(ty, addr, None, Some(dst)),
            I::Sts { ty, src, addr } => self.shared(ty, addr, Some(src), None),
            I::PoolLoad {
                ty,
                dst,
                pool,
                offset,
            } => self.pool(ty, pool, offset, None, Some(dst)),
            I::PoolStore {
                ty,
                src,
                pool,
                offset,
            } => self.pool(ty, pool, offset, Some(src), None),
            I::MovImm { ty, dst, value } => {
                let value = value & ty.mask();
                let small = ty.is_int() && value <= LITERAL && !self.is_handle();
                let word = if small {
                    None
                } else {
                    self.slot(Slot::Immediate(self.pc))
                };
                let text = word.map_or_else(|| constant(ty, value), |w| from_bits(ty, &w));
                format!("{} = {text};\n", local(dst, ty))
            }
            I::Div { ty, src2, .. } if ty.is_int() && !self.in_bounds => {
                let zero = self.plain_fault(fault::DIVISION_BY_ZERO);
                format!(
                    "if ({} == 0) {zero}\n{}",
                    local(src2, ty),
                    self.assign(instruction)
                )
            }
            I::MemFence { scope } => match scope {
                MemoryScope::Thread => String::new(),
                _ => "hg_fence();\n".into(),
            },
            I::ClsGet { dst } => format!("{} = (uchar)hg_class;\n", local(dst, Ty::U8)),
            I::UnityTest { dst, .. } => {
                format!("{} = hg_class == 1u || hg_class == 4u;\n", predicate(dst))
            }
            I::NbrCount { dst, class } => format!(
                "{} = hg_neighbours({}, 0u).y;\n",
                local(dst, Ty::U32),
                local(class, Ty::U8)
            ),
            I::NbrGet { dst, class, index } => format!(
                "{} = (uchar)hg_neighbours({}, {index}u).x;\n",
                local(dst, Ty::U8),
                local(class, Ty::U8)
            ),
            I::PhaseGet { dst } => format!("{} = phase;\n", local(dst, Ty::U32)),
            I::PhaseAdv { delta } => format!("phase = (phase + {}u) % 768u;\n", delta % 768),
            I::ResAccum { class, .. } => {
                let class = local(class, Ty::U8);
                let code = format!("{}u", fault::INVALID_CLASS);
                let bad = self.fault(&code, [&format!("(ulong){class}"), "0ul", "0ul"]);
                format!("if ({class} >= 96) {bad}\n")
            }
            I::BoundMap {
                dst,
                class,
                page,
                byte,
            } => {
                let [class, page, byte] = [class, page, byte].map(|r| local(r, Ty::U8));
                let no_class = self.fault(
                    &format!("{}u", fault::INVALID_CLASS),
                    [&format!("(ulong){class}"), "0ul", "0ul"],
                );
                let no_page = self.fault(
                    &format!("{}u", fault::INVALID_PAGE),
                    [&format!("(ulong){page}"), &format!("(ulong){byte}"), "0ul"],
                );
                format!(
                    "if ({class} >= 96) {no_class}\nif ({page} >= 48) {no_page}\n\
                     {} = (ulong){class} * 12288ul + (ulong){page} * 256ul + (ulong){byte};\n",
                    local(dst, Ty::U64)
                )
            }
            _ => self.assign(instruction),
        };
        out.push_str(&text);
    }

    fn assign(&self, instruction: &Instruction) -> String {
        let target = match (instruction.predicate_def(), instruction.def()) {
            (Some(target), _) => predicate(target),
            (None, Some((dst, ty))) => local(dst, ty),
            (None, None) => return String::new(),
        };
        assignment(instruction, &target).unwrap_or_default()
    }

    /// The `mov_imm` here gives a handle to some address.
    fn is_handle(&self) -> bool {
        self.handles.contains(&Some(Source::Immediate(self.pc)))
    }

    /// All instructions of a block but a jump at its end, then the count of its steps.
    pub fn straight(&mut self, block: usize, out: &mut String) {
        self.block = block;
        let b = &self.graph.blocks[block];
        let (start, end, flow) = (b.start, b.end, b.flow);
        let last = match flow {
            Flow::Next => end,
            _ => end - 1,
        };
        for pc in start..last {
            self.pc = pc;
            self.instruction(out);
        }
        self.pc = end - 1;
        if self.counted {
            // Both are looked at when the steps pass a mark, which then is moved on.
            out.push_str(&format!(
                "n += {len}ul; if (n > L) {{ if (n > B) {{ hg_fault(F, lane, {budget}u, {start}u + (uint)(B + {len}ul - n), 0ul, 0ul, 0ul); {leave} }}\n\
                 if (hg_stopped(Q)) {{ hg_fault(F, lane, {stopped}u, {last}u, 0ul, 0ul, 0ul); {leave} }}\n\
                 L = hg_mark(n, B, 65536ul); }}\n",
                budget = fault::BUDGET,
                stopped = fault::STOPPED,
                leave = self.leave_fault,
                last = end - 1,
                len = end - start
            ));
        }
    }

    /// One case of the switch form.
    pub fn case(&mut self, block: usize, out: &mut String) {
        let end = self.graph.blocks.len();
        let b = self.graph.blocks[block].clone();
        let case = |block: Option<usize>| self.returns.case(block.unwrap_or(end));
        let (taken, next, ended) = (case(b.taken), case(b.next), case(None));
        let counted = self.counted;
        out.push_str(&format!("case {}u: {{\n", case(Some(block))));
        self.straight(block, out);
        let text = match b.flow {
            Flow::Next => format!("pc = {next}u; break;"),
            Flow::Jump(_) => format!("pc = {taken}u; break;"),
            Flow::Branch(_) | Flow::Loop(_) => {
                let (condition, action) = self.condition(block);
                format!("if ({condition}) {{ {action}pc = {taken}u; }} else pc = {next}u;\nbreak;")
            }
            Flow::Call(_) => {
                self.counted = false;
                let full = self.plain_fault(fault::CALL_OVERFLOW);
                let push = self.returns.push(b.next.unwrap_or(end));
                format!("if (sp >= {MAX_CALL_DEPTH}u) {full}\n{push} pc = {taken}u; break;")
            }
            Flow::Ret => {
                self.counted = false;
                let empty = self.plain_fault(fault::CALL_UNDERFLOW);
                format!("if (sp == 0u) {empty}\n{} break;", self.returns.pop())
            }
            Flow::Exit => format!("pc = {ended}u; break;"),
            Flow::Barrier => format!("pc = {next}u; st = 1u; at = {}u; break;", b.end - 1),
        };
        // The steps of the block are counted by then: the budget is not asked again.
        self.counted = counted;
        out.push_str(&text);
        out.push_str("\n}\n");
    }
}

impl Emit for Emitter<'_> {
    fn body(&mut self, block: usize, out: &mut String) {
        self.straight(block, out);
    }

    fn condition(&mut self, block: usize) -> (String, String) {
        let pc = self.graph.blocks[block].end - 1;
        match self.program.instructions()[pc] {
            Instruction::Bra {
                pred: Some(pred), ..
            } => (predicate(pred), String::new()),
            Instruction::Loop { count, .. } => {
                let count = local(count, Ty::U32);
                (format!("{count} != 0u"), format!("{count} -= 1u;\n"))
            }
            _ => ("true".into(), String::new()),
        }
    }

    fn exit(&mut self, out: &mut String) {
        out.push_str(self.leave);
        out.push('\n');
    }
}

/// Declarations of all locals that a program needs.
pub fn declarations(program: &Program) -> (BTreeSet<(Register, Ty)>, String) {
    let mut locals = BTreeSet::new();
    let mut predicates = BTreeSet::new();
    for instruction in program.instructions() {
        instruction.for_each_use(|r, ty| {
            locals.insert((r, ty));
        });
        locals.extend(instruction.def());
        predicates.extend(instruction.predicate_def());
        predicates.extend(instruction.predicate_use());
    }
    let mut out = String::new();
    for &(r, ty) in &locals {
        out.push_str(&format!("    {} {} = 0;\n", msl(ty), local(r, ty)));
    }
    for p in predicates {
        out.push_str(&format!("    bool {} = false;\n", predicate(p)));
    }
    (locals, out)
}
