//! Launches: strips of lanes over all cores.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;

use rayon::prelude::*;

use super::machine::{LaneFault, Machine};
use super::memory::{Blocks, HostMemory, Span};
use super::prepare::Prepared;
use super::step::{Enqueue, Memory, Pools};
use crate::atlas;
use crate::backend::launch::{ExecutionParams, DEFAULT_STEP_BUDGET};
use crate::error::{Fault, FaultKind, Result};
use crate::semantics::Scalar;

/// Most lanes of a strip that is not a block.
const STRIP_LANES: u64 = 256;
/// Instructions times lanes from which on a launch is spread over the cores.
const SPREAD: u64 = 1 << 15;
/// Weight of a program with loops or returns.
const LOOP_WEIGHT: u64 = 64;

/// State that the strips of a launch share.
struct Launch<'a> {
    program: &'a Prepared,
    params: &'a ExecutionParams,
    /// Lanes of a block, of the launch, of a strip.
    block: u64,
    total: u64,
    strip: u64,
    budget: u64,
    /// Set when the launch is to end.
    stop: &'a AtomicU32,
    /// Subnormals are zero; set when one is met.
    flushed: Option<&'a AtomicBool>,
}

/// Runs a launch that was checked; gives the fault of the smallest lane.
#[allow(clippy::too_many_arguments)]
pub(super) fn launch(
    program: &Prepared,
    params: &ExecutionParams,
    blocks: u64,
    block: u32,
    memory: &mut HostMemory,
    enqueue: Option<&mut Enqueue<'_>>,
    stop: &AtomicU32,
    flushed: Option<&AtomicBool>,
) -> Result<Option<Fault>> {
    let block = u64::from(block);
    let total = blocks * block;
    let strip = if program.by_block {
        block
    } else {
        total.min(STRIP_LANES)
    };
    let launch = Launch {
        program,
        params,
        block,
        total,
        strip,
        budget: params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET),
        stop,
        flushed,
    };
    let boundary = memory.boundary()?;
    let HostMemory { buffers, pools, .. } = memory;
    let best = if program.in_order {
        launch.in_order(buffers, boundary, Pools::Own(pools), enqueue)
    } else {
        launch.spread(buffers, boundary, pools, enqueue)
    };
    Ok(best.map(|(lane, pc, kind)| Fault {
        lane,
        pc: pc as usize,
        instruction: program.program.instructions()[pc as usize].to_string(),
        kind,
    }))
}

/// Shared memory of the block that a worker runs.
fn shared_words(params: &ExecutionParams) -> Box<[Cell<u64>]> {
    let words = params.launch.shared_memory.size_bytes.div_ceil(8);
    (0..words).map(|_| Cell::new(0)).collect()
}

