//! Traces that a device makes from records, against those of OpenVM's CPU chips: every cell, and every count of the lookup tables.
//!
//! `OPENVM_METAL_TEST_INPUTS` sets the number of records of a chip, `OPENVM_METAL_TEST_SEED` the seed.

use std::sync::atomic::{AtomicU32, Ordering};

use openvm_circuit::{
    arch::{
        vm_poseidon2_config, Arena, MatrixRecordArena, MultiRowLayout, SizedRecord, VmBuilder,
        VmCircuitConfig,
    },
    system::poseidon2::{Poseidon2PeripheryChip, PERIPHERY_POSEIDON2_WIDTH},
};
use openvm_cpu_backend::CpuBackend;
use openvm_metal_backend::{kernels as backend_kernels, MetalDevice};
use openvm_metal_common::{Device, MetalContext};
use openvm_metal_tracegen::{
    keccak, kernels, rv32im, sha2, DeviceChip, DeviceChips, Permutations, RowChip, SegmentTraces,
    Table, TraceError,
};
use openvm_sdk_config::{SdkVmConfig, SdkVmCpuBuilder};
use openvm_sha2_air::{Sha256Config, Sha2BlockHasherFillerHelper, Sha2Variant, Sha512Config};
use openvm_sha2_circuit::{Sha2Metadata, Sha2RecordMut};
use openvm_stark_backend::p3_matrix::{dense::RowMajorMatrix, Matrix};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, BabyBearPoseidon2CpuEngine as CpuEngine},
};
use p3_baby_bear::BabyBear as F;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rand::{rngs::StdRng, Rng, SeedableRng};

type Chips = openvm_circuit::arch::ChipInventory<SC, MatrixRecordArena<F>, CpuBackend<SC>>;

/// OpenVM's CPU chips of the base instructions, of Keccak, of SHA-2 and of 256-bit integers.
fn cpu_chips() -> Chips {
    let mut config = SdkVmConfig::riscv32();
    config.keccak = Some(Default::default());
    config.sha2 = Some(Default::default());
    config.bigint = Some(Default::default());
    config.apply_optimizations();
    let airs = VmCircuitConfig::<SC>::create_airs(&config).expect("the AIRs");
    VmBuilder::<CpuEngine>::create_chip_complex(&SdkVmCpuBuilder, &config, airs, &())
        .expect("the chips")
        .inventory
}

/// A word that is an edge every fourth time.
fn word(rng: &mut StdRng) -> u32 {
    const EDGES: [u32; 10] = [
        0,
        1,
        2,
        0x7f,
        0x80,
        0xff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fffe,
        0xffff_ffff,
    ];
    match rng.random_range(0..4) {
        0 => EDGES[rng.random_range(0..EDGES.len())],
        1 => rng.random::<u32>() >> rng.random_range(0..32),
        _ => rng.random(),
    }
}

/// Two words, equal or close every third time.
fn pair(rng: &mut StdRng) -> (u32, u32) {
    let x = word(rng);
    let y = match rng.random_range(0..6) {
        0 => x,
        1 => x ^ (1 << rng.random_range(0..32)),
        _ => word(rng),
    };
    (x, y)
}

/// Two numbers of 8 words, equal or different in one word two times of three.
fn long_pair(rng: &mut StdRng) -> ([u32; 8], [u32; 8]) {
    let x: [u32; 8] = std::array::from_fn(|_| word(rng));
    let mut y = x;
    match rng.random_range(0..3) {
        0 => {
            let at = rng.random_range(0..8);
            y[at] = pair(rng).1;
        }
        1 => {
            let (at, bit) = (rng.random_range(0..8), rng.random_range(0..32));
            y[at] ^= rng.random_range(0..2) << bit;
        }
        _ => y = std::array::from_fn(|_| word(rng)),
    }
    (x, y)
}

fn register(rng: &mut StdRng) -> u32 {
    4 * rng.random_range(0..32)
}

/// An address in memory.
fn pointer(rng: &mut StdRng) -> u32 {
    word(rng) >> 3
}

