//! Register allocation: linear scan over a block, spilling the value used furthest ahead.

use std::collections::BTreeSet;

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
    free: BTreeSet<u32>,
    used: u32,
    limit: u32,
}

impl Slots {
    fn new(limit: u32) -> Self {
        Self {
            free: BTreeSet::new(),
            used: 0,
            limit,
        }
    }

    fn take(&mut self) -> Option<u32> {
        self.free.pop_first().or_else(|| {
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
    // Positions of the uses of each value, last first.
    let mut uses: Vec<Vec<u32>> = vec![Vec::new(); num_values];
    for (position, v) in block.iter().enumerate().rev() {
        for operand in &v.operands[..v.operation.arity()] {
            if let Operand::Register(value) = *operand {
                uses[value as usize].push(position as u32);
            }
        }
    }
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
                let pending = &mut uses[value as usize];
                while pending.last() == Some(&position) {
                    pending.pop();
                }
                if pending.is_empty() {
                    match places[value as usize] {
                        Place::Register(r) => {
                            holder[r as usize] = None;
                            registers.free.insert(r);
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
        spills.free.extend(freed_spills);
        code.push(Instruction {
            operation: v.operation,
            operands,
            sink,
        });
        if let Sink::Register(value) = v.sink {
            if uses[value as usize].is_empty() {
                // Never read: cannot happen for selected code, but costs nothing to handle.
                if let Place::Register(r) = places[value as usize] {
                    holder[r as usize] = None;
                    registers.free.insert(r);
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

/// The register whose value is used furthest ahead, and that value.
fn furthest(holder: &[Option<u32>], uses: &[Vec<u32>]) -> (u32, u32) {
    holder
        .iter()
        .enumerate()
        .filter_map(|(r, value)| value.map(|v| (r as u32, v)))
        .max_by_key(|&(_, v)| uses[v as usize].last().copied().unwrap_or(u32::MAX))
        .expect("all registers are taken")
}
