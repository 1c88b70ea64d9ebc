//! Runs the lanes of a strip: those of a block, or any that do not meet.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::lanes::Lanes;
use super::prepare::Prepared;
use super::step::{Flow, Memory};
use crate::backend::launch::MAX_CALL_DEPTH;
use crate::error::FaultKind;

/// Most steps of a strip between two looks at what ends the program: some milliseconds.
const UNSEEN: u64 = 1 << 12;
/// Place of a lane that has ended.
const DONE: u32 = u32::MAX;

/// The fault of a lane of the strip: lane, pc, kind.
pub(super) type LaneFault = (u32, u32, FaultKind);

/// State of a strip's lanes.
///
/// Lanes at one pc advance together; where they part, those at the smallest pc go first and the others
/// wait until these reach them. Lanes from the smallest faulting one on are given up: they cannot
/// change which fault is reported.
pub(super) struct Machine {
    pub lanes: Lanes,
    /// Lanes of the strip.
    count: usize,
    /// Lanes from here on are given up.
    limit: usize,
    pcs: Vec<u32>,
    steps: Vec<u64>,
    waiting: Vec<bool>,
    /// Return addresses, [`MAX_CALL_DEPTH`] for each lane.
    stack: Vec<u32>,
    depth: Vec<u16>,
    fault: Option<LaneFault>,
    /// The active lanes stop at or beyond this pc: others are there.
    yield_at: u32,
}

impl Machine {
    /// A machine for strips of at most `lanes` lanes; with `flush` subnormals are zero.
    pub fn new(program: &Prepared, lanes: usize, flush: bool) -> Self {
        let stacks = if program.calls { lanes } else { 0 };
        Self {
            lanes: Lanes::new(program.bytes, lanes, flush),
            count: 0,
            limit: 0,
            pcs: vec![0; lanes],
            steps: vec![0; lanes],
            waiting: vec![false; lanes],
            stack: vec![0; stacks * MAX_CALL_DEPTH],
            depth: vec![0; lanes],
            fault: None,
            yield_at: DONE,
        }
    }

    /// Runs `count` lanes from pc 0 to their ends, or until `stop` is set; gives the fault of the smallest lane that has one, of
    /// the first interval between barriers that has any.
    pub fn run(
        &mut self,
        program: &Prepared,
        memory: &mut Memory<'_>,
        count: usize,
        budget: u64,
        stop: &AtomicU32,
    ) -> Option<LaneFault> {
        (self.count, self.limit, self.fault) = (count, count, None);
        self.pcs[..count].fill(0);
        self.steps[..count].fill(0);
        self.waiting[..count].fill(false);
        self.depth[..count].fill(0);
        loop {
            while let Some(pc) = self.schedule() {
                // Behind the last instruction lanes only end.
                if stop.load(Relaxed) != 0 && (pc as usize) < program.steps.len() {
                    self.stop(pc);
                } else {
                    self.advance(program, memory, pc, budget);
                }
            }
            if self.fault.is_some() || !self.release() {
                return self.fault;
            }
        }
    }

    /// Makes the runnable lanes of the smallest pc active.
    fn schedule(&mut self) -> Option<u32> {
        let (mut least, mut next) = (DONE, DONE);
        for (&pc, &waiting) in self.pcs[..self.limit].iter().zip(&self.waiting) {
            let pc = if waiting { DONE } else { pc };
            if pc < least {
                (least, next) = (pc, least);
            } else if pc > least && pc < next {
                next = pc;
            }
        }
        if least == DONE {
            return None;
        }
        self.yield_at = next;
        let (pcs, waiting) = (&self.pcs, &self.waiting);
        self.lanes
            .activate(self.limit, |i| pcs[i] == least && !waiting[i]);
        Some(least)
    }

    /// Lets lanes that all wait at one barrier go on; false when there are none or they cannot.
    fn release(&mut self) -> bool {
        let waiting = &self.waiting[..self.count];
        let Some(first) = waiting.iter().position(|&w| w) else {
            return false;
        };
        let pc = self.pcs[first];
        if !waiting.iter().all(|&w| w) || self.pcs[..self.count].iter().any(|&p| p != pc) {
            self.fault = Some((first as u32, pc, FaultKind::BarrierDivergence));
            return false;
        }
        self.waiting[..self.count].fill(false);
        self.pcs[..self.count].fill(pc + 1);
        true
    }

