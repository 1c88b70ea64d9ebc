//! Random statements without jumps.

use hologram_backends::Ty;

use super::layout::{
    class_type, input, loose, output, ELEMENTS, HANDLES, INPUT, LOOSE, OUTPUT, OUTPUT_BYTES,
    POOL_IN, POOL_OUT, SLOTS,
};
use super::state::{State, OF_TYPE};

impl State {
    /// One statement.
    pub fn statement(&mut self) {
        if self.faults && self.rng.chance(3) {
            return self.fault();
        }
        if self.features.fallback && self.rng.chance(9) {
            return if self.single && self.rng.chance(70) {
                self.whole_buffer();
            } else {
                self.own_pool();
            };
        }
        match self.rng.below(100) {
            0..=24 => self.arithmetic(),
            25..=36 => self.logic(),
            37..=46 => self.convert(),
            47..=52 => self.move_or_select(),
            53..=57 => self.fold(),
            58..=67 => self.load(),
            68..=83 => self.store(),
            84..=89 => self.atlas(),
            90..=93 => self.transcendental(),
            94..=97 => self.overlay(),
            98 => self.retyped(),
            _ => {
                let scope = self.rng.pick(&["thread", "block", "device", "system"]);
                self.line(format!("mem_fence.{scope}"));
            }
        }
    }

    fn arithmetic(&mut self) {
        let choice = self.rng.below(12);
        match choice {
            0..=6 => {
                let ty = self.computable();
                let op = self
                    .rng
                    .pick(&["add", "sub", "mul", "div", "min", "max", "mul"]);
                let (a, mut b) = (self.source(ty), self.source(ty));
                if op == "div" && ty.is_int() {
                    // Not 0, but for programs that may fault.
                    if !(self.faults && self.rng.chance(10)) {
                        self.line(format!("mov_imm.{ty} r120, 1"));
                        self.line(format!("or.{ty} r121, {b}, r120"));
                        b = "r121".into();
                    }
                }
                let d = self.target(ty);
                self.line(format!("{op}.{ty} {d}, {a}, {b}"));
            }
            7 | 8 => {
                let op = self.rng.pick(&["mad", "fma"]);
                let ty = if op == "fma" {
                    self.float()
                } else {
                    self.computable()
                };
                let (a, b, c) = (self.source(ty), self.source(ty), self.source(ty));
                let d = self.target(ty);
                self.line(format!("{op}.{ty} {d}, {a}, {b}, {c}"));
            }
            9 | 10 => {
                let (op, ty) = (self.rng.pick(&["abs", "neg"]), self.signed());
                self.unary(op, ty);
            }
            _ => {
                let (op, ty) = (self.rng.pick(&["sqrt", "rsqrt"]), self.float());
                self.unary(op, ty);
            }
        }
    }

    fn unary(&mut self, op: &str, ty: Ty) {
        let a = self.source(ty);
        let d = self.target(ty);
        self.line(format!("{op}.{ty} {d}, {a}"));
    }

    fn logic(&mut self) {
        let ty = self.int();
        match self.rng.below(4) {
            0 => {
                let op = self.rng.pick(&["and", "or", "xor"]);
                let (a, b) = (self.source(ty), self.source(ty));
                let d = self.target(ty);
                self.line(format!("{op}.{ty} {d}, {a}, {b}"));
            }
            1 => self.unary("not", ty),
            2 => {
                let op = self.rng.pick(&["shl", "shr"]);
                let (a, n) = (self.source(ty), self.source(Ty::U32));
                let d = self.target(ty);
                self.line(format!("{op}.{ty} {d}, {a}, {n}"));
            }
            _ => {
                let (ty, i) = (self.computable(), self.rng.below(8));
                self.compare(ty, i);
            }
        }
    }

    fn convert(&mut self) {
        let (from, to) = (self.any(), self.any());
        let a = self.source(from);
        let d = self.target(to);
        self.line(format!("cvt.{to}.{from} {d}, {a}"));
    }

    fn move_or_select(&mut self) {
        let ty = self.any();
        match self.rng.below(3) {
            0 => {
                let i = self.rng.below(OF_TYPE);
                self.initialise(ty, i);
            }
            1 => self.unary("mov", ty),
            _ => {
                let p = self.predicate();
                let (a, b) = (self.source(ty), self.source(ty));
                let d = self.target(ty);
                self.line(format!("sel.{ty} {d}, {p}, {a}, {b}"));
            }
        }
    }

    fn fold(&mut self) {
        let ty = self.one_of(&[Ty::I32, Ty::I64, Ty::U32, Ty::U64, Ty::F32, Ty::F64]);
        let op = self
            .rng
            .pick(&["reduce_add", "reduce_min", "reduce_max", "reduce_mul"]);
        let count = self.rng.below(OF_TYPE + 1);
        let row = self.row(ty, count);
        let d = self.target(ty);
        self.line(format!("{op}.{ty} {d}, {row}, {count}"));
    }

