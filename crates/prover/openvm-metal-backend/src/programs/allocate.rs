//! Register allocation: linear scan over a block, spilling the value used furthest ahead.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    program::{Instruction, Operand, Operation, Sink},
    select::Virtual,
};

#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    Register(u32),
    Spill(u32),
}

struct Slots {
    /// The smallest first.
    free: BinaryHeap<Reverse<u32>>,
    used: u32,
    limit: u32,
}

impl Slots {
    fn new(limit: u32) -> Self {
        Self {
            free: BinaryHeap::new(),
            used: 0,
            limit,
        }
    }

    fn take(&mut self) -> Option<u32> {
        self.free.pop().map(|Reverse(slot)| slot).or_else(|| {
            (self.used < self.limit).then(|| {
                self.used += 1;
                self.used - 1
            })
        })
    }
}

/// Registers and spills of a block.
#[derive(Debug)]
pub struct Allocated {
    pub code: Vec<Instruction>,
    pub registers: u32,
    pub spills: u32,
}

/// Maps the values of a block to at most `limit` registers (at least 1) and as many spill slots as it
/// takes.
pub fn allocate(block: &[Virtual], limit: u32) -> Allocated {
    let num_values = block
        .iter()
        .map(|v| {
            if let Sink::Register(value) = v.sink {
                value as usize + 1
            } else {
                0
            }
        })
        .max()
        .unwrap_or(0);
    let mut uses = Uses::new(block, num_values);
    let mut places = vec![Place::Nowhere; num_values];
    let mut holder: Vec<Option<u32>> = vec![None; limit as usize]; // value in each register
    let mut registers = Slots::new(limit);
    let mut spills = Slots::new(u32::MAX);
    let mut code = Vec::with_capacity(block.len());
    for (position, v) in block.iter().enumerate() {
        let position = position as u32;
        let read = |places: &[Place]| {
            v.operands.map(|operand| match operand {
                Operand::Register(value) => match places[value as usize] {
                    Place::Register(r) => Operand::Register(r),
                    Place::Spill(s) => Operand::Spill(s),
                    Place::Nowhere => unreachable!("value {value} is read before it is written"),
                },
                other => other,
            })
        };
        let mut operands = read(&places);
        // Values read for the last time leave their place.
        let mut freed_spills = Vec::new();
        for operand in &v.operands[..v.operation.arity()] {
            if let Operand::Register(value) = *operand {
                // An operand that is read twice leaves once.
                if uses.pass(value, position) && uses.next(value).is_none() {
                    match places[value as usize] {
                        Place::Register(r) => {
                            holder[r as usize] = None;
                            registers.free.push(Reverse(r));
                        }
                        Place::Spill(s) => freed_spills.push(s),
                        Place::Nowhere => {}
                    }
                }
            }
        }
        let sink = match v.sink {
            Sink::Register(value) => {
                let register = registers.take().unwrap_or_else(|| {
                    let (register, victim) = furthest(&holder, &uses);
                    let slot = spills.take().expect("spill slots are unlimited");
                    code.push(Instruction {
                        operation: Operation::Copy,
                        operands: [Operand::Register(register); 3],
                        sink: Sink::Spill(slot),
                    });
                    places[victim as usize] = Place::Spill(slot);
                    register
                });
                places[value as usize] = Place::Register(register);
                holder[register as usize] = Some(value);
                Sink::Register(register)
            }
            other => other,
        };
        // An operand may have been moved to a spill slot just now: its register still holds it until
        // this instruction writes, so the old operands stay right.
        for k in v.operation.arity()..3 {
            operands[k] = operands[0];
        }
        spills.free.extend(freed_spills.into_iter().map(Reverse));
        code.push(Instruction {
            operation: v.operation,
            operands,
            sink,
        });
        if let Sink::Register(value) = v.sink {
            if uses.next(value).is_none() {
                // Never read: cannot happen for selected code, but costs nothing to handle.
                if let Place::Register(r) = places[value as usize] {
                    holder[r as usize] = None;
                    registers.free.push(Reverse(r));
                }
            }
        }
    }
    Allocated {
        code,
        registers: registers.used,
        spills: spills.used,
    }
}

/// Positions at which the values of a block are read.
struct Uses {
    /// Positions of all values, ascending for each.
    positions: Vec<u32>,
    /// Index of the first position that is ahead, for each value.
    ahead: Vec<u32>,
    /// Index behind the last position, for each value.
    ends: Vec<u32>,
}

impl Uses {
    fn new(block: &[Virtual], num_values: usize) -> Self {
        let reads = || {
            block.iter().zip(0u32..).flat_map(|(v, position)| {
                let operands = v.operands[..v.operation.arity()].iter();
                operands.filter_map(move |operand| match *operand {
                    Operand::Register(value) => Some((value as usize, position)),
                    _ => None,
                })
            })
        };
        let mut ends = vec![0; num_values];
        reads().for_each(|(value, _)| ends[value] += 1);
        let mut all = 0;
        for end in &mut ends {
            all += *end;
            *end = all - *end;
        }
        let ahead = ends.clone();
        let mut positions = vec![0; all as usize];
        for (value, position) in reads() {
            positions[ends[value] as usize] = position;
            ends[value] += 1;
        }
        Self {
            positions,
            ahead,
            ends,
        }
    }

    /// Position of the next use of a value.
    fn next(&self, value: u32) -> Option<u32> {
        let (ahead, end) = (self.ahead[value as usize], self.ends[value as usize]);
        (ahead < end).then(|| self.positions[ahead as usize])
    }

    /// Leaves the uses of a value at a position behind. False if there are none.
    fn pass(&mut self, value: u32, position: u32) -> bool {
        let before = self.ahead[value as usize];
        while self.next(value) == Some(position) {
            self.ahead[value as usize] += 1;
        }
        self.ahead[value as usize] > before
    }
}

/// The register whose value is used furthest ahead, and that value.
fn furthest(holder: &[Option<u32>], uses: &Uses) -> (u32, u32) {
    holder
        .iter()
        .enumerate()
        .filter_map(|(r, value)| value.map(|v| (r as u32, v)))
        .max_by_key(|&(_, v)| uses.next(v).unwrap_or(u32::MAX))
        .expect("all registers are taken")
}