/// A timestamp and `accesses` earlier ones.
fn times<const N: usize>(rng: &mut StdRng) -> (u32, [u32; N]) {
    let most = (1u32 << 29) - 8 - N as u32;
    let now = match rng.random_range(0..3) {
        0 => rng.random_range(1..40),
        1 => most - 1,
        _ => rng.random_range(1..most),
    };
    let before = std::array::from_fn(|access| match rng.random_range(0..3) {
        0 => now + access as u32 - 1,
        1 => 0,
        _ => rng.random_range(0..now),
    });
    (now, before)
}

/// A random record that an execution may write.
fn record(chip: &RowChip, rng: &mut StdRng) -> Vec<u32> {
    let pc = 4 * rng.random_range(0..1u32 << 28);
    let (x, y) = pair(rng);
    match chip.name {
        "Rv32BaseAluChip" | "Rv32LessThanChip" | "Rv32ShiftChip" => {
            let (now, [a, b, c]) = times(rng);
            let is_register = rng.random_range(0..2);
            let (rs2, y) = match is_register {
                1 => (register(rng), y),
                _ => {
                    let imm = (rng.random::<u32>() as i32 >> 20) as u32;
                    (imm & 0xff_ffff, imm)
                }
            };
            let ops = match chip.name {
                "Rv32BaseAluChip" => 5,
                "Rv32LessThanChip" => 2,
                _ => 3,
            };
            vec![
                pc,
                now,
                register(rng),
                register(rng),
                rs2,
                is_register,
                a,
                b,
                c,
                word(rng),
                x,
                y,
                rng.random_range(0..ops),
            ]
        }
        "Rv32BranchEqualChip" | "Rv32BranchLessThanChip" => {
            let (now, [a, b]) = times(rng);
            let ops = if chip.name == "Rv32BranchEqualChip" {
                2
            } else {
                4
            };
            let imm = rng.random_range(0..F::ORDER_U32);
            vec![
                pc,
                now,
                register(rng),
                register(rng),
                a,
                b,
                x,
                y,
                imm,
                rng.random_range(0..ops),
            ]
        }
        "Rv32JalLuiChip" => {
            let (now, [a]) = times(rng);
            let is_jal = rng.random_range(0..2);
            let rd = if rng.random_range(0..4) == 0 {
                u32::MAX
            } else {
                register(rng)
            };
            let (a, before) = if rd == u32::MAX {
                (0, 0)
            } else {
                (a, word(rng))
            };
            let data = if is_jal == 1 {
                pc.wrapping_add(4) % (1 << 30)
            } else {
                x & !0xfff
            };
            vec![
                pc,
                now,
                rd,
                a,
                before,
                rng.random_range(0..F::ORDER_U32),
                data,
                is_jal,
            ]
        }
        "Rv32JalrChip" => {
            let (now, [a, b]) = times(rng);
            let rd = if rng.random_range(0..4) == 0 {
                u32::MAX
            } else {
                register(rng)
            };
            let (b, before) = if rd == u32::MAX {
                (0, 0)
            } else {
                (b, word(rng))
            };
            let (imm, sign) = offset(rng);
            let to = rng.random_range(0..1u32 << 30);
            let pc = pc % ((1 << 30) - 4);
            vec![
                pc,
                now,
                register(rng),
                rd,
                a,
                b,
                before,
                imm,
                pc,
                to.wrapping_sub(extended(imm, sign)),
                sign,
            ]
        }
        "Rv32AuipcChip" => {
            let (now, [a]) = times(rng);
            vec![pc, now, register(rng), a, word(rng), pc, x & 0xff_ffff]
        }
        "Rv32LoadStoreChip" | "Rv32LoadSignExtendChip" => {
            let is_signed = chip.name == "Rv32LoadSignExtendChip";
            let (now, [a, b, c]) = times(rng);
            let (op, size) = match is_signed {
                true => [(0, 2), (1, 1)][rng.random_range(0..2)],
                false => [(0, 4), (1, 1), (2, 2), (3, 4), (4, 2), (5, 1)][rng.random_range(0..6)],
            };
            let is_load = is_signed || op < 3;
            let to = rng.random_range(0..1u32 << 29) / size * size;
            let (imm, sign) = offset(rng);
            let none = is_load && rng.random_range(0..4) == 0;
            let rd = if none { u32::MAX } else { register(rng) };
            let c = if none { 0 } else { c };
            let space = rng.random_range(1..5);
            let mut words = vec![
                pc,
                now,
                register(rng),
                to.wrapping_sub(extended(imm, sign)),
                a,
                rd,
                b,
                imm | sign << 16 | space << 24,
                c,
            ];
            let shift = to % 4;
            words.extend([op | shift << 8 | x << 16, x >> 16]);
            match is_signed {
                true => {
                    words[10] |= y << 16;
                    words.push(y >> 16);
                }
                false if space == 4 && op > 2 => {
                    words.extend((0..4).map(|_| rng.random_range(0..F::ORDER_U32)))
                }
                false => words.extend(y.to_le_bytes().map(u32::from)),
            }
            words
        }
        "Rv32MultiplicationChip" | "Rv32MulHChip" | "Rv32DivRemChip" => {
            let (now, [a, b, c]) = times(rng);
            let mut words = vec![
                pc,
                now,
                register(rng),
                register(rng),
                register(rng),
                a,
                b,
                c,
                word(rng),
                x,
                y,
            ];
            match chip.name {
                "Rv32MultiplicationChip" => {}
                "Rv32MulHChip" => words.push(rng.random_range(0..3)),
                _ => words.push(rng.random_range(0..4)),
            }
            words
        }
        "XorinVmChip" => {
            let (now, before) = times::<105>(rng);
            let length = rng.random_range(0..=136u32);
            let words = length.div_ceil(4) as usize;
            let mut record = vec![pc, now, register(rng), register(rng), register(rng)];
            record.extend([pointer(rng), pointer(rng), length]);
            record.extend((0..68).map(|_| word(rng)));
            record.extend(&before[..3]);
            let used = |i: usize| (i % 34 < words).then(|| before[3 + i / 34 * words + i % 34]);
            // The input is read after the buffer.
            record.extend((34..68).chain(0..34).map(|i| used(i).unwrap_or(0)));
            record.extend((68..102).flat_map(|i| match used(i) {
                Some(before) => [before, word(rng)],
                None => [0, 0],
            }));
            record
        }
        "Rv32HintStoreChip" => {
            let now = rng.random_range(1..(1u32 << 29) - 4000);
            let is_single = rng.random_range(0..2) == 0;
            let count = match is_single {
                true => 1,
                false => [1, 2, 7, 300, 1023][rng.random_range(0..5)],
            };
            let mut record = vec![count, pc, now, register(rng), pointer(rng)];
            record.push(rng.random_range(0..now));
            record.extend(match is_single {
                true => [u32::MAX, 0],
                false => [register(rng), now],
            });
            for at in 0..count {
                let before = rng.random_range(0..now + 3 * at + 2);
                record.extend([before, word(rng), word(rng)]);
            }
            record
        }
        "KeccakfOpChip" => {
            let (now, before) = times::<51>(rng);
            let mut record = vec![pc, now, register(rng), pointer(rng)];
            record.extend(before);
            record.extend((0..50).map(|_| word(rng)));
            record
        }
        "Sha256MainChip" | "Sha512MainChip" => {
            let parts = if chip.name == "Sha256MainChip" { 1 } else { 2 };
            let (now, before) = times::<67>(rng);
            let mut record = vec![parts as u32 - 1, pc, now];
            record.extend((0..3).map(|_| register(rng)));
            record.extend((0..3).map(|_| pointer(rng)));
            record.extend(&before[..3]);
            let words: Vec<u32> = (0..24 * parts).map(|_| word(rng)).collect();
            let (block, state) = words.split_at(16 * parts);
            let after = compressed(state, block);
            record.extend(&words);
            record.extend(after);
            let (reads, writes) = before[3..].split_at(24 * parts);
            record.extend(reads);
            let writes = &writes[..8 * parts];
            record.extend(writes.iter().flat_map(|&time| [time, word(rng)]));
            record
        }
        name if name.ends_with("256Chip") => {
            let is_branch = name.contains("Branch");
            let (now, before) = times::<27>(rng);
            let (registers, reads) = if is_branch { (2, 16) } else { (3, 16) };
            let mut record = vec![pc, now];
            record.extend((0..registers).map(|_| register(rng)));
            record.extend((0..registers).map(|_| pointer(rng)));
            record.extend(&before[..registers + reads]);
            if !is_branch {
                record.extend(before[19..].iter().flat_map(|&time| [time, word(rng)]));
            }
            let (x, y) = long_pair(rng);
            record.extend(x.into_iter().chain(y));
            if is_branch {
                record.push(rng.random_range(0..F::ORDER_U32));
            }
            match name {
                "Rv32BaseAlu256Chip" => record.push(rng.random_range(0..5)),
                "Rv32LessThan256Chip" | "Rv32BranchEqual256Chip" => {
                    record.push(rng.random_range(0..2))
                }
                "Rv32Shift256Chip" => record.push(rng.random_range(0..3)),
                "Rv32BranchLessThan256Chip" => record.push(rng.random_range(0..4)),
                _ => {}
            }
            record
        }
        other => panic!("no records for {other}"),
    }
}

