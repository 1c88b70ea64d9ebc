//! Repetition within a rule: neighbouring statements that do the same with other operands are a loop of its kernel.
//!
//! Sums over the bits of a word are such: the same eight statements for each bit. The code of a loop stays in the instruction cache.

use std::ops::Range;

use super::rules::{Place, Rule, Statement, Target};

/// Most statements of a loop's body.
const MOST_STATEMENTS: usize = 32;
/// Fewest statements that a loop leaves out.
const LEAST_SAVED: usize = 16;

/// A part of a rule, in the order of its statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// One statement, by its index.
    Statement(usize),
    /// Statements that are repeated.
    Repeat(Repeat),
}

/// Statements that are done several times. From one time to the next each operand stays or moves: values by those of a body,
/// variables and coefficients by the numbers here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Statements of the first time, by index.
    pub body: Range<usize>,
    pub times: u32,
    /// First value of the body.
    pub first_value: u32,
    /// Values of a body.
    pub values: u32,
    /// From the place of a variable to its place the next time.
    pub variables: u32,
    /// From the place of a coefficient to its place the next time.
    pub coefficients: u32,
    /// Operands that move, of each statement of the body.
    pub moves: Vec<[bool; 3]>,
    /// Values of before the body that the first time reads. Every later time reads the value that is `values` further in their
    /// place, which the time before it has made.
    pub carried: Vec<u32>,
}

impl Repeat {
    /// Statements of all times.
    pub fn len(&self) -> usize {
        self.body.len() * self.times as usize
    }

    /// The value that stands in the place of `carried` after the last time.
    pub fn last(&self, carried: u32) -> u32 {
        carried + self.values * self.times
    }
}

/// What moves between a statement and the same of the next time, by how much.
#[derive(Clone, Copy, Default)]
struct Steps {
    values: u32,
    variables: Option<u32>,
    coefficients: Option<u32>,
}

impl Rule {
    /// The statements, with loops where they repeat.
    pub fn pieces(&self) -> Vec<Piece> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < self.statements.len() {
            let lengths = 1..=MOST_STATEMENTS.min(self.statements.len() - at);
            let repeats = lengths.filter_map(|length| repeat(&self.statements, at, length));
            let saved = |repeat: &Repeat| repeat.len() - repeat.body.len();
            // Of those that save as much the shortest.
            match repeats.rev().max_by_key(saved) {
                Some(repeat) => {
                    at += repeat.len();
                    pieces.push(Piece::Repeat(repeat));
                }
                None => {
                    pieces.push(Piece::Statement(at));
                    at += 1;
                }
            }
        }
        pieces
    }
}

/// The repetition of the `length` statements from `first` on, as often as it can be a loop.
fn repeat(all: &[Statement], first: usize, length: usize) -> Option<Repeat> {
    let body = first..first + length;
    let value = |s: &Statement| match s.target {
        Target::Value(v) => Some(v),
        Target::Accumulator(..) => None,
    };
    let values = all[body.clone()].iter().filter_map(value).count() as u32;
    let first_value = all[body.clone()].iter().find_map(value)?;
    let mut steps = Steps {
        values,
        ..Steps::default()
    };
    let mut moves = Vec::with_capacity(length);
    for s in &all[body.clone()] {
        let next = all.get(first + length + moves.len())?;
        moves.push(moving(s, next, first_value, &mut steps)?);
    }
    let mut times = 2;
    let same = |time: usize| {
        let of_time = all.get(first + time * length..first + (time + 1) * length)?;
        let mut pairs = all[body.clone()].iter().zip(of_time).zip(&moves);
        pairs
            .all(|((a, b), moves)| moved(a, moves, &steps, time as u32) == *b)
            .then_some(())
    };
    while same(times).is_some() {
        times += 1;
    }
    if (times - 1) * length < LEAST_SAVED {
        return None;
    }
    let mut carried: Vec<u32> = Vec::new();
    for (s, moves) in all[body.clone()].iter().zip(&moves) {
        for (place, moves) in s.operands[..s.operation.arity()].iter().zip(moves) {
            match *place {
                Place::Value(v) if *moves && v < first_value && !carried.contains(&v) => {
                    carried.push(v);
                }
                _ => {}
            }
        }
    }
    let repeat = Repeat {
        body,
        times: times as u32,
        first_value,
        values,
        variables: steps.variables.unwrap_or(0),
        coefficients: steps.coefficients.unwrap_or(0),
        moves,
        carried,
    };
    leaves_only_carried(all, &repeat).then_some(repeat)
}

