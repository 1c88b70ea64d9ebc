//! `DeviceChips`: the chips of a virtual machine whose traces a device makes.

use std::{
    fmt,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc,
    },
};

use openvm_circuit::{
    arch::{ChipInventory, ChipInventoryError},
    system::poseidon2::Poseidon2PeripheryChip,
};
use openvm_circuit_primitives::{
    bitwise_op_lookup::SharedBitwiseOperationLookupChip,
    range_tuple::{
        RangeTupleCheckerAir, RangeTupleCheckerBus, RangeTupleCheckerChip,
        SharedRangeTupleCheckerChip,
    },
    var_range::SharedVariableRangeCheckerChip,
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as SC;
use p3_baby_bear::BabyBear as F;

use crate::{
    bigint, keccak,
    poseidon2::Permutations,
    row_chip::{RowChip, Uses},
    rv32im, sha2,
};

/// A lookup table in which the device's chips count, with the counts of the host's.
#[derive(Clone)]
pub enum Table {
    /// Variable range checker.
    Range(SharedVariableRangeCheckerChip),
    /// Bitwise operations on bytes.
    Bitwise(SharedBitwiseOperationLookupChip<8>),
    /// Range tuples of two numbers.
    Tuple(SharedRangeTupleCheckerChip<2>),
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Range(_) => "Table::Range",
            Self::Bitwise(_) => "Table::Bitwise",
            Self::Tuple(_) => "Table::Tuple",
        })
    }
}

impl Table {
    /// Takes the counts of the host's chips, which are zero then, in the order of the table's rows. The bitwise table has range checks and then
    /// operations.
    pub(crate) fn take_counts(&self) -> Vec<u32> {
        let take = |counts: &[AtomicU32]| -> Vec<u32> {
            counts
                .iter()
                .map(|c| c.swap(0, Ordering::Relaxed))
                .collect()
        };
        match self {
            Self::Range(chip) => take(&chip.count),
            Self::Bitwise(chip) => {
                let mut counts = take(&chip.count_range);
                counts.extend(take(&chip.count_xor));
                counts
            }
            Self::Tuple(chip) => {
                let counts = chip.count.iter();
                counts.map(|c| c.swap(0, Ordering::Relaxed)).collect()
            }
        }
    }

    /// The number of rows of a table of [`uncounted_tuples`], and whether a chip of the host counted in it nevertheless.
    pub(crate) fn uncounted_rows(&self) -> Option<(usize, bool)> {
        let Self::Tuple(chip) = self else { return None };
        let [first, .., last] = chip.count.as_slice() else {
            return None;
        };
        let is_counted = || first.swap(0, Ordering::Relaxed) != 0;
        let rows = chip.air.bus.sizes.iter().product::<u32>() as usize;
        Arc::ptr_eq(first, last).then(|| (rows, is_counted()))
    }
}

/// A table of range tuples in which only the device counts: two rows share one counter, and a count in any other one panics. OpenVM's table has an
/// allocation for each row, two millions with 256-bit arithmetic.
pub fn uncounted_tuples(bus: RangeTupleCheckerBus<2>) -> RangeTupleCheckerChip<2> {
    RangeTupleCheckerChip {
        air: RangeTupleCheckerAir { bus },
        count: vec![Arc::default(); 2],
    }
}