/// The state after a block of SHA-256, or of SHA-512 if it is twice as long, in words of 4 bytes.
fn compressed(state: &[u32], block: &[u32]) -> Vec<u32> {
    let bytes = block.iter().flat_map(|word| word.to_le_bytes()).collect();
    if block.len() == 16 {
        return Sha2BlockHasherFillerHelper::<Sha256Config>::get_block_hash(state, bytes);
    }
    let state: Vec<u64> = state
        .chunks_exact(2)
        .map(|parts| u64::from(parts[0]) | u64::from(parts[1]) << 32)
        .collect();
    Sha2BlockHasherFillerHelper::<Sha512Config>::get_block_hash(&state, bytes)
        .into_iter()
        .flat_map(|word| [word as u32, (word >> 32) as u32])
        .collect()
}

/// An immediate of 16 bits and its sign.
fn offset(rng: &mut StdRng) -> (u32, u32) {
    let sign = rng.random_range(0..2);
    (rng.random_range(0..0x800) + sign * 0xf800, sign)
}

fn extended(imm: u32, sign: u32) -> u32 {
    imm.wrapping_add(sign.wrapping_mul(0xffff_0000))
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .map_or(default, |value| value.parse().expect("a number"))
}

fn compare(
    name: &str,
    device: &MetalDevice,
    got: &openvm_metal_backend::MetalMatrix<F>,
    expected: &RowMajorMatrix<F>,
) {
    assert_eq!(
        (got.height(), got.width()),
        (expected.height(), expected.width()),
        "{name}"
    );
    let cells = device.download(got).expect("the trace");
    for row in 0..expected.height() {
        for column in 0..expected.width() {
            let (got, expected) = (
                cells[column * expected.height() + row],
                expected.values[row * expected.width() + column],
            );
            assert_eq!(got, expected, "{name}: column {column} of row {row}");
        }
    }
}