    /// Runs the active lanes until they part, end, fail, wait or reach others.
    fn advance(&mut self, program: &Prepared, memory: &mut Memory<'_>, start: u32, budget: u64) {
        let mut most = 0;
        self.lanes.each(|i| most = most.max(self.steps[i]));
        let allowed = budget - most;
        // Whole-buffer instructions take long, each for itself.
        let unseen = if program.intrinsics.is_empty() {
            UNSEEN
        } else {
            1
        };
        let pause = allowed.min(unseen);
        let (mut pc, mut taken) = (start, 0u64);
        loop {
            if pc >= self.yield_at {
                return self.park(pc, taken);
            }
            let Some(step) = program.steps.get(pc as usize) else {
                return self.park(DONE, taken);
            };
            if taken == pause {
                return match taken == allowed {
                    true => self.exhaust(pc, taken, budget),
                    false => self.park(pc, taken),
                };
            }
            taken += 1;
            match step.flow {
                Flow::Next => {
                    (step.run)(&self.lanes, step, memory);
                    pc += 1;
                }
                Flow::Fallible => {
                    (step.run)(&self.lanes, step, memory);
                    pc += 1;
                    if let Some((lane, kind)) = self.lanes.take_failed() {
                        self.give_up(lane as usize, pc - 1, kind);
                        return self.park(pc, taken);
                    }
                }
                Flow::Jump(to) => pc = to,
                Flow::Branch(to) => {
                    let predicate = self.lanes.column::<u8>(step.a);
                    let mut count = 0;
                    self.lanes
                        .each(|i| count += usize::from(predicate[i].get() != 0));
                    if count == self.lanes.active() {
                        pc = to;
                    } else if count == 0 {
                        pc += 1;
                    } else {
                        self.lanes.each(|i| {
                            let jumps = predicate[i].get() != 0;
                            self.pcs[i] = if jumps { to } else { pc + 1 };
                            self.steps[i] += taken;
                        });
                        return;
                    }
                }
                Flow::Loop(to) => {
                    let counter = self.lanes.column::<u32>(step.a);
                    let mut count = 0;
                    self.lanes
                        .each(|i| count += usize::from(counter[i].get() != 0));
                    let uniform = count == 0 || count == self.lanes.active();
                    self.lanes.each(|i| {
                        let left = counter[i].get();
                        counter[i].set(left.saturating_sub(1));
                        if !uniform {
                            self.pcs[i] = if left != 0 { to } else { pc + 1 };
                            self.steps[i] += taken;
                        }
                    });
                    if !uniform {
                        return;
                    }
                    pc = if count == 0 { pc + 1 } else { to };
                }
                Flow::Call(to) => match self.push(pc + 1) {
                    None => pc = to,
                    Some(lane) => {
                        self.give_up(lane, pc, FaultKind::CallStackOverflow);
                        return self.park(to, taken);
                    }
                },
                Flow::Return => match self.pop() {
                    Ok(Some(to)) => pc = to,
                    Ok(None) => return self.lanes.each(|i| self.steps[i] += taken),
                    Err(lane) => {
                        self.give_up(lane, pc, FaultKind::CallStackUnderflow);
                        return self.lanes.each(|i| self.steps[i] += taken);
                    }
                },
                Flow::Exit => return self.park(DONE, taken),
                Flow::Barrier => {
                    if self.lanes.active() < self.count {
                        self.lanes.each(|i| self.waiting[i] = true);
                        return self.park(pc, taken);
                    }
                    pc += 1;
                }
            }
        }
    }

    /// Leaves the active lanes at `pc`.
    fn park(&mut self, pc: u32, taken: u64) {
        self.lanes.each(|i| {
            self.pcs[i] = pc;
            self.steps[i] += taken;
        });
    }

    /// A lane fails: it and those after it are given up.
    #[cold]
    fn give_up(&mut self, lane: usize, pc: u32, kind: FaultKind) {
        self.limit = lane;
        self.fault = Some((lane as u32, pc, kind));
    }

    /// The first active lane is where the program was stopped.
    #[cold]
    fn stop(&mut self, pc: u32) {
        let mut first = None;
        self.lanes.each_while(|i| {
            first = Some(i);
            false
        });
        if let Some(lane) = first {
            self.give_up(lane, pc, FaultKind::Stopped);
        }
        self.park(DONE, 0);
    }

    /// The first active lane without steps left fails.
    #[cold]
    fn exhaust(&mut self, pc: u32, taken: u64, budget: u64) {
        let mut failed = None;
        self.lanes.each_while(|i| {
            if self.steps[i] + taken == budget {
                failed = Some(i);
            }
            failed.is_none()
        });
        if let Some(lane) = failed {
            self.give_up(lane, pc, FaultKind::StepBudgetExceeded { budget });
        }
        self.park(pc, taken);
    }

    /// Pushes a return address in every active lane; gives the first lane that holds too many.
    fn push(&mut self, pc: u32) -> Option<usize> {
        let mut full = None;
        self.lanes.each_while(|i| {
            let depth = usize::from(self.depth[i]);
            if depth == MAX_CALL_DEPTH {
                full = Some(i);
                return false;
            }
            self.stack[i * MAX_CALL_DEPTH + depth] = pc;
            self.depth[i] += 1;
            true
        });
        full
    }

    /// Pops the return address of every active lane: the common one, or each lane's own into its pc; the
    /// first lane that holds none.
    fn pop(&mut self) -> Result<Option<u32>, usize> {
        let (mut empty, mut common, mut equal) = (None, None, true);
        self.lanes.each_while(|i| {
            let Some(depth) = self.depth[i].checked_sub(1) else {
                empty = Some(i);
                return false;
            };
            self.depth[i] = depth;
            let to = self.stack[i * MAX_CALL_DEPTH + usize::from(depth)];
            self.pcs[i] = to;
            equal &= *common.get_or_insert(to) == to;
            true
        });
        match (empty, equal) {
            (Some(lane), _) => Err(lane),
            (None, true) => Ok(common),
            (None, false) => Ok(None),
        }
    }
}
