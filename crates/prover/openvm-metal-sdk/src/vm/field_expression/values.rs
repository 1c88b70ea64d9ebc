//! `Values`: the variables of field expressions modulo a prime, for many rows at once.

use crypto_bigint::{
    modular::runtime_mod::{DynResidue, DynResidueParams},
    Uint, Word,
};
use num_bigint::BigUint;
use openvm_mod_circuit_builder::{FieldExpr, SymbolicExpr};

/// A number of `N` words, from 0 to the prime.
type Residue<const N: usize> = DynResidue<N>;

/// Numbers of a row.
pub(super) struct RowNumbers<const N: usize> {
    pub inputs: Vec<Uint<N>>,
    /// Flag of each operation.
    pub flags: Vec<bool>,
}

/// The variables of an expression, computed for many rows.
pub(super) struct Values<'a, const N: usize> {
    expr: &'a FieldExpr,
    params: DynResidueParams<N>,
    constants: Vec<Residue<N>>,
}

/// A number as a quotient, whose divisor is 1 if there is none: divisors of many rows are inverted together.
#[derive(Clone, Copy)]
struct Fraction<const N: usize> {
    dividend: Residue<N>,
    divisor: Option<Residue<N>>,
}

/// A number's words; nothing if it has more than `N`.
pub(super) fn number<const N: usize>(value: &BigUint) -> Option<Uint<N>> {
    let mut bytes = value.to_bytes_le();
    if bytes.len() > N * size_of::<Word>() {
        return None;
    }
    bytes.resize(N * size_of::<Word>(), 0);
    Some(number_of(&bytes))
}

/// The number of `N` words in bytes, the lowest first.
pub(super) fn number_of<const N: usize>(bytes: &[u8]) -> Uint<N> {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(size_of::<Word>())) {
        *word = Word::from_le_bytes(bytes.try_into().expect("the bytes of a word"));
    }
    Uint::from_words(words)
}

impl<'a, const N: usize> Values<'a, N> {
    /// Prepares the computation. Nothing if the prime is even, a constant is too large, or a quotient is within an expression.
    pub fn new(expr: &'a FieldExpr) -> Option<Self> {
        if !expr.prime.bit(0) || !expr.computes.iter().all(divides_last) {
            return None;
        }
        let params = DynResidueParams::new(&number(&expr.prime)?);
        let constants = expr.constants.iter().map(|(value, _)| {
            let is_residue = *value < expr.prime;
            Some(DynResidue::new(&number(value)?, params)).filter(|_| is_residue)
        });
        Some(Self {
            expr,
            params,
            constants: constants.collect::<Option<_>>()?,
        })
    }

    /// The variables of each row, canonical; nothing for a row in which a divisor is 0.
    pub fn variables(&self, rows: &[RowNumbers<N>]) -> Vec<Option<Vec<Uint<N>>>> {
        // Products of Montgomery take any number of `N` words.
        let residues = |row: &RowNumbers<N>| {
            let inputs = row.inputs.iter();
            let residues: Vec<_> = inputs.map(|x| DynResidue::new(x, self.params)).collect();
            residues
        };
        let inputs: Vec<_> = rows.iter().map(residues).collect();
        let mut variables = vec![Some(Vec::new()); rows.len()];
        let mut fractions = Vec::with_capacity(rows.len());
        for compute in &self.expr.computes {
            fractions.clear();
            for ((row, inputs), variables) in rows.iter().zip(&inputs).zip(&mut variables) {
                let fraction = variables.as_ref().map(|variables: &Vec<_>| {
                    self.fraction(compute, inputs, variables, &row.flags)
                });
                // An inverse of 0 would make those of other rows 0.
                let is_number = |fraction: &Fraction<N>| {
                    let zero = DynResidue::zero(self.params);
                    fraction.divisor.is_none_or(|divisor| divisor != zero)
                };
                let fraction = fraction.filter(is_number);
                if fraction.is_none() {
                    *variables = None;
                }
                fractions.push(fraction);
            }
            self.divide(&mut fractions);
            for (variables, fraction) in variables.iter_mut().zip(&fractions) {
                if let (Some(variables), Some(fraction)) = (variables, fraction) {
                    variables.push(fraction.dividend);
                }
            }
        }
        let canonical = |variables: Vec<Residue<N>>| {
            let numbers = variables.iter().map(DynResidue::retrieve);
            numbers.collect()
        };
        let variables = variables.into_iter();
        variables.map(|row| row.map(canonical)).collect()
    }

