//! Loops that collect values: many lanes collect parts, one block folds the parts with a tree.
//!
//! The first launch gives each lane a part of the iterations: every `lanes`-th one, or consecutive ones where the
//! order matters and on the processor. Each starts from the identity and stores what it collected in scratch memory. The second is one
//! block: its lanes fold consecutive parts each, then a tree in shared memory folds theirs, left before right.
//! Its first lane folds what the registers held before the loop with the result and runs what stands behind.

use super::code::Code;
use super::counted::Counted;
use super::{Lanes, Rerolled, BLOCK, SCRATCH};
use crate::backend::launch::{Dim3, ExecutionParams, LaunchConfig};
use crate::isa::{Address, Condition, Instruction, Register, Ty};
use crate::program::Program;

/// Fewest iterations that are worth two launches.
const MIN_ITERATIONS: u64 = 256;
/// Most registers that collect: their parts share 32 KiB.
const MAX_ACCUMULATORS: usize = 8;
/// Most lanes of the first launch.
const MAX_LANES: u64 = 1 << 18;
/// Lanes of the two launches where few run at once.
const FEW: [u64; 2] = [64, 8];
/// Bytes of a part.
const WORD: u64 = 8;

const U64: Ty = Ty::U64;
const LANE: Register = Register::GLOBAL_LANE;

/// The loop as two launches; `None` if what stands behind it depends on more than the collected values.
pub fn rewrite(repeated: &Counted<'_>, lanes: Lanes) -> Option<Rerolled> {
    let collected = |r: &Register| repeated.accumulators.iter().any(|a| a.register == *r);
    let known = |r: &Register| collected(r) || repeated.is_induction(*r);
    let behind = &repeated.behind;
    let mut registers = behind.exposed.intersection(&repeated.changed);
    let predicates = behind
        .exposed_predicates
        .intersection(&repeated.changed_predicates);
    let few = repeated.accumulators.len() <= MAX_ACCUMULATORS;
    if repeated.count < MIN_ITERATIONS || !few || !registers.all(known) || predicates.count() > 0 {
        return None;
    }
    let ordered = repeated.accumulators.iter().any(|a| a.is_ordered());
    let [about, block] = match lanes {
        Lanes::Few => FEW,
        // As many parts for a lane of the second launch as iterations for one of the first.
        Lanes::Many => {
            let block = u64::from(BLOCK);
            let about = (block * repeated.count).isqrt();
            [about.clamp(block, MAX_LANES), block]
        }
    };
    let each = repeated.count.div_ceil(about);
    let parts = Parts {
        each,
        lanes: repeated.count.div_ceil(each),
        block,
        consecutive: ordered || lanes == Lanes::Few,
    };
    Some(Rerolled {
        stages: vec![collect(repeated, &parts)?, fold(repeated, &parts)?],
        scratch: (WORD * parts.lanes) as usize * repeated.accumulators.len(),
        folded: true,
    })
}

/// Distribution of iterations.
struct Parts {
    /// Most iterations of a lane.
    each: u64,
    /// Lanes, each with at least one iteration.
    lanes: u64,
    /// Most lanes of the second launch.
    block: u64,
    /// Iterations of a lane follow one another.
    consecutive: bool,
}

/// First launch: parts of the loop.
fn collect(repeated: &Counted<'_>, parts: &Parts) -> Option<(Program, ExecutionParams)> {
    let consecutive = parts.consecutive;
    let stride = if consecutive { 1 } else { parts.lanes };
    let mut code = Code::new(repeated.program, repeated.params)?;
    let end = code.label()?;
    let count = code.preset(U64, parts.lanes)?;
    code.jump_if(Condition::Ge, LANE, count, &end);
    code.copy(repeated.parts.before.clone())?;
    let begin = code.preset(U64, if consecutive { parts.each } else { 1 })?;
    let first = code.fresh()?;
    code.mul(U64, first, LANE, begin);
    let last = repeated.count - 1;
    let rounds = code.share(first, last, stride, parts.each)?;
    code.advance(&repeated.inductions, first)?;
    for accumulator in &repeated.accumulators {
        let identity = code.preset(accumulator.ty, accumulator.identity())?;
        code.push(Instruction::Mov {
            ty: accumulator.ty,
            dst: accumulator.register,
            src: identity,
        });
    }
    let body = code.label()?;
    code.bind(&body)?;
    code.copy(repeated.parts.body.clone())?;
    // The body moved them once; the counter is moved by no one.
    let (counter, moved) = repeated.inductions.split_first()?;
    code.advance_by(&[*counter], stride)?;
    code.advance_by(moved, stride - 1)?;
    code.push(Instruction::Loop {
        count: rounds,
        body,
    });
    let scratch = code.preset(U64, SCRATCH)?;
    let (word, at) = (code.preset(U64, WORD)?, code.fresh()?);
    code.mul(U64, at, LANE, word);
    let next = code.preset(U64, WORD * parts.lanes)?;
    for accumulator in &repeated.accumulators {
        code.push(Instruction::Stg {
            ty: accumulator.ty,
            src: accumulator.register,
            addr: indirect(scratch, at),
        });
        code.add(U64, at, at, next);
    }
    code.bind(&end)?;
    let launch = LaunchConfig::linear(parts.lanes, BLOCK);
    Some(code.finish(repeated.params, launch))
}

