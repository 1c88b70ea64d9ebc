//! `FieldExpressionRows`: rows of the chips that compute modulo a prime: modular arithmetic and comparisons, Fp2, and points of curves.
//!
//! A row has inputs, variables that are computed from them, and for each variable a constraint: an expression that a quotient times
//! the prime equals, limb by limb with carries. OpenVM's chips compute the variables of a row twice, with integers of any
//! length, invert each divisor by itself, and divide expressions for the quotients. The rows here are the same, cell for cell
//! and count for count. Integers have fixed lengths, the divisors of [`BATCH`] rows are inverted together, and a quotient that
//! is exact is a product modulo a power of two. A row whose constraint does not hold is left to OpenVM's chip.

mod is_equal;
mod limbs;
#[cfg(test)]
mod tests;
mod values;

use std::{any::Any, array, sync::atomic::Ordering};

use crypto_bigint::{Uint, U256, U384};
use openvm_circuit::{
    arch::{
        AdapterTraceFiller, MatrixRecordArena, RowMajorMatrixArena, TraceFiller, VmChipWrapper,
    },
    primitives::{
        bigint::{
            check_carry_to_zero::get_carry_max_abs_and_bits, utils::big_uint_to_limbs, OverflowInt,
        },
        bitwise_op_lookup::SharedBitwiseOperationLookupChip,
        var_range::VariableRangeCheckerChip,
    },
};
use openvm_cpu_backend::CpuBackend;
use openvm_mod_circuit_builder::{FieldExpr, FieldExpressionFiller, SymbolicExpr};
use openvm_rv32_adapters::Rv32VecHeapAdapterFiller;
use openvm_stark_backend::prover::AirProvingContext;
use p3_field::PrimeCharacteristicRing;

use self::{
    limbs::{exact_quotient, inverse, Limbs, Words, BITS, MAX_LIMBS},
    values::{number_of, RowNumbers, Values},
};
use super::range_counts::{Checks, RangeCounts};
use crate::prelude::{F, SC};

/// Rows whose divisors are inverted together.
const BATCH: usize = 64;

/// Bytes of a block of memory.
const BLOCK: usize = 4;

/// Blocks of a number of 32 and of 48 bytes.
const BLOCKS_32: usize = 32 / BLOCK;
const BLOCKS_48: usize = 48 / BLOCK;

/// Bits of the range check of a limb with its sign.
const SIGNED_BITS: usize = BITS + 1;

type Adapter<const READS: usize, const BLOCKS: usize> =
    Rv32VecHeapAdapterFiller<READS, BLOCKS, BLOCKS, BLOCK, BLOCK>;
type FieldChip<const READS: usize, const BLOCKS: usize> =
    VmChipWrapper<F, FieldExpressionFiller<Adapter<READS, BLOCKS>>>;

/// The rows of the chips that compute modulo a prime.
#[derive(Clone)]
pub(super) struct FieldExpressionRows {
    pointer_max_bits: usize,
    bitwise: SharedBitwiseOperationLookupChip<BITS>,
    counts: RangeCounts,
}

impl FieldExpressionRows {
    /// Takes the machine's tables of operations on bits and of range checks, and the bits of a pointer.
    pub fn new(
        bitwise: SharedBitwiseOperationLookupChip<BITS>,
        counts: RangeCounts,
        pointer_max_bits: usize,
    ) -> Self {
        Self {
            pointer_max_bits,
            bitwise,
            counts,
        }
    }

    /// The trace of a chip, or its records if it does not compute modulo a prime, or its numbers are of other lengths.
    pub fn generate(
        &self,
        chip: &dyn Any,
        records: MatrixRecordArena<F>,
    ) -> Result<AirProvingContext<CpuBackend<SC>>, MatrixRecordArena<F>> {
        // Numbers, elements of Fp2 and points have one or two coordinates; doubling reads one point.
        self.generate_if::<2, BLOCKS_32>(chip, records)
            .or_else(|records| self.generate_if::<2, BLOCKS_48>(chip, records))
            .or_else(|records| self.generate_if::<2, { 2 * BLOCKS_32 }>(chip, records))
            .or_else(|records| self.generate_if::<2, { 2 * BLOCKS_48 }>(chip, records))
            .or_else(|records| self.generate_if::<1, { 2 * BLOCKS_32 }>(chip, records))
            .or_else(|records| self.generate_if::<1, { 2 * BLOCKS_48 }>(chip, records))
            .or_else(|records| is_equal::generate(&self.counts, chip, records))
    }