/// Source of a trace that the device makes.
#[derive(Clone, Debug)]
pub enum DeviceChip {
    /// Records.
    Rows(&'static RowChip),
    /// Records of the chip that was added after this one.
    Periphery(&'static RowChip),
    /// Counts.
    Table(Table),
    /// The inputs of permutations.
    Poseidon2,
}

/// Sizes of lookup tables, and of numbers that are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookupSizes {
    pub range_bits: u32,
    /// Values of both numbers of a tuple; none without the table.
    pub tuple: [u32; 2],
    pub timestamp_bits: u32,
    pub pointer_bits: u32,
}

/// The chips of a virtual machine whose traces a device makes, by the index in the order in which chips were added.
///
/// The device makes the traces of the tables that these chips count in: of all of them, or of none.
#[derive(Clone, Debug)]
pub struct DeviceChips {
    pub(crate) sizes: LookupSizes,
    chips: Vec<Option<DeviceChip>>,
}

impl DeviceChips {
    /// The chips of an inventory that a builder of OpenVM's CPU backend made.
    ///
    /// # Errors
    /// An inventory without range checker.
    pub fn new<RA: 'static>(
        inventory: &ChipInventory<SC, RA, CpuBackend<SC>>,
    ) -> Result<Self, ChipInventoryError> {
        let range = inventory.range_checker()?.clone();
        let memory = &inventory.config().memory_config;
        let first_bitwise = inventory
            .find_chip::<SharedBitwiseOperationLookupChip<8>>()
            .next();
        let found: Vec<_> = inventory
            .chips()
            .iter()
            .map(|chip| {
                let any = chip.as_any();
                let known = rv32im::of(any)
                    .or_else(|| keccak::of(any))
                    .or_else(|| sha2::of(any));
                known.or_else(|| {
                    let (chip, uses) = bigint::of(any).or_else(|| rv32im::hint_store(any))?;
                    // These count in the first bitwise table, as OpenVM's extensions do, and keep it to themselves.
                    let bitwise = first_bitwise.cloned();
                    Some((chip, Uses { bitwise, ..uses }))
                })
            })
            .collect();
        let uses = || found.iter().flatten().map(|(_, uses)| uses);
        let bitwise = uses().find_map(|u| u.bitwise.clone());
        let tuple = uses().find_map(|u| u.tuple.clone());
        let mut chips: Vec<Option<DeviceChip>> = Vec::with_capacity(found.len());
        for (chip, found) in inventory.chips().iter().zip(found) {
            let any = chip.as_any();
            let is_range = any
                .downcast_ref::<SharedVariableRangeCheckerChip>()
                .is_some_and(|chip| Arc::ptr_eq(chip, &range));
            let is_bitwise = any
                .downcast_ref::<SharedBitwiseOperationLookupChip<8>>()
                .filter(|chip| bitwise.as_ref().is_some_and(|b| Arc::ptr_eq(chip, b)));
            let is_tuple = any
                .downcast_ref::<SharedRangeTupleCheckerChip<2>>()
                .filter(|chip| tuple.as_ref().is_some_and(|t| Arc::ptr_eq(chip, t)));
            let is_poseidon2 = any.is::<Arc<Poseidon2PeripheryChip<F>>>();
            // A chip with another table than the first one's stays on the host.
            let rows = found
                .filter(|(_, uses)| same(&uses.bitwise, &bitwise) && same(&uses.tuple, &tuple));
            if let Some(periphery) = rows.as_ref().and_then(|(chip, _)| chip.periphery) {
                if let Some(before) = chips.last_mut() {
                    *before = Some(DeviceChip::Periphery(periphery));
                }
            }
            chips.push(match (rows, is_bitwise, is_tuple) {
                (Some((rows, _)), ..) => Some(DeviceChip::Rows(rows)),
                (_, Some(chip), _) => Some(DeviceChip::Table(Table::Bitwise(chip.clone()))),
                (.., Some(chip)) => Some(DeviceChip::Table(Table::Tuple(chip.clone()))),
                _ if is_poseidon2 => Some(DeviceChip::Poseidon2),
                _ if is_range => Some(DeviceChip::Table(Table::Range(range.clone()))),
                _ => None,
            });
        }
        Ok(Self {
            sizes: LookupSizes {
                range_bits: range.range_max_bits() as u32,
                tuple: tuple.map_or([0, 1], |tuple| *tuple.sizes()),
                timestamp_bits: memory.timestamp_max_bits as u32,
                pointer_bits: memory.pointer_max_bits as u32,
            },
            chips,
        })
    }

    /// The chip that was added as number `index`, if the device makes its trace.
    pub fn get(&self, index: usize) -> Option<&DeviceChip> {
        self.chips.get(index)?.as_ref()
    }

    /// Most bytes that the host holds for a trace of `rows` rows of chip `index`, if the device makes it.
    pub fn host_bytes(&self, index: usize, rows: u64) -> Option<u64> {
        Some(match self.get(index)? {
            DeviceChip::Rows(chip) => {
                rows * chip.record_bytes() as u64 + chip.most_record_bytes() as u64
            }
            DeviceChip::Poseidon2 => rows * Permutations::HOST_BYTES,
            DeviceChip::Periphery(_) | DeviceChip::Table(_) => 0,
        })
    }

    /// The layout of records of chip `index`, if it has them.
    pub fn rows(&self, index: usize) -> Option<&'static RowChip> {
        match self.get(index)? {
            DeviceChip::Rows(chip) => Some(chip),
            _ => None,
        }
    }
}

/// True if a chip uses no table, or the given one.
fn same<T>(used: &Option<Arc<T>>, given: &Option<Arc<T>>) -> bool {
    match (used, given) {
        (Some(used), Some(given)) => Arc::ptr_eq(used, given),
        (used, _) => used.is_none(),
    }
}
