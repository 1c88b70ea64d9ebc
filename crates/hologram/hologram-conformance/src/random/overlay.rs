//! Random accesses of all types at the same bytes.
//!
//! Compilers for most devices may take accesses of different scalar types for ones that never meet; programs may make them meet.
//! No NaN is stored here, because its bits may differ between devices and would be read as numbers.

use hologram_backends::Ty;

use super::layout::{OUTPUT, OVERLAID, OVERLAID_BYTES, POOL_OUT};
use super::state::State;

/// Registers of the two offsets of a statement.
const PLACES: [&str; 2] = ["r5", "r0"];

impl State {
    /// Stores and loads of any types at one or two places among the bytes that they share.
    pub fn overlay(&mut self) {
        for place in PLACES {
            self.place(place);
        }
        let pool = self.rng.chance(20);
        if pool {
            self.line(format!("mov_imm.u64 r7, {POOL_OUT}"));
        }
        for _ in 0..2 + self.rng.below(4) {
            let (ty, place) = (self.any(), self.rng.pick(&PLACES));
            if self.rng.chance(60) {
                let src = self.storable(ty);
                match pool {
                    true => self.line(format!("pool_store.{ty} {src}, r7, {place}")),
                    false => {
                        let handle = self.handle(false);
                        self.line(format!("stg.{ty} {src}, [{handle} + {place}]"));
                    }
                }
            } else {
                let handle = self.handle(false);
                let d = self.target(ty);
                match pool {
                    true => self.line(format!("pool_load.{ty} {d}, r7, {place}")),
                    false => self.line(format!("ldg.{ty} {d}, [{handle} + {place}]")),
                }
            }
        }
        // Where the place is a constant of the text, compilers know what meets.
        if self.single && self.rng.chance(50) {
            let (ty, to) = (self.any(), self.any());
            let src = self.storable(ty);
            self.line(format!("stg.{ty} {src}, [buf{OUTPUT} + {OVERLAID}]"));
            let d = self.target(to);
            self.line(format!("ldg.{to} {d}, [buf{OUTPUT} + {OVERLAID}]"));
        }
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