    fn generate_if<const READS: usize, const BLOCKS: usize>(
        &self,
        chip: &dyn Any,
        records: MatrixRecordArena<F>,
    ) -> Result<AirProvingContext<CpuBackend<SC>>, MatrixRecordArena<F>> {
        let Some(chip) = chip.downcast_ref::<FieldChip<READS, BLOCKS>>() else {
            return Err(records);
        };
        match chip.inner.expr.num_limbs {
            32 => self.generate_of::<READS, BLOCKS, { U256::LIMBS }>(chip, records),
            48 => self.generate_of::<READS, BLOCKS, { U384::LIMBS }>(chip, records),
            _ => Err(records),
        }
    }

    fn generate_of<const READS: usize, const BLOCKS: usize, const N: usize>(
        &self,
        chip: &FieldChip<READS, BLOCKS>,
        records: MatrixRecordArena<F>,
    ) -> Result<AirProvingContext<CpuBackend<SC>>, MatrixRecordArena<F>> {
        let Some(expression) = Expression::<N>::new(&chip.inner) else {
            return Err(records);
        };
        let width = records.width();
        let used = records.trace_offset();
        let mut trace = records.into_matrix();
        let adapter = Adapter::new(self.pointer_max_bits, self.bitwise.clone());
        let (rows, padding) = trace.values.split_at_mut(used);
        self.counts.fill(rows, width, 2 * BATCH, |checks, rows| {
            for rows in rows.chunks_mut(BATCH * width) {
                let mut rows: Vec<_> = rows.chunks_exact_mut(width).collect();
                expression.fill(&mut rows, &adapter, checks, &chip.inner);
            }
        });
        // Padding is the same in every row.
        if let Some((first, others)) = padding.split_at_mut_checked(width) {
            chip.inner.fill_dummy_trace_row(first);
            if chip.inner.should_finalize {
                others
                    .chunks_exact_mut(width)
                    .for_each(|row| row.copy_from_slice(first));
            }
        }
        Ok(AirProvingContext::simple_no_pis(trace))
    }
}

/// A constraint of an expression.
struct Constraint<'a> {
    expr: &'a SymbolicExpr,
    quotient_limbs: usize,
    carries: usize,
    /// Negative carries are at least this times -1.
    carry_min: i32,
    carry_bits: usize,
}

/// An expression, with what its rows have in common. Numbers have `N` words.
struct Expression<'a, const N: usize> {
    expr: &'a FieldExpr,
    operations: &'a [usize],
    flags: &'a [usize],
    values: Values<'a, N>,
    constants: Vec<Limbs>,
    prime: Limbs,
    inverse: Words,
    constraints: Vec<Constraint<'a>>,
    /// Cells of the limbs from -255 to 255.
    cells: [F; 511],
}

/// Quotients and carries of a row.
#[derive(Default)]
struct Quotients {
    quotients: Vec<Limbs>,
    carries: Vec<i32>,
}

/// Lookups of limbs in a batch. The counters get one addition for each value.
struct Counts {
    unsigned: [u32; 1 << BITS],
    signed: [u32; 1 << SIGNED_BITS],
}

impl<'a, const N: usize> Expression<'a, N> {
    /// Prepares an expression. Nothing if a number of it is too large for these rows.
    fn new<A>(chip: &'a FieldExpressionFiller<A>) -> Option<Self> {
        let expr = &chip.expr;
        if expr.limb_bits != BITS || expr.num_limbs * BITS != Uint::<N>::BITS {
            return None;
        }
        let limbs = |limbs: &[usize]| Limbs::new(limbs.iter().map(|&limb| limb as i32));
        let prime = limbs(&big_uint_to_limbs(&expr.prime, BITS));
        let constraints = (0..expr.constraints.len()).map(|index| constraint(expr, index, &prime));
        Some(Self {
            operations: &chip.local_opcode_idx,
            flags: &chip.opcode_flag_idx,
            values: Values::new(expr)?,
            constants: expr.constants.iter().map(|(_, c)| limbs(c)).collect(),
            inverse: inverse(&prime.words()),
            prime,
            constraints: constraints.collect::<Option<_>>()?,
            cells: array::from_fn(|limb| match limb {
                0..255 => -F::from_usize(255 - limb),
                _ => F::from_usize(limb - 255),
            }),
            expr,
        })
    }

