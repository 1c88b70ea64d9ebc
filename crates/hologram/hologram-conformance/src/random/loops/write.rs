//! Writing one random loop.

use std::fmt::Write;

use hologram_backends::{ExecutionParams, Register, Result, Ty};

use super::{input, Expected, LoopCase, BYTES, TAIL};
use crate::random::rng::Rng;

/// Registers: counter, first offset, first step, temporaries, first value, first collected value.
const COUNTER: u8 = 9;
const OFFSET: usize = 20;
const STEP: usize = 40;
const TEMPORARY: usize = 60;
const VALUE: usize = 70;
const COLLECTED: usize = 100;

const INTEGERS: [Ty; 8] = [
    Ty::I8,
    Ty::I16,
    Ty::I32,
    Ty::I64,
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
];

/// A program in the making.
struct Writer {
    rng: Rng,
    ty: Ty,
    count: u64,
    before: String,
    body: String,
    /// Moves of offsets at the end of the body.
    moves: String,
    behind: String,
    offsets: usize,
    /// Start and step of each offset, where they are fixed: the loop is then written iteration by iteration.
    unrolled: Option<Vec<(u64, u64)>>,
    values: usize,
    params: ExecutionParams,
    expected: Expected,
}

pub fn generate(seed: u64, doubles: bool) -> Result<LoopCase> {
    let mut rng = Rng::new(seed);
    let ty = match rng.below(10) {
        0..3 => Ty::F32,
        3 if doubles => Ty::F64,
        _ => rng.pick(&INTEGERS),
    };
    let collects = rng.chance(40);
    let count = match rng.below(8) {
        0 => 1 + rng.below(20) as u64,
        _ if collects => 250 + rng.below(1500) as u64,
        _ => 16 + rng.below(400) as u64,
    };
    // Long ones would take long to compile as one lane.
    let unrolled = rng.chance(15).then(Vec::new);
    let count = match &unrolled {
        Some(_) if collects => 250 + count % 16,
        Some(_) => 8 + count % 40,
        None => count,
    };
    let mut writer = Writer {
        rng,
        ty,
        count,
        before: String::new(),
        body: String::new(),
        moves: String::new(),
        behind: String::new(),
        offsets: 0,
        unrolled,
        values: 0,
        params: ExecutionParams::default(),
        expected: if count < 16 {
            Expected::OneLane
        } else {
            Expected::Lanes
        },
    };
    writer.begin();
    writer.loads();
    writer.computes();
    writer.stores();
    if collects {
        writer.collects();
    }
    if writer.rng.chance(20) {
        writer.forbids();
    }
    let text = writer.text();
    let Writer {
        expected, params, ..
    } = writer;
    Ok(LoopCase {
        seed,
        program: text.parse()?,
        params,
        expected,
    })
}

impl Writer {
    /// Handles and the counter: constants of the program or registers of the launch.
    fn begin(&mut self) {
        if self.unrolled.is_some() {
            return;
        }
        for handle in 1..=super::BUFFERS {
            let value = (Register::new(handle as u8), Ty::U64, handle);
            self.constant(value);
        }
        self.constant((Register::new(COUNTER), Ty::U32, self.count - 1));
    }

    fn constant(&mut self, (register, ty, value): (Register, Ty, u64)) {
        if self.rng.chance(50) {
            self.before += &format!("mov_imm.{ty} {register}, {value}\n");
        } else {
            self.params.initial_registers.push((register, ty, value));
        }
    }

    /// The whole program.
    fn text(&self) -> String {
        let Self {
            before,
            body,
            moves,
            behind,
            ..
        } = self;
        let Some(offsets) = &self.unrolled else {
            return format!("{before}@body:\n{body}{moves}loop r{COUNTER}, @body\n{behind}exit\n");
        };
        let mut text = before.clone();
        for i in 0..self.count {
            let mut group = body.clone();
            for (k, (start, step)) in offsets.iter().enumerate() {
                let at = start.wrapping_add(step.wrapping_mul(i));
                for handle in 1..=super::BUFFERS {
                    let register = format!("[r{handle} + r{}]", OFFSET + k);
                    group = group.replace(&register, &format!("[buf{handle} + {at}]"));
                }
            }
            text += &group;
        }
        text + behind
    }

