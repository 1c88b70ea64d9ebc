//! `segment_arenas`: arenas for the records of a segment, compact ones for chips whose rows the device makes.

use openvm_circuit::arch::{execution_mode::Segment, Arena, VirtualMachine};
use openvm_metal_tracegen::DeviceChips;

use super::{GuestVmBuilder, TraceArena};
use crate::engine::SdkEngine;

/// Arenas for a segment, by AIR. The records of `chips` are compact.
pub(crate) fn segment_arenas<E: SdkEngine>(
    vm: &VirtualMachine<E, GuestVmBuilder<E>>,
    segment: &Segment,
    chips: Option<&DeviceChips>,
) -> Vec<TraceArena> {
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
    arenas.collect()
}
