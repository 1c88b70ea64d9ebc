//! Loops of rules against their statements one after the other.

use std::collections::HashMap;

use p3_field::PrimeCharacteristicRing;

use crate::{
    constraints::tests::{keccak_key, random_keys},
    prelude::{EF, F},
    programs::{
        rules::{Place, Rule, Statement, Target},
        AirPrograms,
        Operation::{self, Add, Mul, MulU, NegMulAdd, Sub},
        Piece, Repeat, Rules, UseRange,
    },
    selftest::CheckRng,
};

/// Values that a use of a rule reads.
struct Use {
    variables: Vec<F>,
    uniforms: Vec<F>,
    coefficients: Vec<EF>,
}

impl Use {
    fn random(rule: &Rule, rng: &mut CheckRng) -> Self {
        let drawn = rng.fs(rule.uniforms.len());
        let uniforms = rule.uniforms.iter().zip(drawn);
        Self {
            variables: rng.fs(rule.variables as usize),
            uniforms: uniforms
                .map(|(known, drawn)| known.unwrap_or(drawn))
                .collect(),
            coefficients: rng.efs(rule.coefficients as usize),
        }
    }

    /// Sums that the statements of a rule add to the accumulators.
    fn straight(&self, rule: &Rule) -> [EF; 2] {
        let (variables, uniforms) = (rule.variables, rule.uniforms.len() as u32);
        let operands = (0..variables)
            .chain(0..uniforms)
            .chain(0..rule.coefficients);
        let alone = Rules {
            list: vec![Rule {
                first: 0,
                uses: 1,
                ..rule.clone()
            }],
            operands: operands.collect(),
            accumulators: 2,
        };
        let all = [UseRange {
            rule: 0,
            uses: 0..1,
        }];
        let variable = |v| self.variables[v as usize];
        alone.evaluate(&all, variable, &self.uniforms, &self.coefficients)
    }

    /// The same as the text of a kernel computes it: a loop has values of its own, what it carries, and leaves nothing else.
    fn in_pieces(&self, rule: &Rule) -> [EF; 2] {
        let (mut outer, mut sums) = (HashMap::new(), [EF::ZERO; 2]);
        for piece in rule.pieces() {
            match piece {
                Piece::Statement(at) => {
                    let read = |_: usize, place| self.read(place, 0, |v| outer[&v]);
                    let made = self.run(&rule.statements[at], read, 0, &mut sums);
                    outer.extend(made);
                }
                Piece::Repeat(repeat) => self.repeat(rule, &repeat, &mut outer, &mut sums),
            }
        }
        sums
    }

