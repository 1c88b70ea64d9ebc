//! Every kind of fault, with its lane, pc and numbers.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::{Backend, FaultKind as Kind};

use super::support::{fault, lanes};

/// Runs one lane (with 64 bytes of shared memory and buffer 1 of 16 bytes) into a fault at `pc`.
fn faults(text: &str, pc: usize, kind: Kind) {
    let mut backend = CpuBackend::new();
    assert_eq!(backend.allocate_buffer(16).unwrap().raw(), 1);
    assert_eq!(backend.allocate_pool(16).unwrap().raw(), 1);
    let mut params = lanes(1, 1);
    params.launch = params.launch.with_shared_memory(64);
    let fault = fault(&mut backend, text, &params);
    assert_eq!((fault.lane, fault.pc, fault.kind), (0, pc, kind), "{text}");
}

const U32: &str = "mov_imm.u32 r9, 1\n";

fn u64s(values: [u64; 2]) -> String {
    format!(
        "{U32}mov_imm.u64 r1, {}\nmov_imm.u64 r2, {}\n",
        values[0], values[1]
    )
}

#[test]
fn buffers_have_bounds() {
    let bounds = |handle, offset, size, buffer_size| Kind::BufferOutOfBounds {
        handle,
        offset,
        size,
        buffer_size,
    };
    faults(
        &format!("{U32}stg.u32 r9, [buf1 + 13]"),
        1,
        bounds(1, 13, 4, 16),
    );
    faults("ldg.u64 r9, [buf1 + 9]", 0, bounds(1, 9, 8, 16));
    faults("ldg.u8 r9, [buf1 + 16]", 0, bounds(1, 16, 1, 16));
    let far = u64::MAX - 1;
    faults(
        &format!("ldg.f32 r9, [buf1 + {far}]"),
        0,
        bounds(1, far, 4, 16),
    );
    faults(
        &format!("{}ldg.u16 r3, [r1 + r2]", u64s([1, far])),
        3,
        bounds(1, far, 2, 16),
    );
    faults(
        &format!("{}ldg.u16 r3, [r1 + 15]", u64s([1, 0])),
        3,
        bounds(1, 15, 2, 16),
    );
    faults(
        "ldg.u8 r9, [buf0 + 1179648]",
        0,
        bounds(0, 1_179_648, 1, 1_179_648),
    );
    let class = u64::MAX - 95;
    faults(
        &format!("ldg.u32 r9, [buf{class} + 12285]"),
        0,
        bounds(class, 12_285, 4, 12_288),
    );
    // An empty buffer.
    let mut backend = CpuBackend::new();
    let empty = backend.allocate_buffer(0).unwrap();
    let fault = fault(&mut backend, "ldg.u8 r9, [buf1 + 0]", &lanes(1, 1));
    assert_eq!(fault.kind, bounds(empty.raw(), 0, 1, 0));
}

#[test]
fn buffers_exist() {
    for handle in [2, 77, 1 << 32 | 1, u64::MAX - 96] {
        let kind = Kind::InvalidBufferHandle { handle };
        faults(&format!("ldg.u8 r9, [buf{handle} + 0]"), 0, kind);
        faults(
            &format!("{}stg.u32 r9, [r1 + r2]", u64s([handle, 0])),
            3,
            kind,
        );
        faults(&format!("{}fill.u8 r1, 0, 1", u64s([handle, 0])), 3, kind);
    }
}

#[test]
fn offsets_are_not_negative() {
    let kind = Kind::NegativeOffset { offset: -8 };
    faults(&format!("{}ldg.u32 r3, [r1 - 8]", u64s([1, 0])), 3, kind);
    // Before the handle is looked at.
    faults(&format!("{}ldg.u32 r3, [r1 - 8]", u64s([9, 0])), 3, kind);
    faults("ldg.u8 r3, [buf1 + 0]\nlds.u32 r3, [r0 - 8]", 1, kind);
}

#[test]
fn shared_memory_has_bounds() {
    let bounds = |offset, size| Kind::SharedOutOfBounds {
        offset,
        size,
        shared_size: 64,
    };
    faults("lds.u32 r9, [buf0 + 61]", 0, bounds(61, 4));
    faults(
        &format!("{}sts.u32 r9, [r0 + r2]", u64s([0, u64::MAX])),
        3,
        bounds(u64::MAX, 4),
    );
}

#[test]
fn pools_exist_and_have_bounds() {
    let access = |pool, offset| format!("{}pool_load.u32 r3, r1, r2", u64s([pool, offset]));
    let bounds = |offset| Kind::PoolOutOfBounds {
        handle: 1,
        offset,
        size: 4,
        pool_size: 16,
    };
    faults(&access(1, 13), 3, bounds(13));
    faults(&access(1, u64::MAX), 3, bounds(u64::MAX));
    faults(&access(0, 0), 3, Kind::InvalidPoolHandle { handle: 0 });
    faults(&access(2, 0), 3, Kind::InvalidPoolHandle { handle: 2 });
    let store = format!("{}pool_store.u32 r9, r1, r2", u64s([2, 0]));
    faults(&store, 3, Kind::InvalidPoolHandle { handle: 2 });
    let twice = "mov_imm.u64 r1, 1\npool_free r1\npool_free r1";
    faults(twice, 2, Kind::InvalidPoolHandle { handle: 1 });
    let after = "pool_alloc r1, 8\npool_free r1\nmov_imm.u64 r2, 0\npool_load.u8 r3, r1, r2";
    faults(after, 3, Kind::InvalidPoolHandle { handle: 2 });
    let huge = Kind::PoolMemoryExhausted {
        requested: u64::MAX,
    };
    faults(&format!("pool_alloc r1, {}", u64::MAX), 0, huge);
    let large = Kind::PoolMemoryExhausted {
        requested: 600 << 20,
    };
    let size = 600 << 20;
    faults(
        &format!("pool_alloc r1, {size}\npool_alloc r2, {size}"),
        1,
        large,
    );
}