/// Second launch: one block that folds the parts and runs what stands behind the loop.
fn fold(repeated: &Counted<'_>, parts: &Parts) -> Option<(Program, ExecutionParams)> {
    let share = parts.lanes.div_ceil(parts.block);
    let lanes = parts.lanes.div_ceil(share);
    let mut code = Code::new(repeated.program, repeated.params)?;
    code.copy(repeated.parts.before.clone())?;
    let (first, at, place) = (code.fresh()?, code.fresh()?, code.fresh()?);
    let begin = code.preset(U64, share)?;
    code.mul(U64, first, LANE, begin);
    let rounds = code.share(first, parts.lanes - 1, 1, share)?;
    let (scratch, word) = (code.preset(U64, SCRATCH)?, code.preset(U64, WORD)?);
    let next = code.preset(U64, WORD * parts.lanes)?;
    let mut folded = Vec::new();
    for accumulator in &repeated.accumulators {
        let sum = code.preset(accumulator.ty, accumulator.identity())?;
        folded.push((accumulator, sum, code.fresh()?));
    }
    let serial = code.label()?;
    code.bind(&serial)?;
    code.mul(U64, at, first, word);
    for &(accumulator, sum, other) in &folded {
        code.push(Instruction::Ldg {
            ty: accumulator.ty,
            dst: other,
            addr: indirect(scratch, at),
        });
        code.push(accumulator.combine(sum, other));
        code.add(U64, at, at, next);
    }
    let one = code.preset(U64, 1)?;
    code.add(U64, first, first, one);
    code.push(Instruction::Loop {
        count: rounds,
        body: serial,
    });

    let (total, row) = (code.preset(U64, lanes)?, code.preset(U64, WORD * lanes)?);
    code.mul(U64, place, LANE, word);
    for &(accumulator, sum, _) in &folded {
        code.push(Instruction::Sts {
            ty: accumulator.ty,
            src: sum,
            addr: indirect(scratch, place),
        });
        code.add(U64, place, place, row);
    }
    // Lanes at multiples of twice the distance fold what is that far to their right.
    let (distance, mask) = (code.preset(U64, 1)?, code.fresh()?);
    let zero = code.preset(U64, 0)?;
    let (tree, skip, end) = (code.label()?, code.label()?, code.label()?);
    code.bind(&tree)?;
    code.push(Instruction::BarSync { id: 0 });
    code.add(U64, mask, distance, distance);
    code.push(Instruction::Sub {
        ty: U64,
        dst: mask,
        src1: mask,
        src2: one,
    });
    code.push(Instruction::And {
        ty: U64,
        dst: mask,
        src1: mask,
        src2: LANE,
    });
    code.jump_if(Condition::Ne, mask, zero, &skip);
    code.add(U64, at, LANE, distance);
    code.jump_if(Condition::Ge, at, total, &skip);
    code.mul(U64, at, at, word);
    code.mul(U64, place, LANE, word);
    for &(accumulator, sum, other) in &folded {
        code.push(Instruction::Lds {
            ty: accumulator.ty,
            dst: other,
            addr: indirect(scratch, at),
        });
        code.push(accumulator.combine(sum, other));
        code.push(Instruction::Sts {
            ty: accumulator.ty,
            src: sum,
            addr: indirect(scratch, place),
        });
        code.add(U64, at, at, row);
        code.add(U64, place, place, row);
    }
    code.bind(&skip)?;
    code.add(U64, distance, distance, distance);
    code.jump_if(Condition::Lt, distance, total, &tree);

    code.jump_if(Condition::Ne, LANE, zero, &end);
    for &(accumulator, sum, _) in &folded {
        code.push(accumulator.combine(accumulator.register, sum));
    }
    let (counter, moved) = repeated.inductions.split_first()?;
    code.advance_by(&[*counter], repeated.count - 1)?;
    code.advance_by(moved, repeated.count)?;
    code.copy(repeated.parts.behind.clone())?;
    code.bind(&end)?;
    let block = Dim3::linear(lanes as u32);
    let shared = (WORD * lanes) as usize * repeated.accumulators.len();
    let launch = LaunchConfig::new(Dim3::linear(1), block).with_shared_memory(shared);
    Some(code.finish(repeated.params, launch))
}

fn indirect(handle_reg: Register, offset_reg: Register) -> Address {
    Address::RegisterIndirectComputed {
        handle_reg,
        offset_reg,
    }
}

impl Code<'_> {
    /// Appends the `u32` number of rounds after the first for a lane that begins at `first` and goes on by `stride`
    /// up to `last`, with at most `most` rounds in all.
    fn share(&mut self, first: Register, last: u64, stride: u64, most: u64) -> Option<Register> {
        let (left, last) = (self.fresh()?, self.preset(U64, last)?);
        let (stride, most) = (self.preset(U64, stride)?, self.preset(U64, most - 1)?);
        self.push(Instruction::Sub {
            ty: U64,
            dst: left,
            src1: last,
            src2: first,
        });
        self.push(Instruction::Div {
            ty: U64,
            dst: left,
            src1: left,
            src2: stride,
        });
        self.push(Instruction::Min {
            ty: U64,
            dst: left,
            src1: left,
            src2: most,
        });
        let rounds = self.fresh()?;
        self.push(Instruction::Cvt {
            dst_ty: Ty::U32,
            src_ty: U64,
            dst: rounds,
            src: left,
        });
        Some(rounds)
    }
}
