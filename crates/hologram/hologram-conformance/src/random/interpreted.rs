//! Random statements that kernels do not have: pools of programs, whole-buffer instructions.

use super::layout::{INPUT, OUTPUT, POOL_IN};
use super::state::State;

/// Bytes of the pools.
const POOL: usize = 64;
/// Most elements of a whole-buffer instruction.
const COUNT: usize = 200;

impl State {
    /// A pool is made, written, read and mostly freed again; its handle stays in r7.
    pub fn own_pool(&mut self) {
        let ty = self.any();
        let src = self.source(ty);
        let at = ty.size() * self.rng.below(POOL / ty.size());
        self.line(format!("pool_alloc r7, {POOL}"));
        self.line(format!("mov_imm.u64 r4, {at}"));
        if self.rng.chance(80) {
            self.line(format!("pool_store.{ty} {src}, r7, r4"));
        }
        let d = self.target(ty);
        self.line(format!("pool_load.{ty} {d}, r7, r4"));
        if self.faults && self.rng.chance(5) {
            self.line("pool_free r7");
        }
        if self.rng.chance(70) {
            self.line("pool_free r7");
        }
    }

    /// A whole-buffer instruction of integers on the output, of which any kernel gives the same bits. What it
    /// reads besides is the input or a class of the boundary pool. Handles are computed without memory.
    pub fn whole_buffer(&mut self) {
        let ty = self.int();
        let signed = ty.is_signed_int();
        let count = self.rng.below(COUNT);
        // r8 is written, r4 and r5 are read.
        let third = self.rng.below(1 << 20);
        self.line(format!("mov_imm.u64 r5, {third}"));
        self.line(format!("mov_imm.u64 r4, {}", OUTPUT as usize + third));
        self.line("sub.u64 r8, r4, r5");
        for register in ["r4", "r5"] {
            let raw = match self.rng.below(4) {
                0 => INPUT,
                1 => OUTPUT,
                2 => 0,
                _ => u64::MAX - self.rng.below(96) as u64,
            };
            let wrong = self.faults && self.rng.chance(4);
            let raw = if wrong { POOL_IN + 40 } else { raw };
            self.line(format!("mov_imm.u64 {register}, {raw}"));
        }
        let value = self.rng.value(ty);
        let high = self.rng.value(ty);
        let mut binary = self.rng.pick(&["add", "sub", "mul", "min", "max"]);
        if self.faults && self.rng.chance(20) {
            binary = "div";
        }
        let unary = if signed {
            self.rng.pick(&["abs", "neg", "relu"])
        } else {
            "relu"
        };
        let fold = self.rng.pick(&["sum", "product", "min", "max"]);
        let text = match self.rng.below(7) {
            0 => format!("map.{unary}.{ty} r8, r4, {count}"),
            1 | 2 => format!("map2.{binary}.{ty} r8, r4, r5, {count}"),
            3 => format!("map_scalar.{binary}.{ty} r8, r4, {value:#x}, {count}"),
            4 => format!("clip.{ty} r8, r4, {value:#x}, {high:#x}, {count}"),
            5 => format!("fill.{ty} r8, {value:#x}, {count}"),
            _ => format!("reduce.{fold}.{ty} r8, r4, {count}"),
        };
        self.line(text);
    }
}
