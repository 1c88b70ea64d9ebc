//! Rows and counts equal those of OpenVM's chips.

use std::sync::{atomic::AtomicU32, Arc};

use num_bigint::BigUint;
use openvm_algebra_circuit::{
    fp2_chip::{get_fp2_addsub_chip, get_fp2_muldiv_chip},
    modular_chip::{
        get_modular_addsub_chip, get_modular_muldiv_chip, ModularIsEqualChip,
        ModularIsEqualCoreCols, ModularIsEqualFiller,
    },
};
use openvm_circuit::{
    arch::Arena,
    primitives::{
        bitwise_op_lookup::{BitwiseOperationLookupBus, BitwiseOperationLookupChip},
        var_range::VariableRangeCheckerBus,
        Chip,
    },
    system::memory::SharedMemoryHelper,
};
use openvm_ecc_circuit::{get_ec_addne_chip, get_ec_double_chip};
use openvm_mod_circuit_builder::ExprBuilderConfig;
use openvm_rv32_adapters::Rv32IsEqualModAdapterFiller;
use p3_air::BaseAir;
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::*;

const POINTER_BITS: usize = 29;
const TIMESTAMP_BITS: usize = 29;

/// Primes of 32 bytes (of fewer bits, of all, and with small limbs) and of 48, in hexadecimal.
const PRIMES_32: [&str; 4] = [
    "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47",
    "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f",
    "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
    "010001",
];
const PRIMES_48: [&str; 2] = [
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
    "8000000000000000000000000000000000000000000000000000000000000000000000000000007b",
];

/// Tables that a chip counts in.
struct Tables {
    memory: SharedMemoryHelper<F>,
    range: Arc<VariableRangeCheckerChip>,
    bitwise: SharedBitwiseOperationLookupChip<BITS>,
}

impl Tables {
    fn new() -> Self {
        let range = VariableRangeCheckerChip::new(VariableRangeCheckerBus::new(4, 17));
        let range = Arc::new(range);
        let bitwise = BitwiseOperationLookupChip::new(BitwiseOperationLookupBus::new(9));
        Self {
            memory: SharedMemoryHelper::new(range.clone(), TIMESTAMP_BITS),
            range,
            bitwise: bitwise.into(),
        }
    }

    fn rows(&self) -> FieldExpressionRows {
        let counts = RangeCounts::new(self.range.clone(), TIMESTAMP_BITS);
        FieldExpressionRows::new(self.bitwise.clone(), counts, POINTER_BITS)
    }

    fn counts(self) -> [Vec<u32>; 3] {
        let counts = |counts: &[AtomicU32]| {
            let counts = counts.iter();
            counts.map(|count| count.load(Ordering::Relaxed)).collect()
        };
        [
            counts(&self.range.count),
            counts(&self.bitwise.count_range),
            counts(&self.bitwise.count_xor),
        ]
    }
}

