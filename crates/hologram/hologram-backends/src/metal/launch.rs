//! Encoding one launch: parameters, grid, fault records.

use openvm_metal_common::{
    CommandStream, Cost, Grid, MemCopyD2H, MetalBuffer, MetalError, MetalSlice, Signal,
};

use super::device_error;
use super::memory::{Memory, Range, TableShape};
use super::pipeline::Pipeline;
use super::unit::{ARENA, FAULTS, PARAMETERS, STOP, TABLE};
use crate::backend::launch::{ExecutionParams, DEFAULT_STEP_BUDGET, MAX_SHARED_BYTES};
use crate::error::{BackendError, Fault, Result};
use crate::handle::BufferHandle;
use crate::program::Program;
use crate::translate::{fault, immediate, initial_bits, Plan, Slot, CONTROL_BYTES, SCRATCH};

/// Products that a lane is thought to compute at least.
const LEAST_PRODUCTS: u64 = 64;

/// Fault records of one launch; the header says that there are none.
pub type FaultBuffer = MetalBuffer<u8>;

/// A fault buffer without faults.
pub fn fault_buffer(stream: &CommandStream) -> Result<FaultBuffer> {
    let mut buffer = MetalBuffer::uninit(stream.context(), fault::BYTES).map_err(device_error)?;
    clear(&mut buffer, stream)?;
    Ok(buffer)
}

fn clear(buffer: &mut FaultBuffer, stream: &CommandStream) -> Result<()> {
    use openvm_metal_common::MemCopyH2D;
    let mut header = [0; 4 * fault::HEADER_WORDS];
    header[..4].fill(u8::MAX);
    let range = buffer.try_slice_mut(..header.len());
    range
        .and_then(|range| header.copy_to(range, stream))
        .map_err(device_error)
}

/// Waits for a launch; its fault, if there is one. The buffer is then without faults again.
pub fn read_fault(
    buffer: &mut FaultBuffer,
    stream: &CommandStream,
    program: &Program,
    budget: u64,
) -> Result<Option<Fault>> {
    let mut header = [0; 8];
    let range = buffer.try_slice(..8);
    range
        .and_then(|range| range.copy_to_host(&mut header, stream))
        .map_err(device_error)?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if word(0) == u32::MAX {
        return Ok(None);
    }
    let records = (word(4) as usize).min(fault::RECORDS);
    let start = 4 * fault::HEADER_WORDS;
    let range = buffer.try_slice(start..start + 4 * fault::RECORD_WORDS * records);
    let bytes = range
        .and_then(|range| range.to_host(stream))
        .map_err(device_error)?;
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    clear(buffer, stream)?;
    match fault::Record::smallest(&words) {
        Some(record) => Ok(Some(record.fault(program, budget))),
        None => Err(BackendError::Device("a fault without a record".into())),
    }
}

/// Encoded part of a launch.
pub enum Encoded {
    /// All of it.
    Whole,
    /// It was stopped when so many lanes had begun.
    Stopped {
        /// Lanes.
        begun: u64,
    },
}

/// Inputs of encoding a launch.
pub struct Launch<'a> {
    /// The program.
    pub pipeline: &'a Pipeline,
    /// Grid, block and initial registers.
    pub params: &'a ExecutionParams,
    /// Blocks, and lanes of one.
    pub lanes: (u64, u32),
    /// The table on the device.
    pub table: &'a MetalBuffer<u8>,
    /// Shape of the table.
    pub shape: TableShape,
    /// Range that [`SCRATCH`] stands for.
    pub scratch: Option<Range>,
    /// Gets the faults.
    pub faults: &'a mut FaultBuffer,
    /// Ends the program when it is set, if something may set it: slices are then waited for.
    pub stop: Option<&'a Signal>,
    /// A zero, which stands for a signal that nothing sets: lanes look at it as often, and a signal lies in the host's memory.
    pub never: &'a MetalBuffer<u8>,
}

