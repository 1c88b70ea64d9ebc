//! `CostCtx`: execution that adds what every instruction costs to a slot.

use openvm_circuit::{
    arch::{ExecutionCtxTrait, MeteredExecutionCtxTrait, VmExecState},
    system::memory::online::GuestMemory,
};
use openvm_metal_sdk::{Air, Rows};

use crate::cost::Cost;

/// Rows of a segment, and a slot of costs for each instruction of each call stack.
pub(crate) struct CostCtx {
    rows: Rows,
    airs: Vec<Cost>,
    /// Cost of the first access to a page in a segment.
    page: Cost,
    pub slots: Vec<Cost>,
    /// Slot of the instruction that is executed.
    pub slot: usize,
}

impl CostCtx {
    pub fn new(rows: Rows, airs: &[Air]) -> Self {
        let airs: Vec<Cost> = airs
            .iter()
            .map(|air| Cost {
                instructions: 0,
                cells: air.width,
                messages: air.interactions,
            })
            .collect();
        let page = rows.page_rows();
        Self {
            page: page.iter().map(|&(air, rows)| times(airs[air], rows)).sum(),
            rows,
            airs,
            slots: Vec::new(),
            slot: 0,
        }
    }

    /// The rows that one page costs in each AIR that has any.
    pub fn page_rows(&self) -> [(usize, u32); 3] {
        self.rows.page_rows()
    }

    /// Begins another segment.
    pub fn begin_segment(&mut self) {
        self.rows.restart();
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
        let pages = self.rows.touched_pages();
        self.rows.on_memory_operation(address_space, ptr, size);
        let new = self.rows.touched_pages() - pages;
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
        self.slots[self.slot] += times(self.airs[chip_idx], height_delta);
    }
}