/// Records in the form that OpenVM's CPU chip reads: each at the start of its row, the core's at the start of its columns.
fn rows_for_host(chip: &RowChip, records: &[u8]) -> MatrixRecordArena<F> {
    let size = chip.record_bytes();
    if let Some(row) = chip.row_words {
        let rows = records.len() / (4 * row.words);
        let (mut arena, mut rest) = (
            MatrixRecordArena::with_capacity(rows, chip.columns),
            records,
        );
        while let Some(count) = rest.first_chunk() {
            let count = u32::from_le_bytes(*count) as usize;
            let (record, after) = rest.split_at(4 * (chip.core_words + count * row.words));
            arena.alloc_buffer(count)[..record.len()].copy_from_slice(record);
            rest = after;
        }
        return arena;
    }
    let mut arena = MatrixRecordArena::with_capacity(records.len() / size, chip.columns);
    let (adapter, core) = (4 * chip.adapter_words, 4 * chip.adapter_columns);
    for record in records.chunks_exact(size) {
        let row = arena.alloc_single_row();
        row[..adapter].copy_from_slice(&record[..adapter]);
        row[core..core + size - adapter].copy_from_slice(&record[adapter..]);
    }
    arena
}

/// The counts of the host, and their values.
fn counts(table: &Table) -> Vec<(&AtomicU32, u32)> {
    let counts: Vec<&AtomicU32> = match table {
        Table::Range(chip) => chip.count.iter().collect(),
        Table::Bitwise(chip) => chip.count_range.iter().chain(&chip.count_xor).collect(),
        Table::Tuple(chip) => chip.count.iter().map(AsRef::as_ref).collect(),
    };
    let value = |count: &AtomicU32| count.load(Ordering::Relaxed);
    counts
        .into_iter()
        .map(|count| (count, value(count)))
        .collect()
}

