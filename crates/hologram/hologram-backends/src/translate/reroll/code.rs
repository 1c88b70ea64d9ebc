//! Making programs from parts of one program, with registers of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::line::Line;
use crate::backend::launch::{ExecutionParams, LaunchConfig};
use crate::isa::{Condition, Instruction, Label, Predicate, Register, Ty};
use crate::program::Program;

/// A program in the making.
///
/// Constants are preset registers, so that programs that differ in nothing else are of one shape.
pub struct Code<'a> {
    from: &'a Program,
    out: Program,
    presets: Vec<(Register, Ty, u64)>,
    free: Vec<Register>,
    /// A predicate that the parts do not use.
    pub guard: Predicate,
    labels: usize,
}

impl<'a> Code<'a> {
    /// Nothing yet; `None` if the program leaves no predicate.
    pub fn new(from: &'a Program, params: &ExecutionParams) -> Option<Self> {
        let mut used: BTreeSet<Register> = params.initial_registers.iter().map(|r| r.0).collect();
        let mut predicates = BTreeSet::new();
        for instruction in from.instructions() {
            instruction.for_each_use(|register, _| {
                used.insert(register);
            });
            used.extend(instruction.def().map(|d| d.0));
            predicates.extend(instruction.predicate_def());
            predicates.extend(instruction.predicate_use());
        }
        let special = Register::LANE_X.index();
        let free = (0..special).rev().map(Register::new);
        Some(Self {
            from,
            out: Program::new(),
            presets: Vec::new(),
            free: free.filter(|r| !used.contains(r)).collect(),
            guard: (0..16)
                .filter_map(|i| Predicate::new(i).ok())
                .find(|p| !predicates.contains(p))?,
            labels: 0,
        })
    }

    /// A register that nothing else uses.
    pub fn fresh(&mut self) -> Option<Register> {
        self.free.pop()
    }

    /// A register that holds a constant from the beginning.
    pub fn preset(&mut self, ty: Ty, bits: u64) -> Option<Register> {
        let register = self.fresh()?;
        self.presets.push((register, ty, bits));
        Some(register)
    }

    /// A label of its own.
    pub fn label(&mut self) -> Option<Label> {
        self.labels += 1;
        Label::new(&format!("l{}", self.labels)).ok()
    }

    /// Binds a label to the next instruction.
    pub fn bind(&mut self, label: &Label) -> Option<()> {
        self.out.bind_label(label.clone(), self.out.len()).ok()
    }

    /// Appends an instruction.
    pub fn push(&mut self, instruction: Instruction) {
        self.out.push(instruction);
    }

    /// Appends `dst = src1 + src2`.
    pub fn add(&mut self, ty: Ty, dst: Register, src1: Register, src2: Register) {
        self.push(Instruction::Add {
            ty,
            dst,
            src1,
            src2,
        });
    }

    /// Appends `dst = src1 * src2`.
    pub fn mul(&mut self, ty: Ty, dst: Register, src1: Register, src2: Register) {
        self.push(Instruction::Mul {
            ty,
            dst,
            src1,
            src2,
        });
    }

    /// Appends a jump that is taken if two `u64` are in a relation.
    pub fn jump_if(&mut self, cond: Condition, src1: Register, src2: Register, target: &Label) {
        let ty = Ty::U64;
        self.push(Instruction::SetCc {
            cond,
            ty,
            dst: self.guard,
            src1,
            src2,
        });
        self.push(Instruction::Bra {
            target: target.clone(),
            pred: Some(self.guard),
        });
    }

    /// Appends a part of the program whose jumps stay within it.
    pub fn copy(&mut self, range: Range<usize>) -> Option<()> {
        let instructions = self.from.instructions().get(range.clone())?;
        let mut targets: BTreeMap<usize, Label> = BTreeMap::new();
        let base = self.out.len();
        for instruction in instructions {
            let Instruction::Bra { target, pred } = instruction else {
                self.push(instruction.clone());
                continue;
            };
            let to = self.from.resolve_label(target.name())?;
            let target = match targets.get(&to) {
                Some(label) => label.clone(),
                None => self.label()?,
            };
            targets.insert(to, target.clone());
            self.push(Instruction::Bra {
                target,
                pred: *pred,
            });
        }
        for (to, label) in targets {
            self.out
                .bind_label(label, base + to.checked_sub(range.start)?)
                .ok()?;
        }
        Some(())
    }

    /// Appends `register += factor * step` for each line; `factor` is `u64`.
    pub fn advance(&mut self, lines: &[(Register, Line)], factor: Register) -> Option<()> {
        let moved = self.fresh()?;
        for &(register, Line { ty, step, .. }) in lines.iter().filter(|(_, l)| l.step != 0) {
            let amount = self.preset(ty, step)?;
            if ty == Ty::U64 {
                self.mul(ty, moved, factor, amount);
            } else {
                self.push(Instruction::Cvt {
                    dst_ty: ty,
                    src_ty: Ty::U64,
                    dst: moved,
                    src: factor,
                });
                self.mul(ty, moved, moved, amount);
            }
            self.add(ty, register, register, moved);
        }
        Some(())
    }

    /// Appends `register += factor * step` for each line; the factor is known.
    pub fn advance_by(&mut self, lines: &[(Register, Line)], factor: u64) -> Option<()> {
        for &(register, Line { ty, step, .. }) in lines.iter().filter(|(_, l)| l.step != 0) {
            let amount = self.preset(ty, step.wrapping_mul(factor) & ty.mask())?;
            self.add(ty, register, register, amount);
        }
        Some(())
    }

    /// The program, and its launch. It ends: nothing has to count steps.
    pub fn finish(
        self,
        params: &ExecutionParams,
        launch: LaunchConfig,
    ) -> (Program, ExecutionParams) {
        let mut params = ExecutionParams {
            launch,
            step_budget: Some(u64::MAX),
            ..params.clone()
        };
        params.initial_registers.extend(self.presets);
        (self.out, params)
    }
}