impl Launch<'_> {
    /// Encodes it.
    ///
    /// # Errors
    /// Out of memory for the boundary pool, more lanes or shared memory than kernels can have, and
    /// failures of the device.
    pub fn encode(self, stream: &CommandStream, memory: &mut Memory) -> Result<Encoded> {
        let plan = &self.pipeline.plan;
        let launch = &self.params.launch;
        let (blocks, block) = self.lanes;
        let total = blocks * u64::from(block);
        if total > u64::from(u32::MAX) {
            return Err(BackendError::UnsupportedOperation(format!(
                "{total} lanes in a kernel, at most {}",
                u32::MAX
            )));
        }
        let shared = launch.shared_memory.size_bytes;
        if plan.cooperative && shared + CONTROL_BYTES > MAX_SHARED_BYTES {
            return Err(BackendError::SharedMemoryAllocationFailed {
                requested: shared,
                available: MAX_SHARED_BYTES - CONTROL_BYTES,
            });
        }
        let mut places = Vec::new();
        let words = self.parameters(stream, memory, &mut places)?;
        let grid = if self.pipeline.options.linear && !plan.cooperative {
            Grid::threads(total as usize)
        } else {
            let dims = |d: crate::backend::launch::Dim3| [d.x, d.y, d.z];
            Grid::groups(dims(launch.grid), dims(launch.block))
        };
        let mut call = self
            .pipeline
            .unit
            .encode(stream, self.pipeline.index, grid)
            .map_err(device_error)?
            .buffer_range(ARENA, memory.store.base())
            .value_bytes(PARAMETERS, &words)
            .buffer_range(FAULTS, self.faults.as_slice())
            .buffer_range(TABLE, self.table.as_slice())
            .cost(self.cost(total));
        call = match self.stop {
            Some(stop) => call.signal(STOP, stop).stop(stop),
            None => call.buffer_range(STOP, self.never.as_slice()),
        };
        for slice in self.reached(memory, &places) {
            call = call.reaches(slice);
        }
        if plan.cooperative {
            call = call.threadgroup(0, (shared + CONTROL_BYTES) as u32);
        }
        // SAFETY: translated programs check every access against the table of buffers and the sizes among
        // the parameters, which lie in the store's memory, or in the host's that was adopted; fault records beyond the buffer's are not written.
        match unsafe { call.dispatch_unchecked() } {
            Err(MetalError::Stopped { begun, .. }) => Ok(Encoded::Stopped { begun }),
            done => done.map(|()| Encoded::Whole).map_err(device_error),
        }
    }

    /// Cost for cutting slices: every instruction once by each lane. Loops are ended by the kernel itself.
    fn cost(&self, lanes: u64) -> Cost {
        let instructions = self.pipeline.program.instructions();
        let accesses = instructions.iter().filter(|i| i.is_memory_access()).count();
        let products = (instructions.len() as u64).max(LEAST_PRODUCTS);
        Cost::of_threads(lanes, products, 8 * accesses as u64)
    }

    /// Memory that the kernel touches: that around the places among its parameters, or all if it looks handles up.
    fn reached<'m>(&self, memory: &'m Memory, places: &[usize]) -> Vec<MetalSlice<'m, u8>> {
        if memory.adopted.is_some() {
            return Vec::new();
        }
        let mut all = memory.store.beside();
        if !self.pipeline.plan.table && !all.is_empty() {
            all.clear();
            let around = places.iter().filter_map(|&at| memory.store.around(at));
            all.extend(around.map(|(slice, _)| slice));
        }
        all
    }

    /// The words of the parameters; `places` gets where what they name lies.
    fn parameters(
        &self,
        stream: &CommandStream,
        memory: &mut Memory,
        places: &mut Vec<usize>,
    ) -> Result<Vec<u8>> {
        let (plan, program) = (&self.pipeline.plan, &self.pipeline.program);
        let initial = &self.params.initial_registers;
        let boundary = if plan.boundary {
            let at = memory.boundary(stream)?;
            places.push(at);
            memory.store.offset(at) as u64
        } else {
            u64::MAX
        };
        let mut bytes = Vec::with_capacity(8 * plan.slots.len());
        for &slot in &plan.slots {
            let mut find = |source| {
                let handle = Plan::handle(program, initial, source);
                match self.scratch.filter(|_| handle == SCRATCH) {
                    Some(range) => Ok(Some(range)),
                    None => memory.find(stream, BufferHandle::from_raw(handle)),
                }
            };
            let word = match slot {
                Slot::Budget => self.params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET),
                Slot::Boundary => boundary,
                Slot::TableFirst => self.shape.first_buffer,
                Slot::TableEntries => self.shape.buffers,
                Slot::PoolFirst => self.shape.first_pool,
                Slot::PoolEntries => self.shape.pools,
                Slot::ClassFromBlock => u64::from(self.params.class_from_block),
                Slot::SharedSize => self.params.launch.shared_memory.size_bytes as u64,
                Slot::BlockX => u64::from(self.params.launch.block.x),
                Slot::Immediate(pc) => immediate(program, pc),
                Slot::Initial(register) => initial_bits(initial, register),
                Slot::At(source) => match find(source)? {
                    Some(range) => {
                        places.push(range.at);
                        memory.store.offset(range.at) as u64
                    }
                    None => u64::MAX,
                },
                Slot::Size(source) => find(source)?.map_or(0, |range| range.size as u64),
                Slot::Handle(source) => Plan::handle(program, initial, source),
            };
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Ok(bytes)
    }
}