fn table_name(table: &Table) -> &'static str {
    match table {
        Table::Range(_) => "range checker",
        Table::Bitwise(_) => "bitwise operations",
        Table::Tuple(_) => "range tuples",
    }
}

fn opened(device: Device) -> MetalDevice {
    let context = MetalContext::new(device, &[&backend_kernels::LIBRARY, &kernels::LIBRARY])
        .expect("the device");
    let config = SC::default_from_params(app_params_with_100_bits_security(21));
    MetalDevice::on_context(config, context)
}

/// Compares the traces of the chips that have a number of records by `records`, of their peripheries and of the tables. Returns how many there are of
/// each.
fn check_chips(
    device: Device,
    seed: u64,
    mut records: impl FnMut(&RowChip, &mut StdRng) -> Option<usize>,
) -> (usize, usize, usize) {
    let device = opened(device);
    let chips = cpu_chips();
    let on_device = DeviceChips::new(&chips).expect("a range checker");
    let mut segment = SegmentTraces::new(&device, &on_device).expect("the counts");
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut rows, mut peripheries, mut tables) = (0, 0, 0);
    let mut next_periphery = None;
    // Tables were added first and come last.
    for index in (0..chips.chips().len()).rev() {
        let (name, got, expected) = match on_device.get(index) {
            Some(DeviceChip::Rows(chip)) => {
                let Some(count) = records(chip, &mut rng) else {
                    continue;
                };
                rows += 1;
                next_periphery = chip.periphery.map(|periphery| periphery.name);
                let words: Vec<u32> = (0..count).flat_map(|_| record(chip, &mut rng)).collect();
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let got = segment.rows(chip, &bytes).expect("a trace");
                let held = on_device.host_bytes(index, got.height() as u64);
                assert!(held >= Some(bytes.len() as u64), "{}", chip.name);
                let arena = rows_for_host(chip, &bytes);
                (
                    chip.name,
                    got,
                    chips.chips()[index].generate_proving_ctx(arena).common_main,
                )
            }
            Some(DeviceChip::Periphery(chip)) => {
                // The trace of its chip comes just before, if it is made.
                if next_periphery.take() != Some(chip.name) {
                    continue;
                }
                peripheries += 1;
                let got = segment.periphery(chip).expect("a trace");
                let expected =
                    chips.chips()[index].generate_proving_ctx(MatrixRecordArena::default());
                (chip.name, got, expected.common_main)
            }
            Some(DeviceChip::Table(table)) => {
                tables += 1;
                // The host's chips were given the same records: each count is there twice.
                let on_host = counts(table);
                let got = segment.table(table).expect("a trace");
                for (count, before) in on_host {
                    assert_eq!(count.load(Ordering::Relaxed), 0, "the counts are taken");
                    count.store(2 * before, Ordering::Relaxed);
                }
                let expected =
                    chips.chips()[index].generate_proving_ctx(MatrixRecordArena::default());
                (table_name(table), got, expected.common_main)
            }
            Some(DeviceChip::Poseidon2) | None => continue,
        };
        compare(name, &device, &got, &expected);
    }
    (rows, peripheries, tables)
}

/// Compares the traces of all chips, with `inputs` records at most.
fn check(device: Device, inputs: usize, seed: u64) {
    let mut chips = 0;
    let made = check_chips(device, seed, |chip, rng| {
        chips += 1;
        // A record of Keccak makes 24 rows of 2634 columns.
        let inputs = chip.periphery.map_or(inputs, |_| inputs / 8);
        let count = [0, 1, 2, inputs / 2 + 1, inputs][rng.random_range(0..5)];
        Some(count.max((chips > 1) as usize))
    });
    assert_eq!(made, (24, 3, 3));
}

#[test]
fn rows_equal_those_of_cpu_chips() {
    let inputs = setting("OPENVM_METAL_TEST_INPUTS", 500);
    let seed = setting("OPENVM_METAL_TEST_SEED", 1) as u64;
    check(Device::from_env().expect("a device"), inputs, seed);
}

#[test]
fn rows_on_fibers_equal_those_of_cpu_chips() {
    check(Device::CpuConformance, 40, 2);
}