/// Which operands move from a statement to the same one of the next time; `None` if it is not the same.
fn moving(a: &Statement, b: &Statement, first_value: u32, steps: &mut Steps) -> Option<[bool; 3]> {
    let step = |known: &mut Option<u32>, from: u32, to: u32| {
        let by = to.checked_sub(from)?;
        (*known.get_or_insert(by) == by).then_some(())
    };
    if a.operation != b.operation {
        return None;
    }
    match (a.target, b.target) {
        (Target::Value(v), Target::Value(w)) if w == v + steps.values => {}
        (Target::Accumulator(a, c), Target::Accumulator(b, d)) if a == b => {
            step(&mut steps.coefficients, c, d)?;
        }
        _ => return None,
    }
    let mut moves = [false; 3];
    for (slot, moves) in moves.iter_mut().enumerate() {
        match (a.operands[slot], b.operands[slot]) {
            (Place::Value(v), Place::Value(w)) if v == w && v < first_value => {}
            // What is carried was made by the time before.
            (Place::Value(v), Place::Value(w)) if w == v + steps.values && w >= first_value => {
                *moves = true;
            }
            (Place::Variable(v), Place::Variable(w)) if v != w => {
                step(&mut steps.variables, v, w)?;
                *moves = true;
            }
            (v, w) if v == w && !matches!(v, Place::Value(_)) => {}
            _ => return None,
        }
    }
    Some(moves)
}

/// The statement as it is `time` times later.
fn moved(s: &Statement, moves: &[bool; 3], steps: &Steps, time: u32) -> Statement {
    let mut s = *s;
    for (place, _) in s.operands.iter_mut().zip(moves).filter(|(_, &moves)| moves) {
        match place {
            Place::Value(v) => *v += steps.values * time,
            Place::Variable(v) => *v += steps.variables.unwrap_or(0) * time,
            Place::Uniform(_) => {}
        }
    }
    match &mut s.target {
        Target::Value(v) => *v += steps.values * time,
        Target::Accumulator(_, c) => *c += steps.coefficients.unwrap_or(0) * time,
    }
    s
}

