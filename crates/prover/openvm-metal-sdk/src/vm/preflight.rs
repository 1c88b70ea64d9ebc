//! `preflight`: records a segment, compactly for chips whose rows the device makes.

use openvm_circuit::{
    arch::{
        execution_mode::{PreflightCtx, Segment},
        interpreter_preflight::PreflightInterpretedInstance,
        Arena, ExecutionError, ExecutionState, PreflightExecutionOutput, VirtualMachine,
        VmExecState, VmState,
    },
    system::{
        memory::online::{GuestMemory, TracingMemory},
        SystemRecords,
    },
};
use openvm_metal_tracegen::DeviceChips;

use super::{CheckedExecutor, GuestVmBuilder, TraceArena};
use crate::{engine::SdkEngine, prelude::F};

/// Runs a segment from a state and records it, as OpenVM's `VirtualMachine::execute_preflight` does, which has arenas of one kind. The
/// records of `chips` are compact.
///
/// # Errors
/// Instructions that cannot be executed.
///
/// # Panics
/// If a chip has more records than the heights of the segment's traces allow.
pub(crate) fn preflight<E: SdkEngine>(
    vm: &VirtualMachine<E, GuestVmBuilder<E>>,
    interpreter: &mut PreflightInterpretedInstance<F, CheckedExecutor>,
    from: VmState<F, GuestMemory>,
    segment: &Segment,
    chips: Option<&DeviceChips>,
) -> Result<PreflightExecutionOutput<F, TraceArena>, ExecutionError> {
    let per_air = &vm.pk().per_air;
    let arenas = per_air.iter().zip(&segment.trace_heights).enumerate();
    let arenas = arenas.map(|(air, (key, &height))| {
        // Chips have the order in which they were added, AIRs the other one, after those of the system.
        let added = per_air.len() - 1 - air;
        match chips.and_then(|chips| chips.rows(added)) {
            Some(chip) => TraceArena::records(chip, height as usize),
            None => TraceArena::with_capacity(height as usize, key.vk.params.width.main_width()),
        }
    });
    let ctx = PreflightCtx {
        arenas: arenas.collect(),
        instret_left: segment.num_insns,
    };
    let pc = from.pc();
    let memory = TracingMemory::from_image(from.memory);
    let from_state = ExecutionState::new(pc, memory.timestamp());
    let state = VmState::new(pc, memory, from.streams, from.rng);
    let mut state = VmExecState::new(state, ctx);
    interpreter.reset_execution_frequencies();
    interpreter.execute_from_state(&mut state)?;
    let filtered_exec_frequencies = interpreter.filtered_execution_frequencies();
    let exit_code = state.exit_code?;
    let mut end = state.vm_state;
    let touched_memory = end.memory.finalize::<F>();
    let pc = end.pc();
    Ok(PreflightExecutionOutput {
        system_records: SystemRecords {
            from_state,
            to_state: ExecutionState::new(pc, end.memory.timestamp()),
            exit_code,
            filtered_exec_frequencies,
            touched_memory,
        },
        record_arenas: state.ctx.arenas,
        to_state: VmState::new(pc, end.memory.data, end.streams, end.rng),
    })
}
