//! Random control flow, and the whole program.

use hologram_backends::{Dim3, ExecutionParams, LaunchConfig, Program, Register, Result, Ty};

use super::layout::{INPUT, MAX_LANES, OUTPUT, STRIDES};
use super::rng::Rng;
use super::state::State;
use super::{Case, Features};

/// Most loops inside each other.
const MAX_DEPTH: usize = 3;

pub fn generate(seed: u64, features: &Features) -> Result<Case> {
    let mut s = State::new(Rng::new(seed), *features);
    let (launch, lanes) = launch(&mut s.rng);
    s.single = lanes == 1;
    s.stride = s.rng.pick(&STRIDES);
    s.left = features.statements / 2 + s.rng.below(features.statements + 1);
    s.faults = s.rng.chance(25);
    let barriers = s.rng.chance(20);
    s.may_exit = !barriers;
    s.routines = if s.rng.chance(15) {
        1 + s.rng.below(3)
    } else {
        0
    };
    if features.fallback && s.single && s.rng.chance(40) {
        // Nothing but whole-buffer instructions.
        for _ in 0..1 + s.rng.below(12) {
            s.whole_buffer();
        }
        return case(seed, s, launch);
    }
    // r2 = r255 * stride, r6 = lane of the block.
    s.line(format!("mov_imm.u64 r4, {}", s.stride));
    s.line("mul.u64 r2, r255, r4");
    let block = launch.block.count().unwrap_or(1);
    if barriers {
        s.line(format!("mov_imm.u64 r4, {block}"));
        s.line("div.u64 r5, r255, r4");
        s.line("mul.u64 r5, r5, r4");
        s.line("sub.u64 r6, r255, r5");
    }
    let shared = if barriers { 8 * block as usize } else { 0 };
    if barriers {
        phases(&mut s, block);
    }
    while s.left > 0 {
        s.node();
    }
    for _ in 0..3 {
        s.store();
    }
    s.line("exit");
    let calls = s.routines;
    for routine in 0..calls {
        subroutine(&mut s, routine, calls);
    }
    case(seed, s, launch.with_shared_memory(shared))
}

/// The case of a finished program.
fn case(seed: u64, mut s: State, launch: LaunchConfig) -> Result<Case> {
    let program: Program = s.lines.join("\n").parse()?;
    let mut params = ExecutionParams::new(launch)
        .with_u64(Register::new(1), OUTPUT)
        .with_u64(Register::new(3), INPUT)
        .with_step_budget(1 << 24);
    if s.rng.chance(4) {
        let steps = 1 + s.rng.below(3 * program.len() + 1) as u64;
        params = params.with_step_budget(steps);
    }
    params.class_from_block = s.rng.chance(30);
    if s.rng.chance(10) {
        // A special register may be given.
        let value = s.rng.value(Ty::U32) % 100;
        params = params.with_register(Register::LANE_X, Ty::U32, value);
    }
    Ok(Case {
        seed,
        program,
        params,
        stride: s.stride,
    })
}

/// A random launch and its number of lanes.
fn launch(rng: &mut Rng) -> (LaunchConfig, usize) {
    let config = match rng.below(10) {
        0 | 1 => LaunchConfig::default(),
        2..=6 => LaunchConfig::new(
            Dim3::linear(1 + rng.below(5) as u32),
            Dim3::linear(1 + rng.below(64) as u32),
        ),
        7 => LaunchConfig::new(Dim3::linear(1), Dim3::linear(MAX_LANES as u32)),
        _ => {
            let mut small = || 1 + rng.below(3) as u32;
            let grid = Dim3::new(small(), small(), small());
            let mut small = || 1 + rng.below(2) as u32;
            LaunchConfig::new(grid, Dim3::new(1 + small(), small(), small()))
        }
    };
    let lanes = config.grid.count().unwrap_or(1) * config.block.count().unwrap_or(1);
    (config, lanes as usize)
}

/// Lanes exchange values through shared memory, in all lanes alike.
fn phases(s: &mut State, block: u64) {
    for _ in 0..1 + s.rng.below(3) {
        let body = s.label();
        let looped = s.rng.chance(40);
        let (live, predicates) = (s.live, s.predicates);
        if looped {
            let count = s.rng.below(4);
            s.line(format!("mov_imm.u32 r15, {count}"));
            s.line(format!("{body}:"));
        }
        for _ in 0..s.rng.below(6) {
            s.node();
        }
        let ty = s.any();
        let src = s.source(ty);
        s.line("mov_imm.u64 r4, 8");
        s.line("mul.u64 r5, r6, r4");
        s.line(format!("sts.{ty} {src}, [r1 + r5]"));
        let skip = s.faults && s.rng.chance(50);
        let label = s.label();
        if skip {
            // One lane or none: if all lanes missed the barrier, they would read what others write.
            let lane = s.rng.below(block as usize + 1);
            s.line(format!("mov_imm.u64 r4, {lane}"));
            s.line("set.eq.u64 p8, r6, r4");
            s.line(format!("bra {label}, p8"));
        }
        s.line("bar_sync 0");
        s.line(format!("{label}:"));
        let shift = s.rng.below(block as usize);
        s.line(format!("mov_imm.u64 r4, {shift}"));
        s.line("add.u64 r5, r6, r4");
        s.line(format!("mov_imm.u64 r4, {block}"));
        s.line("div.u64 r0, r5, r4");
        s.line("mul.u64 r0, r0, r4");
        s.line("sub.u64 r5, r5, r0");
        s.line("mov_imm.u64 r4, 8");
        s.line("mul.u64 r5, r5, r4");
        let d = s.target(ty);
        s.line(format!("lds.{ty} {d}, [r1 + r5]"));
        // Slots are of another type in the next phase.
        s.line("bar_sync 1");
        if looped {
            s.line(format!("loop r15, {body}"));
            (s.live, s.predicates) = (live, predicates);
        }
    }
}