/// Whether later statements read of a loop's values only those in the place of carried ones.
fn leaves_only_carried(all: &[Statement], repeat: &Repeat) -> bool {
    let of_loop = repeat.first_value..repeat.first_value + repeat.values * repeat.times;
    let last: Vec<u32> = repeat.carried.iter().map(|&v| repeat.last(v)).collect();
    let later = &all[repeat.body.start + repeat.len()..];
    later.iter().all(|s| {
        let read = &s.operands[..s.operation.arity()];
        read.iter().all(|place| match place {
            Place::Value(v) => !of_loop.contains(v) || last.contains(v),
            _ => true,
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use openvm_stark_backend::keygen::types::StarkVerifyingKey;
    use p3_field::PrimeCharacteristicRing;

    use super::*;
    use crate::{
        constraints::tests::{keccak_key, random_keys},
        prelude::{Digest, F},
        programs::{AirPrograms, Operation},
        selftest::CheckRng,
    };

    /// What a rule adds to its accumulators for some operands: statement after statement.
    fn straight(rule: &Rule, use_of: &Use) -> [F; 2] {
        let (mut values, mut sums) = (HashMap::new(), [F::ZERO; 2]);
        for s in &rule.statements {
            let operands = s.operands.map(|place| match place {
                Place::Value(v) => values.get(&v).copied().unwrap_or(F::ZERO),
                Place::Variable(v) => use_of.variables[v as usize],
                Place::Uniform(u) => use_of.uniforms[u as usize],
            });
            let value = value(s.operation, operands);
            match s.target {
                Target::Value(v) => {
                    values.insert(v, value);
                }
                Target::Accumulator(a, c) => {
                    sums[a as usize] += use_of.coefficients[c as usize] * value;
                }
            }
        }
        sums
    }

    /// The same as the text of a kernel computes it: a loop has values of its own, what it carries, and leaves nothing else.
    fn in_pieces(rule: &Rule, use_of: &Use) -> [F; 2] {
        let (mut outer, mut sums) = (HashMap::new(), [F::ZERO; 2]);
        for piece in rule.pieces() {
            let Piece::Repeat(repeat) = piece else {
                let Piece::Statement(at) = piece else {
                    unreachable!()
                };
                let s = &rule.statements[at];
                let operands = s.operands.map(|place| match place {
                    Place::Value(v) => *outer.get(&v).unwrap_or(&F::ZERO),
                    Place::Variable(v) => use_of.variables[v as usize],
                    Place::Uniform(u) => use_of.uniforms[u as usize],
                });
                let value = value(s.operation, operands);
                match s.target {
                    Target::Value(v) => drop(outer.insert(v, value)),
                    Target::Accumulator(a, c) => {
                        sums[a as usize] += use_of.coefficients[c as usize] * value;
                    }
                }
                continue;
            };
            let carried = repeat.carried.iter();
            let mut carried: HashMap<u32, F> = carried.map(|&v| (v, outer[&v])).collect();
            for time in 0..repeat.times {
                let mut inner = HashMap::new();
                let body = rule.statements[repeat.body.clone()].iter();
                for (s, moves) in body.zip(&repeat.moves) {
                    let of = |(&place, &moves): (&Place, &bool)| match place {
                        Place::Value(v) if !moves => outer[&v],
                        Place::Value(v) if v < repeat.first_value => carried[&v],
                        Place::Value(v) => inner[&v],
                        Place::Variable(v) => {
                            let by = u32::from(moves) * time * repeat.variables;
                            use_of.variables[(v + by) as usize]
                        }
                        Place::Uniform(u) => use_of.uniforms[u as usize],
                    };
                    let arity = s.operation.arity();
                    let read = s.operands[..arity].iter().zip(moves).map(of);
                    let mut operands = [F::ZERO; 3];
                    operands.iter_mut().zip(read).for_each(|(o, v)| *o = v);
                    let value = value(s.operation, operands);
                    match s.target {
                        Target::Value(v) => drop(inner.insert(v, value)),
                        Target::Accumulator(a, c) => {
                            let c = c + time * repeat.coefficients;
                            sums[a as usize] += use_of.coefficients[c as usize] * value;
                        }
                    }
                }
                for (v, value) in &mut carried {
                    *value = inner[&(v + repeat.values)];
                }
            }
            outer.extend(
                carried
                    .into_iter()
                    .map(|(v, value)| (repeat.last(v), value)),
            );
        }
        sums
    }

    fn value(operation: Operation, [a, b, c]: [F; 3]) -> F {
        match operation {
            Operation::Copy => a,
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::Mul | Operation::MulU => a * b,
            Operation::MulAdd | Operation::MulAddU => a * b + c,
            Operation::MulSub | Operation::MulSubU => a * b - c,
            Operation::NegMulAdd | Operation::NegMulAddU => c - a * b,
        }
    }

    /// Operands of a use.
    struct Use {
        variables: Vec<F>,
        uniforms: Vec<F>,
        coefficients: Vec<F>,
    }

    fn check(rule: &Rule, rng: &mut CheckRng) -> usize {
        let use_of = Use {
            variables: rng.fs(rule.variables as usize),
            uniforms: rng.fs(rule.uniforms.len()),
            coefficients: rng.fs(rule.coefficients as usize),
        };
        assert_eq!(
            in_pieces(rule, &use_of),
            straight(rule, &use_of),
            "{rule:?}"
        );
        let pieces = rule.pieces().into_iter();
        pieces.filter(|p| matches!(p, Piece::Repeat(_))).count()
    }

    /// Loops compute what their statements do, for random AIRs and for keccakf, whose long rules are loops.
    #[test]
    fn loops_are_what_they_stand_for() {
        let of =
            |vk: &StarkVerifyingKey<F, Digest>| AirPrograms::new("test", vk).expect("a program");
        let rng = &mut CheckRng::new(3);
        for programs in random_keys(24).iter().map(of) {
            for rule in programs.rules().flat_map(|rules| &rules.list) {
                check(rule, rng);
            }
        }
        let keccak = of(&keccak_key());
        let rules: Vec<&Rule> = keccak.rules().flat_map(|rules| &rules.list).collect();
        let loops: usize = rules.iter().map(|rule| check(rule, rng)).sum();
        assert!(loops >= 6, "{loops} loops");
        let of = |piece: Piece| match piece {
            Piece::Statement(_) => 1,
            Piece::Repeat(repeat) => repeat.body.len(),
        };
        let text: usize = rules.iter().flat_map(|rule| rule.pieces()).map(of).sum();
        let statements: usize = rules.iter().map(|rule| rule.statements.len()).sum();
        assert!(2 * text < statements, "{text} of {statements}");
    }

    /// A statement that makes the next value, or adds to an accumulator.
    type Written = (Operation, [Place; 3], Option<(u32, u32)>);

    /// The rule of some statements.
    fn rule(statements: Vec<Written>) -> Rule {
        let (mut values, mut variables, mut coefficients) = (0, 0, 0);
        let statements = statements.into_iter().map(|(operation, operands, sum)| {
            for place in operands {
                if let Place::Variable(v) = place {
                    variables = variables.max(v + 1);
                }
            }
            let target = match sum {
                Some((a, c)) => {
                    coefficients = coefficients.max(c + 1);
                    Target::Accumulator(a, c)
                }
                None => {
                    values += 1;
                    Target::Value(values - 1)
                }
            };
            Statement {
                operation,
                operands,
                target,
            }
        });
        let statements = statements.collect();
        Rule {
            statements,
            variables,
            uniforms: vec![None],
            coefficients,
            words: variables + coefficients + 1,
            first: 0,
            uses: 1,
        }
    }

    /// Two loops of which the second carries what the first left; a value that is both carried and read by every time as it
    /// was; sums to two accumulators whose coefficients move.
    #[test]
    fn loops_follow_each_other() {
        use Operation::{Add, Mul, MulU, NegMulAdd};
        let (x, t, u) = (Place::Variable, Place::Value, Place::Uniform(0));
        let mut all = vec![(Add, [x(0), x(1), x(0)], None)];
        for i in 0..12 {
            all.push((Mul, [t(2 * i), x(2 + i), t(0)], None));
            all.push((NegMulAdd, [t(2 * i + 1), t(0), x(2 + i)], None));
        }
        for i in 0..10 {
            let at = 24 + 2 * i;
            all.push((MulU, [t(at), u, t(at)], None));
            all.push((Add, [t(at + 1), t(0), t(at)], None));
            all.push((Add, [t(at + 2), x(i), t(at)], Some((0, i))));
            all.push((Mul, [t(at + 1), x(i), t(at)], Some((1, 10 + i))));
        }
        all.push((Add, [t(44), t(0), t(0)], Some((1, 20))));
        let rule = rule(all);
        let rng = &mut CheckRng::new(4);
        assert_eq!(check(&rule, rng), 2, "{:?}", rule.pieces());
    }

    /// Bits `x_i` summed by doubling: the sum is carried, and read after the loop.
    #[test]
    fn a_sum_of_bits_is_a_loop() {
        use crate::programs::Operation::{Add, Sub};
        let statement = |operation, a, b, target| Statement {
            operation,
            operands: [a, b, a],
            target,
        };
        let (x, t) = (Place::Variable, Place::Value);
        let mut statements = vec![statement(Add, x(0), x(1), Target::Value(0))];
        for i in 0..16 {
            let twice = statement(Add, t(2 * i), t(2 * i), Target::Value(2 * i + 1));
            let sum = statement(Add, t(2 * i + 1), x(2 + i), Target::Value(2 * i + 2));
            statements.extend([twice, sum]);
        }
        statements.push(statement(Sub, t(32), x(0), Target::Accumulator(0, 0)));
        let mut rule = Rule {
            statements,
            variables: 18,
            uniforms: Vec::new(),
            coefficients: 1,
            words: 19,
            first: 0,
            uses: 1,
        };
        let pieces = rule.pieces();
        let [Piece::Statement(0), Piece::Repeat(repeat), Piece::Statement(33)] = &pieces[..] else {
            panic!("{pieces:?}")
        };
        assert_eq!((repeat.body.clone(), repeat.times), (1..3, 16));
        assert_eq!((&repeat.carried[..], repeat.last(0)), (&[0][..], 32));
        // A value from within the loop that is read later: no loop.
        rule.statements[33].operands[1] = t(8);
        let of_loop = |piece: &Piece| matches!(piece, Piece::Repeat(r) if r.len() == 32);
        assert!(!rule.pieces().iter().any(of_loop));
    }
}