/// No block, few, and as many as leave one row of padding: 3 of SHA-512, 15 of SHA-256.
#[test]
fn blocks_of_any_number_equal_those_of_cpu_chips() {
    for blocks in [0, 1, 2, 3, 4, 15, 16] {
        let device = Device::from_env().expect("a device");
        let made = check_chips(device, blocks as u64, |chip, _| {
            chip.name.starts_with("Sha").then_some(blocks)
        });
        assert_eq!(made, (2, 2, 3));
    }
}

#[test]
fn records_of_blocks_have_openvms_sizes() {
    for (chip, variant) in [
        (&sha2::SHA256, Sha2Variant::Sha256),
        (&sha2::SHA512, Sha2Variant::Sha512),
    ] {
        let metadata = Sha2Metadata { variant };
        let size = Sha2RecordMut::size(&MultiRowLayout { metadata });
        assert_eq!(chip.record_bytes(), size, "{}", chip.name);
    }
}

/// Traces of a segment with all chips that have kernels.
fn segment(device: &MetalDevice) -> SegmentTraces {
    let chips = DeviceChips::new(&cpu_chips()).expect("a range checker");
    SegmentTraces::new(device, &chips).expect("the counts")
}

/// A random input of the permutation, of zeros, ones and greatest elements every fourth time.
fn permutation(rng: &mut StdRng) -> [F; PERIPHERY_POSEIDON2_WIDTH] {
    let edges = rng.random_range(0..4) == 0;
    std::array::from_fn(|_| match edges {
        true => [F::ZERO, F::ONE, F::NEG_ONE][rng.random_range(0..3)],
        false => F::from_u32(rng.random_range(0..F::ORDER_U32)),
    })
}

/// Compares the traces of the Poseidon2 chip for so many permutations.
fn check_poseidon2(device: Device, sizes: &[usize], seed: u64) {
    let device = opened(device);
    let mut segment = segment(&device);
    let mut rng = StdRng::seed_from_u64(seed);
    for (&rows, degree) in sizes.iter().flat_map(|rows| [(rows, 3), (rows, 7)]) {
        let chip = Poseidon2PeripheryChip::new(vm_poseidon2_config(), degree);
        let mut permutations = Permutations::none_of(&chip);
        permutations.inputs = (0..rows).map(|_| permutation(&mut rng)).collect();
        permutations.lookups = (0..rows).map(|_| rng.random()).collect();
        let got = segment.permutations(&permutations).expect("a trace");
        if rows == 0 {
            assert_eq!((got.height(), got.width()), (0, permutations.columns()));
            continue;
        }
        let height = rows.next_power_of_two();
        let (mut inputs, mut lookups) = (permutations.inputs, permutations.lookups);
        inputs.resize(height, Default::default());
        lookups.resize(height, 0);
        let inner = match &chip {
            Poseidon2PeripheryChip::Register0(chip) => chip.subchip.generate_trace(inputs),
            Poseidon2PeripheryChip::Register1(chip) => chip.subchip.generate_trace(inputs),
        };
        let inner = inner.values.chunks_exact(inner.width());
        let expected = inner
            .zip(lookups)
            .flat_map(|(row, lookups)| row.iter().copied().chain([F::from_u32(lookups)]));
        let expected = RowMajorMatrix::new(expected.collect(), got.width());
        compare("Poseidon2PeripheryChip", &device, &got, &expected);
    }
}

#[test]
fn permutations_equal_those_of_the_cpu_chip() {
    let sizes = [0, 1, 2, 3, 257, 5000];
    check_poseidon2(Device::from_env().expect("a device"), &sizes, 1);
}

#[test]
fn permutations_on_fibers_equal_those_of_the_cpu_chip() {
    check_poseidon2(Device::CpuConformance, &[1, 37], 2);
}

#[test]
fn cut_records_are_refused() {
    let mut segment = segment(&opened(Device::Cpu));
    // Two rows by its first word, and the words of one.
    let mut hints = [0u8; 44];
    hints[0] = 2;
    for (chip, records) in [
        (&rv32im::HINT_STORE, &hints[..]),
        (&rv32im::HINT_STORE, &hints[..31]),
        (&keccak::XORIN, &hints[..]),
    ] {
        let refused = segment.rows(chip, records);
        assert!(matches!(refused, Err(TraceError::CutRecord { .. })));
    }
}
