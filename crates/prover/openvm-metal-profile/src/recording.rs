//! `Recording`: one execution with the costs of every instruction.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::{
        execution_mode::Segment, ExecuteFunc, ExecutionError, InterpreterMeteredExecutor,
        VmExecState, VmState,
    },
    system::memory::{merkle::public_values::extract_public_values, online::GuestMemory},
};
use openvm_metal_sdk::{MetalSdk, Metering, ProveOptions, SdkError};
use openvm_sdk::StdIn;
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_field::PrimeField32;

use crate::{
    calls::{CallTree, Flow, Functions, Stack},
    context::CostCtx,
    cost::Cost,
    Executable, Symbols,
};

/// Instructions between two looks whether the execution is cancelled.
const CHECK_INSTRUCTIONS: u64 = 1024;

/// Bytes of the units in which the instructions' decoded operands are laid out: the strictest alignment of any of them.
const UNIT: usize = size_of::<u128>();

/// One circuit of the virtual machine in one execution. Rows are of all segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    pub name: String,
    /// Columns.
    pub width: u64,
    /// Interactions of a row.
    pub messages: u64,
    /// Rows of instructions and of the memory that they touch.
    pub rows: u64,
    /// Rows of every segment, whatever is executed: lookup tables, the program.
    pub fixed_rows: u64,
    /// Rows of the memory of registers in every segment.
    pub register_rows: u64,
    /// All rows, padded to a power of two in each segment.
    pub padded_rows: u64,
}

/// One execution with the costs of every instruction of every call stack.
///
/// Heights are those of OpenVM's metering, which segments are cut by: upper bounds of what a proof has.
#[derive(Clone, Debug)]
pub struct Recording {
    /// A caller's stack is before the stacks that it called.
    pub stacks: Vec<Stack>,
    pub chips: Vec<Chip>,
    pub segments: Vec<Segment>,
    /// Bytes that the guest revealed.
    pub public_values: Vec<u8>,
    /// False if there were too many call stacks: then some functions have no caller.
    pub has_all_callers: bool,
    /// Time of the execution.
    pub time: Duration,
}

/// An instruction that is ready to be executed.
struct Step {
    handler: ExecuteFunc<F, CostCtx>,
    /// Unit where its operands begin.
    operands: usize,
    flow: Flow,
    exit_code: u32,
}

impl Recording {
    /// Executes a program and records what it costs. Stacks are by the functions of `symbols`.
    ///
    /// # Errors
    /// Errors of the guest, and the bound on instructions.
    pub fn of(
        sdk: &MetalSdk,
        exe: &Executable,
        input: StdIn,
        options: &ProveOptions<'_>,
        symbols: &Symbols,
    ) -> Result<Self, SdkError> {
        let metering = sdk.metering(exe, input.clone(), options)?;
        // The first execution printed the guest's output.
        Metering::executing(&(), || record(metering, exe, input, options, symbols))
    }

    /// Costs of all instructions.
    pub fn attributed(&self) -> Cost {
        let costs = self.stacks.iter().flat_map(|stack| &stack.costs);
        costs.map(|&(_, cost)| cost).sum()
    }

    /// Cells of all traces, as `openvm-metal run --mode meter` counts them.
    pub fn cells(&self) -> u64 {
        self.sum(|chip| chip.padded_rows).cells
    }

    /// Costs of some rows of every chip.
    pub fn sum(&self, rows: impl Fn(&Chip) -> u64) -> Cost {
        let cost = |chip: &Chip| Cost {
            instructions: 0,
            cells: rows(chip) * chip.width,
            messages: rows(chip) * chip.messages,
        };
        self.chips.iter().map(cost).sum()
    }
}