    /// Multiplies each dividend by the inverse of its divisor, if there is one. One number is inverted.
    fn divide(&self, fractions: &mut [Option<Fraction<N>>]) {
        let one = DynResidue::one(self.params);
        let mut product = one;
        let mut before = Vec::with_capacity(fractions.len());
        for fraction in fractions.iter().flatten() {
            before.push(product);
            if let Some(divisor) = &fraction.divisor {
                product *= divisor;
            }
        }
        if fractions.iter().flatten().all(|f| f.divisor.is_none()) {
            return;
        }
        let (mut inverse, _) = product.invert();
        for (fraction, before) in fractions
            .iter_mut()
            .flatten()
            .rev()
            .zip(before.iter().rev())
        {
            if let Some(divisor) = fraction.divisor.take() {
                fraction.dividend = fraction.dividend * inverse * before;
                inverse *= divisor;
            }
        }
    }

    fn integer(&self, value: isize) -> Residue<N> {
        let size = DynResidue::new(&Uint::from_u64(value.unsigned_abs() as u64), self.params);
        match value < 0 {
            true => -size,
            false => size,
        }
    }

    /// A quotient that is not divided.
    fn fraction(
        &self,
        expr: &SymbolicExpr,
        inputs: &[Residue<N>],
        variables: &[Residue<N>],
        flags: &[bool],
    ) -> Fraction<N> {
        match expr {
            SymbolicExpr::Div(a, b) => Fraction {
                dividend: self.residue(a, inputs, variables, flags),
                divisor: Some(self.residue(b, inputs, variables, flags)),
            },
            SymbolicExpr::Select(flag, a, b) => {
                let chosen = if flags[*flag] { a } else { b };
                self.fraction(chosen, inputs, variables, flags)
            }
            whole => Fraction {
                dividend: self.residue(whole, inputs, variables, flags),
                divisor: None,
            },
        }
    }

    fn residue(
        &self,
        expr: &SymbolicExpr,
        inputs: &[Residue<N>],
        variables: &[Residue<N>],
        flags: &[bool],
    ) -> Residue<N> {
        let of = |expr| self.residue(expr, inputs, variables, flags);
        match expr {
            SymbolicExpr::Input(i) => inputs[*i],
            SymbolicExpr::Var(i) => variables[*i],
            SymbolicExpr::Const(i, _, _) => self.constants[*i],
            SymbolicExpr::Add(a, b) => of(a) + of(b),
            SymbolicExpr::Sub(a, b) => of(a) - of(b),
            SymbolicExpr::Mul(a, b) => of(a) * of(b),
            SymbolicExpr::Div(..) => unreachable!("`new` finds quotients within expressions"),
            SymbolicExpr::IntAdd(a, s) => of(a) + self.integer(*s),
            SymbolicExpr::IntMul(a, s) => of(a) * self.integer(*s),
            SymbolicExpr::Select(flag, a, b) => match flags[*flag] {
                true => of(a),
                false => of(b),
            },
        }
    }
}

/// True if an expression is a quotient of expressions without quotients, or has none, whatever is selected.
fn divides_last(expr: &SymbolicExpr) -> bool {
    match expr {
        SymbolicExpr::Div(a, b) => !divides(a) && !divides(b),
        SymbolicExpr::Select(_, a, b) => divides_last(a) && divides_last(b),
        other => !divides(other),
    }
}

fn divides(expr: &SymbolicExpr) -> bool {
    match expr {
        SymbolicExpr::Input(_) | SymbolicExpr::Var(_) | SymbolicExpr::Const(..) => false,
        SymbolicExpr::Add(a, b) | SymbolicExpr::Sub(a, b) | SymbolicExpr::Mul(a, b) => {
            divides(a) || divides(b)
        }
        SymbolicExpr::Select(_, a, b) => divides(a) || divides(b),
        SymbolicExpr::IntAdd(a, _) | SymbolicExpr::IntMul(a, _) => divides(a),
        SymbolicExpr::Div(..) => true,
    }
}