impl Launch<'_> {
    /// A machine for strips.
    fn machine(&self) -> Machine {
        Machine::new(self.program, self.strip as usize, self.flushed.is_some())
    }

    fn strips(&self) -> u64 {
        self.total.div_ceil(self.strip)
    }

    /// Strip after strip, until one has a fault.
    fn in_order(
        &self,
        buffers: &Blocks,
        boundary: Span,
        pools: Pools<'_>,
        enqueue: Option<&mut Enqueue<'_>>,
    ) -> Option<(u64, u32, FaultKind)> {
        let shared = shared_words(self.params);
        let mut memory = self.memory(buffers, boundary, pools, &shared, enqueue);
        let mut machine = self.machine();
        (0..self.strips()).find_map(|strip| {
            let fault = self.strip(&mut machine, &mut memory, &shared, strip);
            fault.map(|fault| self.global(strip, fault))
        })
    }

    /// All strips, over the cores where that is worth it.
    fn spread(
        &self,
        buffers: &Blocks,
        boundary: Span,
        pools: &Blocks,
        enqueue: Option<&mut Enqueue<'_>>,
    ) -> Option<(u64, u32, FaultKind)> {
        let weight = if self.program.jumps_back {
            LOOP_WEIGHT
        } else {
            1
        };
        let work = self.total * weight * self.program.steps.len() as u64;
        if self.strips() == 1 || work < SPREAD || rayon::current_num_threads() == 1 {
            return self.in_order(buffers, boundary, Pools::Shared(pools), enqueue);
        }
        // Strips behind one that has a fault need not run.
        let first = AtomicU64::new(u64::MAX);
        let best: Mutex<Option<(u64, u32, FaultKind)>> = Mutex::new(None);
        (0..self.strips()).into_par_iter().for_each_init(
            || {
                let shared = shared_words(self.params);
                (self.machine(), shared)
            },
            |(machine, shared), strip| {
                if strip > first.load(Relaxed) {
                    return;
                }
                let pools = Pools::Shared(pools);
                let mut memory = self.memory(buffers, boundary, pools, shared, None);
                let Some(fault) = self.strip(machine, &mut memory, shared, strip) else {
                    return;
                };
                first.fetch_min(strip, Relaxed);
                let fault = self.global(strip, fault);
                let mut best = best.lock().unwrap_or_else(|e| e.into_inner());
                if best.is_none_or(|(lane, ..)| fault.0 < lane) {
                    *best = Some(fault);
                }
            },
        );
        best.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn global(&self, strip: u64, (lane, pc, kind): LaneFault) -> (u64, u32, FaultKind) {
        (strip * self.strip + u64::from(lane), pc, kind)
    }

    fn memory<'m>(
        &'m self,
        buffers: &'m Blocks,
        boundary: Span,
        pools: Pools<'m>,
        shared: &[Cell<u64>],
        enqueue: Option<&'m mut Enqueue<'_>>,
    ) -> Memory<'m> {
        Memory {
            buffers,
            boundary,
            pools,
            intrinsics: &self.program.intrinsics,
            enqueue: enqueue.map(|enqueue| enqueue as &'m mut Enqueue<'m>),
            shared: Span {
                // Writes go through the cells' own memory.
                ptr: shared.as_ptr() as *mut u8,
                len: self.params.launch.shared_memory.size_bytes as u64,
            },
        }
    }

    /// Runs one strip.
    fn strip(
        &self,
        machine: &mut Machine,
        memory: &mut Memory<'_>,
        shared: &[Cell<u64>],
        strip: u64,
    ) -> Option<LaneFault> {
        let start = strip * self.strip;
        let count = self.strip.min(self.total - start) as usize;
        shared.iter().for_each(|word| word.set(0));
        machine.lanes.activate_range(0, count);
        self.preset(machine, start, count);
        let fault = machine.run(self.program, memory, count, self.budget, self.stop);
        if let Some(met) = self.flushed.filter(|_| machine.lanes.met_subnormal()) {
            met.store(true, Relaxed);
        }
        fault
    }

    /// Sets special and initial registers, class and phase.
    fn preset(&self, machine: &Machine, start: u64, count: usize) {
        let presets = &self.program.presets;
        let lanes = &machine.lanes;
        let (block_x, grid_x) = (self.params.launch.block.x, self.params.launch.grid.x);
        if let Some(column) = presets.global_lane {
            let column = lanes.column::<u64>(column);
            (start..).zip(&column[..count]).for_each(|(g, c)| c.set(g));
        }
        if let Some(column) = presets.block_dim_x {
            lanes.map0(column, block_x);
        }
        let class = presets.class.filter(|_| self.params.class_from_block);
        if presets.lane_x.is_some() || presets.block_x.is_some() || class.is_some() {
            let lane_column = presets.lane_x.map(|c| lanes.column::<u32>(c));
            let block_column = presets.block_x.map(|c| lanes.column::<u32>(c));
            let class_column = class.map(|c| lanes.column::<u8>(c));
            let mut within = start % self.block;
            let mut lane = (within % u64::from(block_x)) as u32;
            let mut block = (start / self.block % u64::from(grid_x)) as u32;
            for i in 0..count {
                lane_column.inspect(|column| column[i].set(lane));
                block_column.inspect(|column| column[i].set(block));
                class_column.inspect(|column| column[i].set(atlas::class_of_block(block)));
                within += 1;
                lane += 1;
                if lane == block_x {
                    lane = 0;
                }
                if within == self.block {
                    (within, lane) = (0, 0);
                    block += 1;
                    if block == grid_x {
                        block = 0;
                    }
                }
            }
        }
        if let (Some(column), false) = (presets.class, self.params.class_from_block) {
            lanes.map0(column, 0u8);
        }
        if let Some(column) = presets.phase {
            lanes.map0(column, 0u32);
        }
        let values = self.params.initial_registers.iter();
        for (preset, &(_, _, bits)) in presets.initial.iter().zip(values) {
            let Some((column, ty)) = *preset else {
                continue;
            };
            match ty.size() {
                1 => lanes.map0(column, u8::from_bits(bits)),
                2 => lanes.map0(column, u16::from_bits(bits)),
                4 => lanes.map0(column, u32::from_bits(bits)),
                _ => lanes.map0(column, bits),
            }
        }
    }
}