    fn repeat(
        &self,
        rule: &Rule,
        repeat: &Repeat,
        outer: &mut HashMap<u32, F>,
        sums: &mut [EF; 2],
    ) {
        let carried = repeat.carried.iter();
        let mut carried: HashMap<u32, F> = carried.map(|&v| (v, outer[&v])).collect();
        for time in 0..repeat.times {
            let mut inner = HashMap::new();
            let body = rule.statements[repeat.body.clone()].iter();
            for (statement, moves) in body.zip(&repeat.moves) {
                let read = |slot: usize, place| match moves[slot] {
                    true => self.read(place, time * repeat.variables, |v| {
                        match v < repeat.first_value {
                            true => carried[&v],
                            false => inner[&v],
                        }
                    }),
                    false => self.read(place, 0, |v| outer[&v]),
                };
                let made = self.run(statement, read, time * repeat.coefficients, sums);
                inner.extend(made);
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

    /// An operand; variables lie `ahead`.
    fn read(&self, place: Place, ahead: u32, value: impl Fn(u32) -> F) -> F {
        match place {
            Place::Value(v) => value(v),
            Place::Variable(v) => self.variables[(v + ahead) as usize],
            Place::Uniform(u) => self.uniforms[u as usize],
        }
    }

    /// Runs a statement: the value that it makes, or what it adds with a coefficient that lies `ahead`.
    fn run(
        &self,
        statement: &Statement,
        read: impl Fn(usize, Place) -> F,
        ahead: u32,
        sums: &mut [EF; 2],
    ) -> Option<(u32, F)> {
        let [a, b, c] = std::array::from_fn(|slot| read(slot, statement.operands[slot]));
        let value = statement.operation.of(a, b, c);
        match statement.target {
            Target::Value(v) => Some((v, value)),
            Target::Accumulator(accumulator, c) => {
                sums[accumulator as usize] += self.coefficients[(c + ahead) as usize] * value;
                None
            }
        }
    }
}

/// Compares a rule with its pieces; how many of these are loops.
fn check(rule: &Rule, rng: &mut CheckRng) -> usize {
    let of = Use::random(rule, rng);
    assert_eq!(of.in_pieces(rule), of.straight(rule), "{rule:?}");
    let pieces = rule.pieces().into_iter();
    pieces.filter(|p| matches!(p, Piece::Repeat(_))).count()
}

/// Loops compute what their statements do, for random AIRs and for keccakf, whose long rules are loops.
#[test]
fn loops_are_what_they_stand_for() {
    let rng = &mut CheckRng::new(3);
    for key in random_keys(24) {
        let programs = AirPrograms::new("test", &key).expect("a program");
        for rule in programs.rules().flat_map(|rules| &rules.list) {
            check(rule, rng);
        }
    }
    let keccak = AirPrograms::new("keccak", &keccak_key()).expect("a program");
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

/// A statement that makes the next value, or adds to an accumulator with a coefficient.
type Written = (Operation, [Place; 3], Option<(u32, u32)>);

/// The rule of some statements.
fn rule(statements: &[Written]) -> Rule {
    let (mut values, mut variables, mut coefficients) = (0, 0, 0);
    let statements = statements.iter().map(|&(operation, operands, sum)| {
        for place in operands {
            if let Place::Variable(v) = place {
                variables = variables.max(v + 1);
            }
        }
        let target = match sum {
            Some((accumulator, c)) => {
                coefficients = coefficients.max(c + 1);
                Target::Accumulator(accumulator, c)
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
    Rule {
        statements: statements.collect(),
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
    let (x, t, u) = (Place::Variable, Place::Value, Place::Uniform(0));
    let mut all: Vec<Written> = vec![(Add, [x(0), x(1), x(0)], None)];
    for i in 0..12 {
        all.push((Mul, [t(2 * i), x(2 + i), t(2 * i)], None));
        all.push((NegMulAdd, [t(2 * i + 1), t(0), x(2 + i)], None));
    }
    for i in 0..10 {
        let at = 24 + 2 * i;
        all.push((MulU, [t(at), u, t(at)], None));
        all.push((Add, [t(at + 1), t(0), t(at + 1)], None));
        all.push((Add, [t(at + 2), x(i), t(at + 2)], Some((0, i))));
        all.push((Mul, [t(at + 1), x(i), t(at + 1)], Some((1, 10 + i))));
    }
    all.push((Add, [t(44), t(0), t(44)], Some((1, 20))));
    let rule = rule(&all);
    assert_eq!(
        check(&rule, &mut CheckRng::new(4)),
        2,
        "{:?}",
        rule.pieces()
    );
}

/// Bits summed by doubling: the sum is carried, and read after the loop.
#[test]
fn a_sum_of_bits_is_a_loop() {
    let (x, t) = (Place::Variable, Place::Value);
    let mut all: Vec<Written> = vec![(Add, [x(0), x(1), x(0)], None)];
    for i in 0..16 {
        all.push((Add, [t(2 * i), t(2 * i), t(2 * i)], None));
        all.push((Add, [t(2 * i + 1), x(2 + i), t(2 * i + 1)], None));
    }
    all.push((Sub, [t(32), x(0), t(32)], Some((0, 0))));
    let pieces = rule(&all).pieces();
    let [Piece::Statement(0), Piece::Repeat(repeat), Piece::Statement(33)] = &pieces[..] else {
        panic!("{pieces:?}")
    };
    assert_eq!((repeat.body.clone(), repeat.times), (1..3, 16));
    assert_eq!((&repeat.carried[..], repeat.last(0)), (&[0][..], 32));
    // A value from within the loop that is read later: no loop.
    all[33].1[1] = t(8);
    let of_loop = |piece: &Piece| matches!(piece, Piece::Repeat(r) if r.len() == 32);
    assert!(!rule(&all).pieces().iter().any(of_loop));
}
