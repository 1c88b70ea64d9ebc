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

/// Steps of operands between a statement and its next repetition.
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

/// Operands that move from a statement to its next repetition; `None` if it is not the same statement.
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

/// True if later statements read of a loop's values only those in the place of carried ones.
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