    /// A register with the offset of an access: `start` in the first iteration, then `step` more each time.
    fn offset(&mut self, start: u64, step: i64) -> usize {
        let k = self.offsets;
        self.offsets += 1;
        let (at, by, temporary) = (OFFSET + k, STEP + k, TEMPORARY + k);
        let bits = step as u64;
        if let Some(offsets) = &mut self.unrolled {
            offsets.push((start, bits));
            return at;
        }
        match self.rng.below(5) {
            // Moved behind its use, or before.
            0 | 1 => {
                self.before += &format!("mov_imm.u64 r{at}, {start}\nmov_imm.u64 r{by}, {bits}\n");
                self.moves += &format!("add.u64 r{at}, r{at}, r{by}\n");
            }
            2 => {
                let start = start.wrapping_sub(bits);
                self.before += &format!("mov_imm.u64 r{at}, {start}\nmov_imm.u64 r{by}, {bits}\n");
                self.body += &format!("add.u64 r{at}, r{at}, r{by}\n");
            }
            // From an index that counts, in 32 bits.
            3 => {
                let first = self.rng.below(1000) as u64;
                let base = start.wrapping_sub(bits.wrapping_mul(first));
                self.before += &format!(
                    "mov_imm.u32 r{by}, {first}\nmov_imm.u64 r{}, {bits}\nmov_imm.u64 r{}, {base}\n\
                     mov_imm.u32 r{}, 1\n",
                    by + 100,
                    at + 100,
                    temporary + 100
                );
                self.body += &format!(
                    "cvt.u64.u32 r{at}, r{by}\nmad.u64 r{at}, r{at}, r{}, r{}\n",
                    by + 100,
                    at + 100
                );
                self.moves += &format!("add.u32 r{by}, r{by}, r{}\n", temporary + 100);
            }
            // From the counter, which counts down.
            _ => {
                let base = start.wrapping_add(bits.wrapping_mul(self.count - 1));
                let back = bits.wrapping_neg();
                self.before += &format!("mov_imm.u64 r{by}, {back}\nmov_imm.u64 r{at}, {base}\n");
                self.body += &format!(
                    "cvt.u64.u32 r{temporary}, r{COUNTER}\nmul.u64 r{temporary}, r{temporary}, r{by}\n\
                     add.u64 r{temporary}, r{temporary}, r{at}\n"
                );
                return temporary;
            }
        }
        at
    }

    /// Start and step of accesses that stay below `end`; `least` is the smallest step. Floats stay aligned.
    fn course(&mut self, least: u64, end: usize) -> (u64, i64) {
        let size = self.ty.size() as u64;
        let unit = if self.ty.is_float() { size } else { 1 };
        let most = 32.min((end as u64 - size) / self.count);
        let step = (least + self.rng.bits() % (most + 1 - least)) / unit * unit;
        let step = step.max(least);
        let way = step * (self.count - 1);
        let start = self.rng.bits() % ((end as u64 - size - way) / unit + 1) * unit;
        if self.rng.chance(30) {
            (start + way, -(step as i64))
        } else {
            (start, step as i64)
        }
    }

    fn loads(&mut self) {
        for _ in 0..1 + self.rng.below(3) {
            let (start, step) = self.course(0, BYTES);
            let at = self.offset(start, step);
            let value = self.value();
            let (ty, handle) = (self.ty, input(self.ty));
            self.body += &format!("ldg.{ty} r{value}, [r{handle} + r{at}]\n");
        }
        if self.rng.chance(30) {
            let (value, ty) = (self.value(), self.ty);
            let at = self.rng.below(100) * ty.size();
            self.body += &format!("ldg.{ty} r{value}, [buf{} + {at}]\n", input(ty));
        }
    }

    fn computes(&mut self) {
        let operations: &[&str] = if self.ty.is_float() {
            &["add", "sub", "min", "max", "mul"]
        } else {
            &["add", "sub", "min", "max", "mul", "and", "or", "xor"]
        };
        for i in 0..self.rng.below(4) {
            let [a, b] = [(); 2].map(|()| VALUE + self.rng.below(self.values));
            let (ty, op) = (self.ty, self.rng.pick(operations));
            if self.unrolled.is_none() && self.rng.chance(25) {
                self.body += &format!(
                    "set.lt.{ty} p{i}, r{a}, r{b}\nbra @over{i}, p{i}\n{op}.{ty} r{a}, r{a}, r{b}\n@over{i}:\n"
                );
            } else {
                let value = self.value();
                self.body += &format!("{op}.{ty} r{value}, r{a}, r{b}\n");
            }
        }
    }