    /// Fills rows that start with their records.
    fn fill<A: AdapterTraceFiller<F> + 'static>(
        &self,
        rows: &mut [&mut [F]],
        adapter: &A,
        checks: &Checks<'_>,
        chip: &FieldExpressionFiller<A>,
    ) {
        let numbers: Vec<_> = rows
            .iter()
            .map(|row| self.numbers(bytes(&row[A::WIDTH..])))
            .collect();
        let variables = self.values.variables(&numbers);
        let mut counts = Counts {
            unsigned: [0; 1 << BITS],
            signed: [0; 1 << SIGNED_BITS],
        };
        let mut quotients = Quotients::default();
        for ((row, numbers), variables) in rows.iter_mut().zip(&numbers).zip(&variables) {
            let inputs: Vec<_> = numbers.inputs.iter().map(to_limbs).collect();
            let variables: Option<Vec<_>> = variables
                .as_ref()
                .map(|variables| variables.iter().map(to_limbs).collect());
            let holds = variables.as_ref().and_then(|variables| {
                self.divide(&inputs, variables, &numbers.flags, &mut quotients)
            });
            let (Some(variables), Some(())) = (&variables, holds) else {
                chip.fill_trace_row(checks.memory, row);
                continue;
            };
            self.count(variables, &quotients, checks.range, &mut counts);
            let (left, right) = row.split_at_mut(A::WIDTH);
            adapter.fill_trace_row(checks.memory, left);
            self.write(&inputs, variables, &numbers.flags, &quotients, right);
        }
        let add = |counts: &[u32], bits: usize| {
            for (value, &count) in counts.iter().enumerate().filter(|(_, &count)| count > 0) {
                checks.range.count[(1 << bits) - 1 + value].fetch_add(count, Ordering::Relaxed);
            }
        };
        add(&counts.unsigned, BITS);
        add(&counts.signed, SIGNED_BITS);
    }

    /// Inputs and flags of a record: the operation, then the inputs' bytes.
    fn numbers(&self, record: &[u8]) -> RowNumbers<N> {
        let (operation, inputs) = (usize::from(record[0]), &record[1..]);
        let bytes = self.expr.num_limbs;
        let inputs = inputs.chunks_exact(bytes).take(self.expr.num_input);
        let mut flags = vec![false; self.expr.num_flags];
        let operation = self.operations.iter().position(|&one| one == operation);
        // The last operation, of those that check the prime itself, has no flag.
        let flag = operation.and_then(|operation| self.flags.get(operation));
        if let (true, Some(&flag)) = (self.expr.needs_setup(), flag) {
            flags[flag] = true;
        }
        RowNumbers {
            inputs: inputs.map(number_of).collect(),
            flags,
        }
    }

    /// Quotients and carries of a row. Nothing if a constraint does not hold.
    fn divide(
        &self,
        inputs: &[Limbs],
        variables: &[Limbs],
        flags: &[bool],
        row: &mut Quotients,
    ) -> Option<()> {
        row.quotients.clear();
        row.carries.clear();
        for constraint in &self.constraints {
            let value = self.limbs(constraint.expr, inputs, variables, flags);
            let count = constraint.quotient_limbs;
            let quotient = exact_quotient(&value.words(), &self.inverse, count)?;
            let zero = value.zip(&quotient.times(&self.prime), |a, b| a - b);
            zero.carries(constraint.carries, &mut row.carries)?;
            row.quotients.push(quotient);
        }
        Some(())
    }

    fn limbs(
        &self,
        expr: &SymbolicExpr,
        inputs: &[Limbs],
        variables: &[Limbs],
        flags: &[bool],
    ) -> Limbs {
        let of = |expr| self.limbs(expr, inputs, variables, flags);
        match expr {
            SymbolicExpr::Input(i) => inputs[*i],
            SymbolicExpr::Var(i) => variables[*i],
            SymbolicExpr::Const(i, _, _) => self.constants[*i],
            SymbolicExpr::Add(a, b) => of(a).zip(&of(b), |a, b| a + b),
            SymbolicExpr::Sub(a, b) => of(a).zip(&of(b), |a, b| a - b),
            SymbolicExpr::Mul(a, b) => of(a).times(&of(b)),
            SymbolicExpr::Div(..) => unreachable!("constraints have no quotients"),
            SymbolicExpr::IntAdd(a, s) => {
                let mut sum = of(a);
                sum.at[0] += *s as i32;
                sum
            }
            SymbolicExpr::IntMul(a, s) => {
                let s = *s as i32;
                of(a).zip(&Limbs::ZERO, |a, _| a * s)
            }
            SymbolicExpr::Select(flag, a, b) => match flags[*flag] {
                true => of(a),
                false => of(b),
            },
        }
    }

    fn count(
        &self,
        variables: &[Limbs],
        row: &Quotients,
        range: &VariableRangeCheckerChip,
        counts: &mut Counts,
    ) {
        for limb in variables.iter().flat_map(Limbs::limbs) {
            counts.unsigned[*limb as usize] += 1;
        }
        for limb in row.quotients.iter().flat_map(Limbs::limbs) {
            counts.signed[(*limb + (1 << BITS)) as usize] += 1;
        }
        let mut carries = row.carries.iter();
        for constraint in &self.constraints {
            for carry in carries.by_ref().take(constraint.carries) {
                let value = (*carry + constraint.carry_min) as u32;
                range.add_count(value, constraint.carry_bits);
            }
        }
    }

    /// Writes the cells: validity, inputs, variables, quotients, carries, flags.
    fn write(
        &self,
        inputs: &[Limbs],
        variables: &[Limbs],
        flags: &[bool],
        row: &Quotients,
        cells: &mut [F],
    ) {
        let limbs = inputs.iter().chain(variables).chain(&row.quotients);
        let limbs = limbs.flat_map(Limbs::limbs);
        let limbs = limbs.map(|limb| self.cells[(limb + 255) as usize]);
        let carries = row.carries.iter().map(|&carry| match carry {
            0.. => F::from_u32(carry as u32),
            _ => -F::from_u32(carry.unsigned_abs()),
        });
        let flags = flags.iter().map(|&flag| F::from_bool(flag));
        let mut all = [F::ONE]
            .into_iter()
            .chain(limbs)
            .chain(carries)
            .chain(flags);
        for cell in cells.iter_mut() {
            *cell = all.next().expect("a value for each cell");
        }
        debug_assert!(all.next().is_none(), "a cell for each value");
    }
}