fn record(
    metering: Metering,
    exe: &Executable,
    input: StdIn,
    options: &ProveOptions<'_>,
    symbols: &Symbols,
) -> Result<Recording, SdkError> {
    let inputs = input.buffer.len();
    let failed = |error| Metering::error(error, inputs);
    let mut operands = Vec::new();
    let steps = steps(&metering, exe, &mut operands).map_err(failed)?;
    let system = &metering.config.system.config;
    let state = VmState::initial(system, &exe.init_memory, exe.pc_start, input);
    let mut ctx = CostCtx::new(metering.rows, &metering.airs);

    let functions = Functions::new(exe, symbols);
    let mut pc = state.pc();
    let mut index = functions
        .index(pc)
        .ok_or_else(|| Metering::no_instruction(pc))?;
    let mut tree = CallTree::new(functions, index, &mut ctx.slots);
    let page_rows = ctx.page_rows();
    let mut run = VmExecState::new(state, ctx);
    let mut executed = 0;
    // Ends of segments but the last one.
    let segments = metering.segments;
    let mut ends = segments.iter().skip(1).map(|segment| segment.instret_start);
    let mut end = ends.next();
    let clock = Instant::now();
    loop {
        if executed == options.max_instructions {
            let bound = executed;
            return Err(SdkError::InstructionBound { executed, bound });
        }
        if end == Some(executed) {
            run.ctx.begin_segment();
            end = ends.next();
        }
        let is_asked = || {
            options
                .cancel
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
        };
        if executed.is_multiple_of(CHECK_INSTRUCTIONS) && is_asked() {
            return Err(SdkError::Cancelled);
        }
        executed += 1;
        let Some(step) = &steps[index as usize] else {
            return Err(Metering::no_instruction(pc));
        };
        let slot = tree.slot(index);
        run.ctx.slot = slot;
        run.ctx.slots[slot].instructions += 1;
        if step.flow == Flow::End {
            if step.exit_code != 0 {
                return Err(Metering::exit(pc, step.exit_code));
            }
            break;
        }
        // SAFETY: `steps` made the handler and its operands for this instruction, `operands` is not moved or changed while `run`
        // goes on and is long enough for what the executor wrote, and the executors live in `metering`.
        unsafe { (step.handler)(operands[step.operands..].as_ptr().cast(), &mut run) };
        if run.exit_code.is_err() {
            let error = std::mem::replace(&mut run.exit_code, Ok(None));
            return Err(error.map_or_else(failed, |_| Metering::no_instruction(pc)));
        }
        let next = run.pc();
        let found = tree.functions().index(next);
        index = found.ok_or_else(|| Metering::no_instruction(next))?;
        tree.step(step.flow, pc, next, index, &mut run.ctx.slots);
        pc = next;
    }
    let time = clock.elapsed();

    let VmExecState { vm_state, ctx, .. } = run;
    let (stacks, has_all_callers) = tree.into_stacks(&ctx.slots);
    let count = segments.len() as u64;
    let chip = |(air, chip): (usize, openvm_metal_sdk::Air)| {
        let heights = || segments.iter().map(|segment| segment.trace_heights[air]);
        let all: u64 = heights().map(u64::from).sum();
        let of_page = page_rows.iter().find(|(id, _)| *id == air);
        let register_rows = count * of_page.map_or(0, |&(_, rows)| u64::from(rows));
        let fixed_rows = if chip.has_fixed_height { all } else { 0 };
        let padded = |height| match height {
            0 => 0,
            height => u64::from(height).next_power_of_two(),
        };
        Chip {
            name: chip.name,
            width: chip.width,
            messages: chip.interactions,
            rows: all - fixed_rows - register_rows,
            fixed_rows,
            register_rows,
            padded_rows: heights().map(padded).sum(),
        }
    };
    let system = &metering.config.system.config;
    Ok(Recording {
        stacks,
        chips: metering.airs.into_iter().enumerate().map(chip).collect(),
        public_values: extract_public_values(system.num_public_values, &memory(&vm_state).memory),
        segments,
        has_all_callers,
        time,
    })
}

fn memory(state: &VmState<F, GuestMemory>) -> &GuestMemory {
    &state.memory
}

/// The instructions of a program, ready to be executed; their operands go to `operands`.
fn steps(
    metering: &Metering,
    exe: &Executable,
    operands: &mut Vec<u128>,
) -> Result<Vec<Option<Step>>, ExecutionError> {
    let slots = &exe.program.instructions_and_debug_infos;
    let executors = &metering.executors;
    let executor = |opcode| {
        let id = *executors.instruction_lookup.get(&opcode)? as usize;
        Some((&executors.executors[id], metering.executor_to_air[id]))
    };
    let sizes = slots.iter().flatten().filter_map(|(instruction, _)| {
        let (executor, _) = executor(instruction.opcode)?;
        Some(executor.metered_pre_compute_size())
    });
    let units = sizes.max().unwrap_or(0).div_ceil(UNIT).max(1);
    operands.resize(slots.len() * units, 0);
    let mut steps = Vec::with_capacity(slots.len());
    for (index, slot) in slots.iter().enumerate() {
        let Some((instruction, _)) = slot else {
            steps.push(None);
            continue;
        };
        let flow = Flow::of(instruction);
        let own = &mut operands[index * units..(index + 1) * units];
        let pc = exe.program.pc_base + index as u32 * 4;
        let handler: ExecuteFunc<F, CostCtx> = match executor(instruction.opcode) {
            Some((executor, air)) if flow != Flow::End => {
                executor.metered_pre_compute(air, pc, instruction, bytes(own))?
            }
            _ if flow == Flow::End => |_, _| {},
            _ => {
                let opcode = instruction.opcode;
                return Err(
                    openvm_circuit::arch::StaticProgramError::DisabledOperation { pc, opcode }
                        .into(),
                );
            }
        };
        steps.push(Some(Step {
            handler,
            operands: index * units,
            flow,
            exit_code: instruction.c.as_canonical_u32(),
        }));
    }
    Ok(steps)
}

/// The bytes of units.
fn bytes(units: &mut [u128]) -> &mut [u8] {
    // SAFETY: every byte of a `u128` is a byte and every pattern of bytes is a `u128`; the length is that of the units.
    unsafe { std::slice::from_raw_parts_mut(units.as_mut_ptr().cast(), size_of_val(units)) }
}