impl State {
    /// A statement or a construct with others inside.
    pub fn node(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left < 4 || self.ends.len() > 6 {
            return self.statement();
        }
        match self.rng.below(100) {
            0..=5 if self.depth < MAX_DEPTH => self.counted_loop(),
            6..=15 => self.branch(),
            16 | 17 if self.depth < MAX_DEPTH => self.two_entries(),
            18..=20 if !self.ends.is_empty() => {
                // Leaves some construct.
                let end = self.rng.below(self.ends.len());
                let (end, p) = (self.ends[end].clone(), self.predicate());
                self.line(format!("bra {end}, {p}"));
            }
            21 if self.may_exit => {
                let (stop, go, p) = (self.label(), self.label(), self.predicate());
                self.line(format!("bra {stop}, {p}"));
                self.line(format!("bra {go}"));
                self.line(format!("{stop}:"));
                self.line("exit");
                self.line(format!("{go}:"));
            }
            22..=25 if self.routines > 0 => {
                let routine = self.rng.below(self.routines);
                self.line(format!("call @f{routine}"));
            }
            _ => self.statement(),
        }
    }

    /// Some statements inside of a construct.
    fn inside(&mut self) {
        for _ in 0..1 + self.rng.below(6) {
            self.node();
        }
    }

    fn counted_loop(&mut self) {
        let (body, end) = (self.label(), self.label());
        let counter = 9 + self.depth;
        if self.rng.chance(50) {
            let count = self.rng.below(5);
            self.line(format!("mov_imm.u32 r{counter}, {count}"));
        } else {
            // A different count in each lane.
            let value = self.source(Ty::U32);
            self.line("mov_imm.u32 r0, 3");
            self.line(format!("and.u32 r{counter}, {value}, r0"));
        }
        let (live, predicates) = (self.live, self.predicates);
        self.line(format!("{body}:"));
        self.ends.push(end.clone());
        self.depth += 1;
        self.inside();
        self.depth -= 1;
        self.ends.pop();
        self.line(format!("loop r{counter}, {body}"));
        self.line(format!("{end}:"));
        (self.live, self.predicates) = (live, predicates);
    }

    fn branch(&mut self) {
        let (other, end, p) = (self.label(), self.label(), self.predicate());
        let (live, predicates) = (self.live, self.predicates);
        let two = self.rng.chance(50);
        self.line(format!("bra {}, {p}", if two { &other } else { &end }));
        self.ends.push(end.clone());
        self.inside();
        if two {
            self.line(format!("bra {end}"));
            self.line(format!("{other}:"));
            (self.live, self.predicates) = (live, predicates);
            self.inside();
        }
        self.ends.pop();
        self.line(format!("{end}:"));
        (self.live, self.predicates) = (live, predicates);
    }

    /// A loop that is entered at two places.
    fn two_entries(&mut self) {
        let (a, b, end) = (self.label(), self.label(), self.label());
        let counter = 9 + self.depth;
        let (p, count) = (self.predicate(), self.rng.below(4));
        self.line(format!("mov_imm.u32 r{counter}, {count}"));
        let (live, predicates) = (self.live, self.predicates);
        self.line(format!("bra {b}, {p}"));
        self.ends.push(end.clone());
        self.depth += 1;
        for label in [&a, &b] {
            self.line(format!("{label}:"));
            (self.live, self.predicates) = (live, predicates);
            self.inside();
        }
        self.depth -= 1;
        self.ends.pop();
        self.line(format!("loop r{counter}, {a}"));
        self.line(format!("{end}:"));
        (self.live, self.predicates) = (live, predicates);
    }
}

/// A subroutine with registers of its own; it may call later ones.
fn subroutine(s: &mut State, number: usize, count: usize) {
    let end = s.label();
    s.line(format!("@f{number}:"));
    for i in 0..4 {
        let (int, float) = (s.rng.value(Ty::U32), s.rng.value(Ty::F32));
        s.line(format!("mov_imm.u32 r{}, {int:#x}", 130 + i));
        s.line(format!("mov_imm.f32 r{}, {float:#x}", 134 + i));
    }
    for _ in 0..2 + s.rng.below(8) {
        let [d, a, b] = [(); 3].map(|()| 130 + s.rng.below(4));
        let [fd, fa, fb] = [(); 3].map(|()| 134 + s.rng.below(4));
        match s.rng.below(6) {
            0 => s.line(format!("add.u32 r{d}, r{a}, r{b}")),
            1 => s.line(format!("xor.u32 r{d}, r{a}, r{b}")),
            2 => s.line(format!("fma.f32 r{fd}, r{fa}, r{fb}, r{fd}")),
            3 => s.line(format!("cvt.f32.u32 r{fd}, r{a}")),
            4 => {
                s.line(format!("set.ltu.u32 p9, r{a}, r{b}"));
                s.line(format!("bra {end}, p9"));
            }
            _ if number + 1 < count => {
                let callee = number + 1 + s.rng.below(count - number - 1);
                s.line(format!("call @f{callee}"));
            }
            _ => s.line(format!("mov.u32 r{d}, r{a}")),
        }
    }
    for (ty, register) in [(Ty::U32, 130), (Ty::F32, 134)] {
        let at = super::layout::output(ty) + 4 * s.rng.below(super::layout::SLOTS);
        s.line(format!("mov_imm.u64 r138, {at}"));
        s.line("add.u64 r139, r2, r138");
        s.line(format!("stg.{ty} r{register}, [r1 + r139]"));
    }
    s.line(format!("{end}:"));
    s.line("ret");
}
