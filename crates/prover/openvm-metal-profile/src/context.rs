//! `CostCtx`: metered execution that adds what every instruction costs to a slot.

use openvm_circuit::{
    arch::{
        execution_mode::MeteredCtx, ExecutionCtxTrait, MeteredExecutionCtxTrait, VmExecState,
        BOUNDARY_AIR_ID, MERKLE_AIR_ID,
    },
    system::memory::online::GuestMemory,
};
use openvm_metal_sdk::Air;
use rustc_hash::FxHashSet;

use crate::cost::Cost;

/// Address space of registers, whose pages metering counts for each segment.
const REGISTERS: u32 = 1;

/// Accesses of one instruction to memory since the last check of segments.
struct Access {
    slot: usize,
    /// Entries in the list of pages.
    pages: u32,
    /// Pages that the segment had not touched before.
    new: u32,
}

/// OpenVM's metering, which decides where segments end, and a slot of costs for each instruction of each call stack.
pub(crate) struct CostCtx {
    meter: MeteredCtx,
    airs: Vec<Cost>,
    /// Cost of the first access to a page in a segment.
    page: Cost,
    page_rows: [(usize, u32); 3],
    pub slots: Vec<Cost>,
    /// Slot of the instruction that is executed.
    pub slot: usize,
    accesses: Vec<Access>,
    /// Entries at the beginning of the list of pages that belong to no instruction.
    unowned: usize,
}

impl CostCtx {
    pub fn new(meter: MeteredCtx, airs: &[Air]) -> Self {
        let airs: Vec<Cost> = airs
            .iter()
            .map(|air| Cost {
                instructions: 0,
                cells: air.width,
                messages: air.interactions,
            })
            .collect();
        // Metering begins with one page, that of the registers.
        let hashes = meter.trace_heights.len() - 2;
        let page_rows =
            [BOUNDARY_AIR_ID, MERKLE_AIR_ID, hashes].map(|air| (air, meter.trace_heights[air]));
        let page = page_rows
            .iter()
            .map(|&(air, rows)| times(airs[air], rows))
            .sum();
        Self {
            unowned: meter.memory_ctx.page_indices_since_checkpoint_len,
            meter,
            airs,
            page,
            page_rows,
            slots: Vec::new(),
            slot: 0,
            accesses: Vec::new(),
        }
    }

    /// The rows that one page costs in each AIR that has any.
    pub fn page_rows(&self) -> [(usize, u32); 3] {
        self.page_rows
    }

    /// AIRs whose heights do not depend on the execution.
    pub fn fixed_heights(&self) -> &[bool] {
        &self.meter.is_trace_height_constant
    }

    /// Decides whether a segment ends before the next instruction. Returns true once in a while, when there is time for other checks.
    pub fn before_instruction(&mut self) -> bool {
        let is_check = self.meter.segmentation_ctx.instrets_until_check == 0;
        if is_check {
            let touched = self.meter.memory_ctx.page_indices_since_checkpoint_len;
            if self.meter.check_and_segment() {
                self.move_pages(touched);
            }
            self.accesses.clear();
            self.unowned = 0;
        }
        self.meter.segmentation_ctx.instrets_until_check -= 1;
        is_check
    }

    /// A segment ended at the last check. Pages that were touched since then belong to the next segment.
    fn move_pages(&mut self, touched: usize) {
        let segmentation = &self.meter.segmentation_ctx;
        let ended_before = segmentation.segments.last().is_some_and(|segment| {
            segment.instret_start + segment.num_insns < segmentation.instret
        });
        let pages = &self.meter.memory_ctx.page_indices_since_checkpoint[..touched];
        let (unowned, mut rest) = pages.split_at(self.unowned);
        let mut seen: FxHashSet<u32> = unowned.iter().copied().collect();
        for access in &self.accesses {
            let (of_access, others) = rest.split_at(access.pages as usize);
            rest = others;
            let slot = &mut self.slots[access.slot];
            if ended_before {
                let moved = times(self.page, access.new);
                slot.cells -= moved.cells;
                slot.messages -= moved.messages;
            }
            let new = of_access.iter().filter(|&&page| seen.insert(page)).count();
            *slot += times(self.page, new as u32);
        }
    }

    /// Metering and slots, apart.
    pub fn into_parts(self) -> (MeteredCtx, Vec<Cost>) {
        (self.meter, self.slots)
    }
}

fn times(cost: Cost, rows: u32) -> Cost {
    Cost {
        instructions: 0,
        cells: cost.cells * u64::from(rows),
        messages: cost.messages * u64::from(rows),
    }
}

impl ExecutionCtxTrait for CostCtx {
    #[inline(always)]
    fn on_memory_operation(&mut self, address_space: u32, ptr: u32, size: u32) {
        if address_space == REGISTERS {
            return;
        }
        let memory = &self.meter.memory_ctx;
        let space = address_space as usize;
        let (pages, count) = (
            memory.page_indices_since_checkpoint_len,
            memory.addr_space_access_count[space],
        );
        self.meter.on_memory_operation(address_space, ptr, size);
        let memory = &self.meter.memory_ctx;
        let new = memory.addr_space_access_count[space] - count;
        self.accesses.push(Access {
            slot: self.slot,
            pages: (memory.page_indices_since_checkpoint_len - pages) as u32,
            new,
        });
        if new > 0 {
            self.slots[self.slot] += times(self.page, new);
        }
    }

    #[inline(always)]
    fn should_suspend<F>(_: &mut VmExecState<F, GuestMemory, Self>) -> bool {
        false
    }
}

impl MeteredExecutionCtxTrait for CostCtx {
    #[inline(always)]
    fn on_height_change(&mut self, chip_idx: usize, height_delta: u32) {
        self.meter.on_height_change(chip_idx, height_delta);
        self.slots[self.slot] += times(self.airs[chip_idx], height_delta);
    }
}