/// Constraint `index` of an expression; nothing if limbs of it may not fit.
fn constraint<'a>(expr: &'a FieldExpr, index: usize, prime: &Limbs) -> Option<Constraint<'a>> {
    let (constraint, quotient_limbs) = (&expr.constraints[index], expr.q_limbs[index]);
    // OpenVM's own account of lengths and bits, with zeros.
    let zeros = |count| OverflowInt::from_unsigned_limbs(vec![0; count], BITS);
    let numbers = |count| vec![zeros(expr.num_limbs); count];
    let constants = expr.constants.iter().map(|(_, limbs)| zeros(limbs.len()));
    let value = constraint.evaluate_overflow_isize(
        &numbers(expr.num_input),
        &numbers(expr.num_variables),
        &constants.collect::<Vec<_>>(),
        &vec![false; expr.num_flags],
    );
    let quotient = OverflowInt::from_signed_limbs(vec![0; quotient_limbs], BITS);
    let zero = value - quotient * zeros(prime.len);
    let (carry_min, carry_bits) = get_carry_max_abs_and_bits(zero.max_overflow_bits(), BITS);
    let fits = zero.num_limbs() == expr.carry_limbs[index]
        && zero.num_limbs() <= MAX_LIMBS
        && quotient_limbs * BITS < Words::default().len() * 64
        && zero.limb_max_abs() < 1 << 30;
    fits.then_some(Constraint {
        expr: constraint,
        quotient_limbs,
        carries: zero.num_limbs(),
        carry_min: carry_min as i32,
        carry_bits,
    })
}

fn to_limbs<const N: usize>(number: &Uint<N>) -> Limbs {
    let words = number.as_words().iter();
    Limbs::new(words.flat_map(|word| word.to_le_bytes()).map(i32::from))
}

/// The memory of cells, in which a record is.
fn bytes(cells: &[F]) -> &[u8] {
    // SAFETY: a cell is a `u32` without padding, any bytes are valid, and the length is that of the cells' memory.
    unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), size_of_val(cells)) }
}