#[test]
fn integers_are_not_divided_by_zero() {
    for ty in ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"] {
        let text = format!("mov_imm.{ty} r1, 7\nmov_imm.{ty} r2, 0\ndiv.{ty} r3, r1, r2");
        faults(&text, 2, Kind::DivisionByZero);
    }
}

#[test]
fn the_call_stack_has_both_ends() {
    faults("phase_adv 1\nret", 1, Kind::CallStackUnderflow);
    // Recursion: the 257th return address does not fit.
    faults("@f:\ncall @f", 0, Kind::CallStackOverflow);
    let mut backend = CpuBackend::new();
    // Lane i calls i + 1 times.
    let text =
        "cvt.u32.u64 r1, r255\n@f:\nmov_imm.u32 r2, 0\nset.eq.u32 p0, r1, r2\nbra @end, p0\n\
        mov_imm.u32 r3, 1\nsub.u32 r1, r1, r3\ncall @f\nexit\n@end: exit";
    let fault = fault(&mut backend, text, &lanes(3, 100));
    assert_eq!(
        (fault.lane, fault.pc, fault.kind),
        (257, 6, Kind::CallStackOverflow)
    );
}

#[test]
fn classes_and_pages_exist() {
    let place = |class, page| {
        format!("mov_imm.u8 r1, {class}\nmov_imm.u8 r2, {page}\nbound_map r3, r1, r2, r2")
    };
    faults(&place(96, 0), 2, Kind::InvalidClassIndex { class: 96 });
    faults(&place(255, 255), 2, Kind::InvalidClassIndex { class: 255 });
    let page = Kind::InvalidBoundaryCoordinates { page: 48, byte: 48 };
    faults(&place(95, 48), 2, page);
    let sum = "mov_imm.u8 r1, 96\nmov_imm.f64 r2, 0\nres_accum r1, r2";
    faults(sum, 2, Kind::InvalidClassIndex { class: 96 });
}

#[test]
fn all_lanes_reach_a_barrier() {
    let mut backend = CpuBackend::new();
    // Lanes 3 and 5 leave before the barrier: the smallest that waits reports.
    let leave = "mov_imm.u32 r1, 1\nand.u32 r2, r252, r1\nset.ne.u32 p0, r2, r1\nbra @end, p0\nbar_sync 0\n@end: exit";
    let found = fault(&mut backend, leave, &lanes(2, 8));
    assert_eq!(
        (found.lane, found.pc, found.kind),
        (1, 4, Kind::BarrierDivergence)
    );
    // Two barriers are not one.
    let apart = "mov_imm.u32 r1, 4\nset.lt.u32 p0, r252, r1\nbra @other, p0\nbar_sync 0\nexit\n@other: bar_sync 0";
    let found = fault(&mut backend, apart, &lanes(1, 8));
    assert_eq!(
        (found.lane, found.pc, found.kind),
        (0, 5, Kind::BarrierDivergence)
    );
    // A fault in the same interval comes first, one in a later interval does not.
    let late =
        "mov_imm.u32 r1, 0\nmov_imm.u32 r2, 6\nset.eq.u32 p0, r252, r2\nbra @bad, p0\nbar_sync 0\n\
        div.u32 r3, r1, r1\nexit\n@bad: div.u32 r3, r2, r1";
    let found = fault(&mut backend, late, &lanes(1, 8));
    assert_eq!(
        (found.lane, found.pc, found.kind),
        (6, 7, Kind::DivisionByZero)
    );
}

#[test]
fn an_endless_barrier_loop_ends_by_budget() {
    let mut backend = CpuBackend::new();
    let params = lanes(4, 33).with_step_budget(5001);
    let found = fault(&mut backend, "@top: bar_sync 1\nbra @top", &params);
    assert_eq!((found.lane, found.pc), (0, 1));
    assert_eq!(found.kind, Kind::StepBudgetExceeded { budget: 5001 });
}

#[test]
fn a_lane_within_its_budget_does_not_pay_for_others() {
    let mut backend = CpuBackend::new();
    // Lane i takes 2 i + 4 steps.
    let text = "cvt.u32.u64 r1, r255\n@top: phase_adv 1\nloop r1, @top\nexit";
    let params = lanes(2, 300).with_step_budget(1000);
    let found = fault(&mut backend, text, &params);
    assert_eq!((found.lane, found.pc), (499, 2));
    assert_eq!(found.kind, Kind::StepBudgetExceeded { budget: 1000 });
    let none = fault(&mut backend, text, &lanes(1, 1).with_step_budget(0));
    assert_eq!((none.lane, none.pc), (0, 0));
}

#[test]
fn whole_buffer_instructions_check_their_operands() {
    let bounds = Kind::BufferOutOfBounds {
        handle: 1,
        offset: 0,
        size: 20,
        buffer_size: 16,
    };
    faults(&format!("{}fill.u32 r1, 7, 5", u64s([1, 0])), 3, bounds);
    let divide = format!("{}map_scalar.div.i32 r1, r1, 0, 4", u64s([1, 0]));
    faults(&divide, 3, Kind::DivisionByZero);
}