    fn stores(&mut self) {
        let (ty, size) = (self.ty, self.ty.size() as u64);
        for handle in [4, 5] {
            if handle == 5 && self.rng.chance(60) {
                return;
            }
            let (start, step) = self.course(size, TAIL);
            let at = self.offset(start, step);
            let value = VALUE + self.rng.below(self.values);
            self.body += &format!("stg.{ty} r{value}, [r{handle} + r{at}]\n");
            if handle == 4 && self.rng.chance(30) {
                let first = OFFSET + self.rng.below(self.offsets);
                self.behind += &format!("stg.{ty} r{value}, [buf5 + {TAIL}]\n");
                if self.unrolled.is_some() {
                    continue;
                }
                // Defined in all forms of offsets, and a constant in some.
                self.behind += &format!("stg.u64 r{first}, [buf5 + {}]\n", TAIL + 8);
            }
        }
    }

    /// Registers that only collect.
    fn collects(&mut self) {
        let ty = self.ty;
        let operations: &[&str] = if ty.is_float() {
            &["min", "max"]
        } else {
            &["add", "sub", "mul", "min", "max", "and", "or", "xor"]
        };
        for k in 0..1 + self.rng.below(2) {
            let (to, op) = (COLLECTED + k, self.rng.pick(operations));
            let value = VALUE + self.rng.below(self.values);
            self.before += &format!("mov_imm.{ty} r{to}, {}\n", self.rng.below(2));
            let turned = op != "sub" && self.rng.chance(30);
            let operands = if turned {
                format!("r{value}, r{to}")
            } else {
                format!("r{to}, r{value}")
            };
            self.body += &format!("{op}.{ty} r{to}, {operands}\n");
            // The last values are known to the last iteration only.
            self.behind.clear();
            self.behind_collected(k);
        }
        self.expected = if self.count < 256 {
            Expected::OneLane
        } else {
            Expected::Tree
        };
    }

    fn behind_collected(&mut self, last: usize) {
        let ty = self.ty;
        for k in 0..=last {
            let to = COLLECTED + k;
            // Writing to a string does not fail.
            let _ = writeln!(
                self.behind,
                "stg.{ty} r{to}, [buf5 + {}]",
                TAIL + 16 + 8 * k
            );
        }
    }

    /// Something that forbids many lanes, or may.
    fn forbids(&mut self) {
        let (ty, size) = (self.ty, self.ty.size());
        let value = VALUE + self.rng.below(self.values);
        self.expected = match self.rng.below(6) {
            0 => {
                self.before += &format!("mov_imm.{ty} r19, 1\nstg.{ty} r19, [buf5 + {TAIL}]\n");
                Expected::OneLane
            }
            // All write one place.
            1 => {
                self.body += &format!("stg.{ty} r{value}, [buf4 + 4096]\n");
                Expected::OneLane
            }
            // Carried from one iteration to the next.
            2 => {
                self.before += &format!("mov_imm.{ty} r19, 1\n");
                self.body += &format!("stg.{ty} r19, [buf5 + {TAIL}]\nmov.{ty} r19, r{value}\n");
                Expected::OneLane
            }
            // In place, or reading what others wrote, or past the end.
            3 | 4 => {
                let (start, step) = self.course(size as u64, BYTES);
                let from = self.offset(start, step);
                let factor = 1 + self.rng.below(2) as i64;
                let to = self.offset(start, factor * step);
                let handle = input(ty);
                self.body += &format!(
                    "ldg.{ty} r19, [r{handle} + r{from}]\nstg.{ty} r19, [r{handle} + r{to}]\n"
                );
                Expected::Any
            }
            _ => {
                let past = BYTES - size * self.rng.below(self.count as usize + 1);
                let at = self.offset(past as u64, size as i64);
                self.body += &format!("ldg.{ty} r19, [r{} + r{at}]\n", input(ty));
                Expected::Any
            }
        };
    }

    fn value(&mut self) -> usize {
        self.values += 1;
        VALUE + self.values - 1
    }
}
