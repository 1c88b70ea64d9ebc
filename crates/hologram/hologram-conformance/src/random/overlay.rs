//! Random accesses of all types at the same bytes.
//!
//! Compilers for most devices may take accesses of different scalar types for ones that never meet; programs may make them meet.
//! No NaN is stored here, because its bits may differ between devices and would be read as numbers.

use hologram_backends::Ty;

use super::layout::{output, HANDLES, INPUT, OUTPUT, OVERLAID, OVERLAID_BYTES, POOL_OUT, SLOTS};
use super::state::State;

/// Registers of the two offsets of a statement.
const PLACES: [&str; 2] = ["r5", "r0"];

impl State {
    /// Stores and loads of any types at two places among the bytes that they share.
    pub fn overlay(&mut self) {
        self.place(PLACES[0]);
        if self.rng.chance(60) {
            // The same place, but no compiler knows: the number is 0.
            self.line(format!("ldg.u64 r4, [buf{INPUT} + {}]", HANDLES + 24));
            self.line(format!("add.u64 {}, {}, r4", PLACES[1], PLACES[0]));
        } else {
            self.place(PLACES[1]);
        }
        let memory = match self.rng.chance(20) {
            true => {
                self.line(format!("mov_imm.u64 r7, {POOL_OUT}"));
                None
            }
            false => Some(self.handle(false)),
        };
        let (first, second) = (self.any(), self.any());
        if self.rng.chance(60) {
            // What is read again is not what was there first.
            let (src, label) = (self.storable(second), self.label());
            let count = self.rng.below(4);
            self.line(format!("mov_imm.u32 r14, {count}"));
            self.line(format!("{label}:"));
            let d = self.shared_load(first, memory, PLACES[0]);
            self.shared_store(second, &src, memory, PLACES[1]);
            self.line(format!("loop r14, {label}"));
            // The place is of no use any more.
            let at = output(first) + first.size() * self.rng.below(SLOTS);
            self.own(at);
            self.line(format!("stg.{first} {d}, [r1 + r5]"));
            return;
        }
        for _ in 0..self.rng.below(4) {
            let (ty, place) = (self.any(), self.rng.pick(&PLACES));
            match self.rng.chance(50) {
                true => {
                    let src = self.storable(ty);
                    self.shared_store(ty, &src, memory, place);
                }
                false => drop(self.shared_load(ty, memory, place)),
            }
        }
        // Where the place is a constant of the text, compilers know what meets.
        if self.single && self.rng.chance(50) {
            let src = self.storable(first);
            self.line(format!("stg.{first} {src}, [buf{OUTPUT} + {OVERLAID}]"));
            let d = self.target(second);
            self.line(format!("ldg.{second} {d}, [buf{OUTPUT} + {OVERLAID}]"));
        }
    }

    /// Stores a value by a register with a handle, or to the pool in r7.
    fn shared_store(&mut self, ty: Ty, src: &str, handle: Option<&str>, place: &str) {
        self.line(match handle {
            Some(handle) => format!("stg.{ty} {src}, [{handle} + {place}]"),
            None => format!("pool_store.{ty} {src}, r7, {place}"),
        });
    }

    fn shared_load(&mut self, ty: Ty, handle: Option<&str>, place: &str) -> String {
        let d = self.target(ty);
        self.line(match handle {
            Some(handle) => format!("ldg.{ty} {d}, [{handle} + {place}]"),
            None => format!("pool_load.{ty} {d}, r7, {place}"),
        });
        d
    }

    /// Sets a register to an offset at which 8 bytes are shared: a constant, or one that a value decides.
    fn place(&mut self, register: &str) {
        let last = OVERLAID_BYTES - 8;
        if self.rng.chance(50) {
            let unit = self.rng.pick(&[8, 8, 4, 2, 1]);
            let at = OVERLAID + unit * self.rng.below(last / unit + 1);
            self.line(format!("mov_imm.u64 {register}, {at}"));
        } else {
            let index = self.source(Ty::U32);
            let mask = last & self.rng.pick(&[0, 8, 16, 24]);
            self.line(format!("cvt.u64.u32 {register}, {index}"));
            self.line(format!("mov_imm.u64 r4, {mask}"));
            self.line(format!("and.u64 {register}, {register}, r4"));
            self.line(format!("mov_imm.u64 r4, {OVERLAID}"));
            self.line(format!("add.u64 {register}, {register}, r4"));
        }
        self.line(format!("add.u64 {register}, r2, {register}"));
    }

    /// A register that holds a value of a type, 0 in place of a NaN.
    fn storable(&mut self, ty: Ty) -> String {
        let src = self.source(ty);
        let compared = match ty {
            Ty::F32 | Ty::F64 => src.clone(),
            Ty::F16 | Ty::Bf16 => {
                self.line(format!("cvt.f32.{ty} r125, {src}"));
                "r125".into()
            }
            _ => return src,
        };
        let wide = if ty == Ty::F64 { ty } else { Ty::F32 };
        self.line(format!("set.eq.{wide} p10, {compared}, {compared}"));
        self.line(format!("mov_imm.{ty} r124, 0"));
        self.line(format!("sel.{ty} r123, p10, {src}, r124"));
        "r123".into()
    }
}