    /// Puts a handle into a register: from the launch, a constant, or memory.
    pub fn handle(&mut self, input: bool) -> &'static str {
        let (register, raw) = if input { ("r3", INPUT) } else { ("r1", OUTPUT) };
        match self.rng.below(4) {
            0 => {
                self.line(format!("mov_imm.u64 r8, {raw}"));
                "r8"
            }
            1 => {
                let at = HANDLES + 8 * usize::from(!input);
                self.line(format!("ldg.u64 r8, [buf{INPUT} + {at}]"));
                "r8"
            }
            _ => register,
        }
    }

    fn load(&mut self) {
        let ty = self.any();
        let at = input(ty) + ty.size() * self.rng.below(ELEMENTS);
        match self.rng.below(7) {
            0 => {
                let d = self.target(ty);
                self.line(format!("ldg.{ty} {d}, [buf{INPUT} + {at}]"));
            }
            1 => {
                let handle = self.handle(true);
                let d = self.target(ty);
                self.line(format!("ldg.{ty} {d}, [{handle} + {at}]"));
            }
            2 => self.load_by_value(ty),
            3 => {
                let (class, page) = (self.rng.below(96) as u8, self.rng.below(48));
                let ty = class_type(class);
                if ty == Ty::F64 && !self.features.doubles {
                    return;
                }
                let byte = ty.size() * self.rng.below(256 / ty.size());
                let d = self.target(ty);
                match self.rng.below(3) {
                    0 => self.line(format!("ldg.{ty} {d}, [phi {class}:{page}:{byte}]")),
                    1 => {
                        let raw = u64::MAX - 95 + u64::from(class);
                        let at = 256 * page + byte;
                        self.line(format!("ldg.{ty} {d}, [buf{raw} + {at}]"));
                    }
                    _ => {
                        self.line(format!("ldg.u64 r8, [r3 + {}]", HANDLES + 16));
                        let at = 12_288 * usize::from(class) + 256 * page + byte;
                        self.line(format!("mov_imm.u64 r4, {at}"));
                        self.line(format!("ldg.{ty} {d}, [r8 + r4]"));
                    }
                }
            }
            4 => {
                self.line(format!("mov_imm.u64 r7, {POOL_IN}"));
                self.line(format!("mov_imm.u64 r4, {at}"));
                let d = self.target(ty);
                self.line(format!("pool_load.{ty} {d}, r7, r4"));
            }
            _ => {
                // What the lane stored before, or 0.
                let slot = self.rng.below(SLOTS);
                self.own(output(ty) + ty.size() * slot);
                let (handle, d) = (self.handle(false), self.target(ty));
                self.line(format!("ldg.{ty} {d}, [{handle} + r5]"));
            }
        }
    }

    /// Loads the element that a computed value names.
    fn load_by_value(&mut self, ty: Ty) {
        let index = self.source(Ty::U32);
        let handle = self.handle(true);
        self.line(format!("cvt.u64.u32 r4, {index}"));
        self.line(format!("mov_imm.u64 r5, {}", ELEMENTS - 1));
        self.line("and.u64 r4, r4, r5");
        self.line(format!("mov_imm.u64 r5, {}", ty.size()));
        self.line("mul.u64 r4, r4, r5");
        self.line(format!("mov_imm.u64 r5, {}", input(ty)));
        self.line("add.u64 r4, r4, r5");
        let d = self.target(ty);
        self.line(format!("ldg.{ty} {d}, [{handle} + r4]"));
    }

    /// r5 = byte `at` of the lane's own.
    pub fn own(&mut self, at: usize) {
        self.line(format!("mov_imm.u64 r4, {at}"));
        self.line("add.u64 r5, r2, r4");
    }

    pub fn store(&mut self) {
        let ty = self.any();
        let src = self.source(ty);
        let at = output(ty) + ty.size() * self.rng.below(SLOTS);
        if self.single && self.rng.chance(50) {
            match self.rng.below(2) {
                0 => self.line(format!("stg.{ty} {src}, [buf{OUTPUT} + {at}]")),
                _ => {
                    let handle = self.handle(false);
                    self.line(format!("stg.{ty} {src}, [{handle} + {at}]"));
                }
            }
            return;
        }
        self.own(at);
        if self.rng.chance(15) {
            self.line(format!("mov_imm.u64 r7, {POOL_OUT}"));
            self.line(format!("pool_store.{ty} {src}, r7, r5"));
        } else {
            let handle = self.handle(false);
            self.line(format!("stg.{ty} {src}, [{handle} + r5]"));
        }
    }

    fn transcendental(&mut self) {
        const OPS: [&str; 10] = [
            "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "sigmoid", "pow",
        ];
        let (op, ty) = (self.rng.pick(&OPS), self.float());
        let d = "r122";
        if op == "pow" {
            let (a, b) = (self.source(ty), self.source(ty));
            self.line(format!("pow.{ty} {d}, {a}, {b}"));
        } else {
            let a = self.source(ty);
            self.line(format!("{op}.{ty} {d}, {a}"));
        }
        let slot = self.rng.below(LOOSE);
        self.own(loose(ty) + ty.size() * slot);
        self.line(format!("stg.{ty} {d}, [r1 + r5]"));
    }

    fn atlas(&mut self) {
        let (u8s, u32s) = (Ty::U8, Ty::U32);
        match self.rng.below(9) {
            0 => {
                let d = self.target(u8s);
                self.line(format!("cls_get {d}"));
            }
            1 => self.unary_of("mirror", u8s, u8s),
            2 => {
                let i = self.rng.below(8);
                self.line(format!("unity_test p{i}, 0.25"));
                self.predicates |= 1 << i;
            }
            3 => self.unary_of("nbr_count", u8s, u32s),
            4 => {
                let (a, index) = (self.source(u8s), self.rng.below(8));
                let d = self.target(u8s);
                self.line(format!("nbr_get {d}, {a}, {index}"));
            }
            5 if self.features.doubles => {
                let (class, value) = (self.masked(63, "r123"), self.source(Ty::F64));
                self.line(format!("res_accum {class}, {value}"));
            }
            6 => {
                let d = self.target(u32s);
                self.line(format!("phase_get {d}"));
            }
            7 => {
                let delta = self.rng.below(65_536);
                self.line(format!("phase_adv {delta}"));
            }
            _ => {
                let class = self.masked(63, "r123");
                let page = self.masked(31, "r124");
                let byte = self.source(u8s);
                let d = self.target(Ty::U64);
                self.line(format!("bound_map {d}, {class}, {page}, {byte}"));
            }
        }
    }

    fn unary_of(&mut self, op: &str, from: Ty, to: Ty) {
        let a = self.source(from);
        let d = self.target(to);
        self.line(format!("{op} {d}, {a}"));
    }

    /// A `u8` of at most `mask`; any in programs that may fault.
    fn masked(&mut self, mask: u8, register: &'static str) -> String {
        let a = self.source(Ty::U8);
        if self.faults && self.rng.chance(5) {
            return a;
        }
        self.line(format!("mov_imm.u8 r120, {mask}"));
        self.line(format!("and.u8 {register}, {a}, r120"));
        register.into()
    }

    /// A register that holds one type after another.
    fn retyped(&mut self) {
        let register = 125 + self.rng.below(3);
        for _ in 0..3 {
            let (ty, to) = (self.any(), self.any());
            let value = self.rng.value(ty);
            self.line(format!("mov_imm.{ty} r{register}, {value:#x}"));
            let d = self.target(to);
            self.line(format!("cvt.{to}.{ty} {d}, r{register}"));
        }
    }

    /// Something that faults, perhaps in some lanes only.
    fn fault(&mut self) {
        let skip = self.label();
        if self.rng.chance(70) {
            let p = self.predicate();
            self.line(format!("bra {skip}, {p}"));
        }
        let ty = self.any();
        let (live, predicates) = (self.live, self.predicates);
        let src = self.source(ty);
        match self.rng.below(8) {
            0 => self.line(format!("stg.{ty} {src}, [buf9 + 0]")),
            1 => {
                let at = OUTPUT_BYTES - ty.size() + 1 + self.rng.below(20);
                self.line(format!("stg.{ty} {src}, [buf{OUTPUT} + {at}]"));
            }
            2 => self.line(format!("ldg.{ty} r120, [r3 - 5]")),
            3 => {
                self.line("mov_imm.u64 r4, 5");
                self.line(format!("pool_store.{ty} {src}, r4, r4"));
            }
            4 => {
                let at = u64::MAX - self.rng.below(12) as u64;
                self.line(format!("mov_imm.u64 r4, {at}"));
                self.line(format!("mov_imm.u64 r7, {POOL_OUT}"));
                self.line(format!("pool_load.{ty} r120, r7, r4"));
            }
            5 => {
                self.line("mov_imm.u64 r4, 40000");
                self.line(format!("lds.{ty} r120, [r4 + r4]"));
            }
            6 => {
                let bad = self.source(Ty::U64);
                self.line(format!("ldg.{ty} r120, [{bad} + 7]"));
            }
            _ => {
                let ty = self.int();
                let a = self.source(ty);
                self.line(format!("mov_imm.{ty} r120, 0"));
                self.line(format!("div.{ty} r121, {a}, r120"));
            }
        }
        (self.live, self.predicates) = (live, predicates);
        self.line(format!("{skip}:"));
    }
}
