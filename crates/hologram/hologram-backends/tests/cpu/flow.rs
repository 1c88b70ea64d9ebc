//! Branches, loops, calls, barriers, budgets, and whose fault is reported.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::{Backend, FaultKind, Register};

use super::support::{buffer, fault, lanes, program, words};

/// c[i] = a[i] + b[i] for i < n: r1, r2, r3 the buffers, r4 = n.
const ADD: &str = "
    set.ge.u64 p0, r255, r4
    bra @end, p0
    mov_imm.u32 r5, 2
    shl.u64 r6, r255, r5
    ldg.f32 r10, [r1 + r6]
    ldg.f32 r11, [r2 + r6]
    add.f32 r12, r10, r11
    stg.f32 r12, [r3 + r6]
@end:
    exit";

#[test]
fn adds_vectors_of_any_length() {
    let mut backend = CpuBackend::new();
    for n in [1usize, 7, 255, 256, 257, 4097, 100_000] {
        let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
        let [a_h, b_h] = [&a, &b].map(|v| buffer(&mut backend, v, |x| x.to_le_bytes()));
        let c_h = backend.allocate_buffer(4 * n).unwrap();
        for block in [1, 31, 256] {
            let params = lanes((n as u32).div_ceil(block), block)
                .with_u64(Register::new(1), a_h.raw())
                .with_u64(Register::new(2), b_h.raw())
                .with_u64(Register::new(3), c_h.raw())
                .with_u64(Register::new(4), n as u64);
            backend.copy_to_buffer(c_h, &vec![0; 4 * n]).unwrap();
            backend
                .execute_program_with_params(&program(ADD), &params)
                .unwrap();
            let c = words(&mut backend, c_h, f32::from_le_bytes);
            assert!(c.iter().enumerate().all(|(i, &c)| c == a[i] + b[i]));
        }
    }
    assert_eq!(backend.stats().programs_prepared, 1);
}

#[test]
fn loops_run_their_body_once_more_than_the_count() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(8 * 300).unwrap();
    // Each lane has its own count.
    let text = format!(
        "cvt.u32.u64 r1, r255
         mov_imm.u64 r2, 0
         mov_imm.u64 r3, 1
     @body:
         add.u64 r2, r2, r3
         loop r1, @body
         mov_imm.u64 r4, {}
         mov_imm.u32 r5, 3
         shl.u64 r6, r255, r5
         stg.u64 r2, [r4 + r6]",
        out.raw()
    );
    for (grid, block) in [(1, 300), (300, 1), (3, 100)] {
        backend
            .execute_program_with_params(&program(&text), &lanes(grid, block))
            .unwrap();
        let sums = words(&mut backend, out, u64::from_le_bytes);
        assert!(sums.iter().enumerate().all(|(i, &s)| s == i as u64 + 1));
    }
}

#[test]
fn a_jump_to_itself_is_a_loop() {
    let mut backend = CpuBackend::new();
    let params = lanes(1, 4).with_step_budget(1000);
    let fault = fault(&mut backend, "phase_adv 1\n@here: bra @here", &params);
    assert_eq!((fault.lane, fault.pc), (0, 1));
    assert_eq!(fault.kind, FaultKind::StepBudgetExceeded { budget: 1000 });
    assert_eq!(fault.instruction, "bra @here");
}

#[test]
fn the_budget_is_the_number_of_instructions() {
    let mut backend = CpuBackend::new();
    let text = "phase_adv 1\nphase_adv 1\nphase_adv 1";
    let exact = lanes(1, 1).with_step_budget(3);
    backend
        .execute_program_with_params(&program(text), &exact)
        .unwrap();
    let fault = fault(&mut backend, text, &lanes(1, 1).with_step_budget(2));
    assert_eq!(fault.pc, 2);
    assert_eq!(fault.kind, FaultKind::StepBudgetExceeded { budget: 2 });
}

#[test]
fn barriers_make_shared_memory_visible() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(8 * 128).unwrap();
    // Lane i of a block reads what lane 63 - i wrote.
    let text = format!(
        "cvt.u64.u32 r1, r252
         mov_imm.u32 r2, 3
         shl.u64 r3, r1, r2
         sts.u64 r255, [r3 + r3]
         bar_sync 0
         mov_imm.u64 r4, 504
         sub.u64 r5, r4, r3
         lds.u64 r6, [r3 + r5]
         mov_imm.u64 r7, {}
         shl.u64 r8, r255, r2
         stg.u64 r6, [r7 + r8]",
        out.raw()
    );
    let mut params = lanes(2, 64);
    params.launch = params.launch.with_shared_memory(512);
    backend
        .execute_program_with_params(&program(&text), &params)
        .unwrap();
    let read = words(&mut backend, out, u64::from_le_bytes);
    for (i, &v) in read.iter().enumerate() {
        assert_eq!(v as usize, i / 64 * 64 + 63 - i % 64);
    }
}

#[test]
fn calls_nest_and_return() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(8).unwrap();
    let text = format!(
        "mov_imm.u64 r1, 1
         call @twice
         mov_imm.u64 r2, {}
         mov_imm.u64 r3, 0
         stg.u64 r1, [r2 + r3]
         exit
     @twice:
         call @double
         call @double
         ret
     @double:
         add.u64 r1, r1, r1
         ret",
        out.raw()
    );
    backend
        .execute_program_with_params(&program(&text), &lanes(1, 1))
        .unwrap();
    assert_eq!(words(&mut backend, out, u64::from_le_bytes), [4]);
}

#[test]
fn the_smallest_lane_reports_its_fault() {
    let mut backend = CpuBackend::new();
    // Lane 700 faults late, the lanes beyond fault early.
    let text = "
        mov_imm.u64 r1, 700
        mov_imm.u32 r2, 5
        mov_imm.u32 r3, 0
        set.gt.u64 p0, r255, r1
        bra @bad, p0
        set.lt.u64 p1, r255, r1
        bra @good, p1
        mov_imm.u32 r4, 2000
    @wait:
        loop r4, @wait
    @bad:
        div.u32 r5, r2, r3
    @good:
        exit";
    for (grid, block) in [(1, 1024), (1024, 1), (32, 32), (2000, 7)] {
        let fault = fault(&mut backend, text, &lanes(grid, block));
        assert_eq!((fault.lane, fault.pc), (700, 9));
        assert_eq!(fault.kind, FaultKind::DivisionByZero);
        assert_eq!(fault.instruction, "div.u32 r5, r2, r3");
    }
}