/// Record of an operation: addresses and times, the operation, inputs.
fn record(
    rng: &mut StdRng,
    row: &mut [u8],
    adapter: usize,
    operation: usize,
    inputs: &[BigUint],
    bytes: usize,
) {
    let (left, right) = row.split_at_mut(adapter * size_of::<F>());
    for (word, bytes) in left.chunks_exact_mut(4).enumerate() {
        let value = match word {
            // The timestamp is above those of all accesses before.
            1 => rng.random_range(1 << 21..1 << 28),
            _ => rng.random_range(0..1u32 << 20),
        };
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    right[0] = operation as u8;
    for (place, input) in right[1..].chunks_exact_mut(bytes).zip(inputs) {
        let input = input.to_bytes_le();
        place[..input.len()].copy_from_slice(&input);
    }
}

/// A number below the prime, or the largest, or one that is not reduced.
fn number(rng: &mut StdRng, prime: &BigUint, bytes: usize) -> BigUint {
    let any: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
    let any = BigUint::from_bytes_le(&any);
    match rng.random_range(0..10) {
        0 => any,
        1 => prime - 1u32,
        2 => (BigUint::from(1u32) << (8 * bytes)) - 1u32,
        3 => BigUint::from(rng.random_range(1..3u32)),
        _ => any % prime,
    }
}

/// Inputs of an operation that divides by no 0.
fn inputs<A>(rng: &mut StdRng, chip: &FieldExpressionFiller<A>, operation: usize) -> Vec<BigUint> {
    let (expr, operations) = (&chip.expr, chip.local_opcode_idx.len());
    let mut inputs = vec![BigUint::ZERO; expr.num_input];
    let is_setup = expr.needs_setup() && operation + 1 == operations;
    let fixed: Vec<_> = [&expr.prime]
        .into_iter()
        .chain(&expr.setup_values)
        .collect();
    loop {
        // Operations that share a chip do nothing with numbers that are 0.
        if !is_setup || operations == 2 {
            inputs.fill_with(|| number(rng, &expr.prime, expr.num_limbs));
        }
        if is_setup {
            inputs
                .iter_mut()
                .zip(&fixed)
                .for_each(|(input, &fixed)| input.clone_from(fixed));
        }
        let mut flags = vec![false; expr.num_flags];
        if let Some(&flag) = chip.opcode_flag_idx.get(operation) {
            flags[flag] = true;
        }
        let words = inputs.iter().map(|x| values::number(x).expect("it fits"));
        let inputs_of = RowNumbers::<{ U384::LIMBS }> {
            inputs: words.collect(),
            flags,
        };
        let values = Values::new(expr).expect("it fits");
        if values.variables(&[inputs_of])[0].is_some() {
            return inputs;
        }
    }
}

/// Asserts that no row of these records is left to OpenVM.
fn all_hold<const N: usize, A>(chip: &FieldExpressionFiller<A>, records: Vec<&[u8]>) {
    let expression = Expression::<N>::new(chip).expect("it fits");
    let rows: Vec<_> = records
        .iter()
        .map(|record| expression.numbers(record))
        .collect();
    for (row, variables) in rows.iter().zip(expression.values.variables(&rows)) {
        let limbs = |numbers: &[Uint<N>]| numbers.iter().map(to_limbs).collect::<Vec<_>>();
        let variables = limbs(&variables.expect("no divisor is 0"));
        let divided = expression.divide(
            &limbs(&row.inputs),
            &variables,
            &row.flags,
            &mut Quotients::default(),
        );
        assert!(divided.is_some());
    }
}

/// Compares the traces and counts of one chip for random records of `rows` rows.
fn compare<const READS: usize, const BLOCKS: usize>(
    rng: &mut StdRng,
    rows: usize,
    config: ExprBuilderConfig,
    chip: impl Fn(
        ExprBuilderConfig,
        SharedMemoryHelper<F>,
        Arc<VariableRangeCheckerChip>,
        SharedBitwiseOperationLookupChip<BITS>,
        usize,
    ) -> FieldChip<READS, BLOCKS>,
) {
    let tables = [(); 2].map(|()| Tables::new());
    let [theirs, ours] = [0, 1].map(|i| {
        let Tables {
            memory,
            range,
            bitwise,
        } = &tables[i];
        let (range, bitwise) = (range.clone(), bitwise.clone());
        chip(config.clone(), memory.clone(), range, bitwise, POINTER_BITS)
    });
    let (expr, operations) = (&ours.inner.expr, &ours.inner.local_opcode_idx);
    let adapter = <Adapter<READS, BLOCKS> as AdapterTraceFiller<F>>::WIDTH;
    let width = adapter + BaseAir::<F>::width(expr);
    let mut arenas = [(); 2].map(|()| MatrixRecordArena::<F>::with_capacity(rows, width));
    for _ in 0..rows {
        let operation = rng.random_range(0..operations.len());
        let inputs = inputs(rng, &ours.inner, operation);
        let row = rng.random();
        for arena in &mut arenas {
            let bytes = expr.num_limbs;
            let rng = &mut StdRng::seed_from_u64(row);
            record(
                rng,
                arena.alloc_single_row(),
                adapter,
                operations[operation],
                &inputs,
                bytes,
            );
        }
    }
    let rows_hold = match expr.num_limbs {
        32 => all_hold::<{ U256::LIMBS }, _>,
        _ => all_hold::<{ U384::LIMBS }, _>,
    };
    let records = arenas[1].trace_buffer.chunks_exact(width).take(rows);
    rows_hold(
        &ours.inner,
        records.map(|row| bytes(&row[adapter..])).collect(),
    );
    let [a, b] = arenas;
    let rows = tables[1].rows();
    let made = rows
        .generate(&ours, b)
        .unwrap_or_else(|_| panic!("a chip of numbers"));
    let made = made.common_main;
    let expected: AirProvingContext<CpuBackend<SC>> = theirs.generate_proving_ctx(a);
    let expected = expected.common_main;
    assert_eq!(made.width, expected.width);
    for (row, (a, b)) in made.row_slices().zip(expected.row_slices()).enumerate() {
        assert_eq!(a, b, "row {row}, modulo {:x}", expr.prime);
    }
    assert_eq!(made.values.len(), expected.values.len());
    drop((theirs, ours, rows));
    let [a, b] = tables.map(Tables::counts);
    assert!(a == b, "counts");
}

fn config(prime: &str, num_limbs: usize) -> ExprBuilderConfig {
    ExprBuilderConfig {
        modulus: BigUint::parse_bytes(prime.as_bytes(), 16).expect("hexadecimal"),
        num_limbs,
        limb_bits: BITS,
    }
}

/// All kinds of chips modulo primes of so many bytes.
fn compare_all<const NUMBER: usize, const PAIR: usize>(primes: &[&str], bytes: usize, rows: usize) {
    let rng = &mut StdRng::seed_from_u64(rows as u64);
    for prime in primes {
        let config = || config(prime, bytes);
        compare::<2, NUMBER>(rng, rows, config(), get_modular_addsub_chip);
        compare::<2, NUMBER>(rng, rows, config(), get_modular_muldiv_chip);
        compare::<2, PAIR>(rng, rows, config(), get_fp2_addsub_chip);
        compare::<2, PAIR>(rng, rows, config(), get_fp2_muldiv_chip);
        compare::<2, PAIR>(rng, rows, config(), get_ec_addne_chip);
        for a in [0u32, 7] {
            compare::<1, PAIR>(
                rng,
                rows,
                config(),
                |config, memory, range, bitwise, bits| {
                    get_ec_double_chip(config, memory, range, bitwise, bits, BigUint::from(a))
                },
            );
        }
    }
}

#[test]
fn rows_of_32_bytes_are_those_of_openvm() {
    compare_all::<BLOCKS_32, { 2 * BLOCKS_32 }>(&PRIMES_32, 32, 1);
    compare_all::<BLOCKS_32, { 2 * BLOCKS_32 }>(&PRIMES_32, 32, 2 * BATCH + 3);
}

#[test]
fn rows_of_48_bytes_are_those_of_openvm() {
    compare_all::<BLOCKS_48, { 2 * BLOCKS_48 }>(&PRIMES_48, 48, BATCH + 1);
}

/// Threads that count in tables of their own.
fn on_three_threads(test: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    pool.expect("three threads").install(test);
}

#[test]
fn threads_count_what_openvm_counts() {
    on_three_threads(|| {
        let rng = &mut StdRng::seed_from_u64(3);
        let config = config(PRIMES_32[1], 32);
        compare::<2, BLOCKS_32>(rng, 1100, config, get_modular_muldiv_chip);
    });
}

/// Compares the traces and counts of a chip that compares numbers modulo a prime.
fn compare_is_equal<const BLOCKS: usize, const BYTES: usize>(prime: &str, rows: usize) {
    let rng = &mut StdRng::seed_from_u64(rows as u64);
    let prime = BigUint::parse_bytes(prime.as_bytes(), 16).expect("hexadecimal");
    let tables = [(); 2].map(|()| Tables::new());
    let [theirs, ours] = [0, 1].map(|i| {
        let bitwise = || tables[i].bitwise.clone();
        let adapter = Rv32IsEqualModAdapterFiller::new(POINTER_BITS, bitwise());
        let limbs = big_uint_to_limbs(&prime, BITS);
        let limbs = array::from_fn(|i| limbs.get(i).map_or(0, |&limb| limb as u8));
        let filler = ModularIsEqualFiller::new(adapter, 0, limbs, bitwise());
        ModularIsEqualChip::<F, BLOCKS, BLOCK, BYTES>::new(filler, tables[i].memory.clone())
    });
    let adapter =
        <Rv32IsEqualModAdapterFiller<2, BLOCKS, BLOCK, BYTES> as AdapterTraceFiller<F>>::WIDTH;
    let width = adapter + ModularIsEqualCoreCols::<F, BYTES>::width();
    let mut arenas = [(); 2].map(|()| MatrixRecordArena::<F>::with_capacity(rows, width));
    for _ in 0..rows {
        let mut inputs = [(); 2].map(|()| number(rng, &prime, BYTES) % &prime);
        if rng.random() {
            inputs[1] = inputs[0].clone();
        }
        let row = rng.random();
        for arena in &mut arenas {
            let rng = &mut StdRng::seed_from_u64(row);
            record(rng, arena.alloc_single_row(), adapter, 0, &inputs, BYTES);
        }
    }
    let [a, b] = arenas;
    let made = tables[1].rows().generate(&ours, b);
    let made = made.unwrap_or_else(|_| panic!("a chip of numbers"));
    let expected: AirProvingContext<CpuBackend<SC>> = theirs.generate_proving_ctx(a);
    assert!(made.common_main == expected.common_main, "rows");
    drop((theirs, ours));
    let [a, b] = tables.map(Tables::counts);
    assert!(a == b, "counts");
}

#[test]
fn comparisons_are_those_of_openvm() {
    on_three_threads(|| {
        for rows in [1, 5, 1300] {
            compare_is_equal::<BLOCKS_32, 32>(PRIMES_32[0], rows);
            compare_is_equal::<BLOCKS_48, 48>(PRIMES_48[0], rows);
        }
    });
}

#[test]
fn numbers_that_do_not_fit_are_left_to_openvm() {
    // Quotients by a prime of one byte have as many bits as the integers that are divided.
    let tables = Tables::new();
    let (range, bitwise) = (tables.range.clone(), tables.bitwise.clone());
    let chip: FieldChip<2, BLOCKS_32> = get_modular_muldiv_chip(
        config("fb", 32),
        tables.memory.clone(),
        range,
        bitwise,
        POINTER_BITS,
    );
    let records = || MatrixRecordArena::<F>::with_capacity(4, 300);
    let rows = tables.rows();
    assert!(rows
        .generate(&chip, records())
        .is_err_and(|left| left.width == 300));
    // A chip of another kind.
    assert!(rows.generate(&tables.range, records()).is_err());
}

#[test]
fn a_constraint_that_does_not_hold_is_left_to_openvm() {
    let tables = Tables::new();
    let (range, bitwise) = (tables.range.clone(), tables.bitwise.clone());
    let config = config(PRIMES_32[0], 32);
    let chip: FieldChip<2, BLOCKS_32> =
        get_modular_muldiv_chip(config, tables.memory.clone(), range, bitwise, POINTER_BITS);
    let expression = Expression::<{ U256::LIMBS }>::new(&chip.inner).expect("it fits");
    let number = |n| Limbs::new([n].into_iter().chain([0; 31]));
    let holds = |inputs: [i32; 2], variable, flags: [bool; 2]| {
        let inputs = inputs.map(number);
        let mut row = Quotients::default();
        let divided = expression.divide(&inputs, &[number(variable)], &flags, &mut row);
        divided.is_some()
    };
    assert!(holds([6, 7], 42, [true, false]));
    assert!(holds([42, 7], 6, [false, true]));
    assert!(!holds([6, 7], 41, [true, false]));
    assert!(!holds([6, 0], 6, [false, false]));
    assert!(holds([0, 0], 6, [false, false]));

    // A divisor of 0 takes nothing from the other rows of its batch.
    let row = |x: u64, y: u64| RowNumbers {
        inputs: [x, y].map(Uint::from_u64).to_vec(),
        flags: vec![false, true],
    };
    let rows = [row(42, 7), row(1, 0), row(15, 5)];
    let variables = expression.values.variables(&rows);
    let variables = variables.iter().map(|row| row.as_ref().map(|row| row[0]));
    let expected = [Some(6), None, Some(3)].map(|number| number.map(Uint::from_u64));
    assert!(variables.eq(expected));
}
