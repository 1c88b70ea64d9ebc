//! Initial registers of lanes, lanes that part and meet again, and many backends at once.

use std::thread;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::{Backend, Dim3, ExecutionParams, LaunchConfig, Register, Ty};

use super::support::{lanes, program, words};

#[test]
fn special_registers_name_the_lane() {
    let mut backend = CpuBackend::new();
    let (grid, block) = (Dim3::new(3, 4, 2), Dim3::new(5, 2, 3));
    let total = 24 * 30;
    let out = backend.allocate_buffer(16 * total).unwrap();
    // With shared memory a strip is a block, without it is not.
    for tail in ["", "\nlds.u8 r9, [buf0 + 0]"] {
        let text = format!(
            "mov_imm.u64 r1, 16
             mul.u64 r2, r255, r1
             mov_imm.u64 r3, 4
             stg.u32 r252, [r4 + r2]
             add.u64 r2, r2, r3
             stg.u32 r253, [r4 + r2]
             add.u64 r2, r2, r3
             stg.u32 r254, [r4 + r2]
             add.u64 r2, r2, r3
             cls_get r5
             cvt.u32.u8 r6, r5
             stg.u32 r6, [r4 + r2]{tail}"
        );
        for class_from_block in [false, true] {
            let launch = LaunchConfig::new(grid, block).with_shared_memory(8);
            let mut params = ExecutionParams::from(launch).with_u64(Register::new(4), out.raw());
            params.class_from_block = class_from_block;
            backend
                .execute_program_with_params(&program(&text), &params)
                .unwrap();
            let found = words(&mut backend, out, u32::from_le_bytes);
            for (lane, found) in found.chunks(4).enumerate() {
                let (x, bx) = ((lane % 5) as u32, (lane / 30 % 3) as u32);
                let class = if class_from_block { bx } else { 0 };
                assert_eq!(found, [x, bx, 5, class], "lane {lane}");
            }
        }
    }
}

#[test]
fn initial_registers_override_special_ones() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(16).unwrap();
    let text = "stg.u64 r255, [r1 + 0]\nstg.i16 r7, [r1 + 8]\nstg.f32 r252, [r1 + 12]";
    let params = lanes(1, 1)
        .with_u64(Register::new(1), out.raw())
        .with_register(Register::new(7), Ty::F64, 1)
        .with_register(Register::new(7), Ty::I16, 0xabcd_1234)
        .with_u64(Register::GLOBAL_LANE, 99)
        .with_register(Register::LANE_X, Ty::F32, u64::from(1.5f32.to_bits()));
    backend
        .execute_program_with_params(&program(text), &params)
        .unwrap();
    let found = words(&mut backend, out, u32::from_le_bytes);
    assert_eq!(found, [99, 0, 0x1234, 1.5f32.to_bits()]);
}

/// Collatz steps by a loop, a call and a predicated branch, each lane on its own way.
const COLLATZ: &str = "
    mov_imm.u64 r1, 1
    mov_imm.u64 r2, 3
    mov_imm.u64 r3, 0
    mov_imm.u32 r9, 1
    mov_imm.u64 r11, 8
    add.u64 r4, r255, r1
    mul.u64 r12, r255, r11
@next:
    set.eq.u64 p0, r4, r1
    bra @end, p0
    add.u64 r3, r3, r1
    and.u64 r5, r4, r1
    set.eq.u64 p1, r5, r1
    bra @odd, p1
    shr.u64 r4, r4, r9
    bra @next
@odd:
    call @triple
    bra @next
@triple:
    mul.u64 r4, r4, r2
    add.u64 r4, r4, r1
    ret
@end:
    stg.u64 r3, [r10 + r12]";

fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        steps += 1;
    }
    steps
}

#[test]
fn lanes_go_their_own_ways() {
    let expected: Vec<u64> = (1..=5000).map(collatz).collect();
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(8 * 5000).unwrap();
    for (grid, block) in [(5, 1000), (5000, 1), (625, 8)] {
        let params = lanes(grid, block).with_u64(Register::new(10), out.raw());
        backend.copy_to_buffer(out, &vec![0xff; 8 * 5000]).unwrap();
        backend
            .execute_program_with_params(&program(COLLATZ), &params)
            .unwrap();
        assert_eq!(words(&mut backend, out, u64::from_le_bytes), expected);
    }
}

#[test]
fn blocks_sum_their_lanes_by_a_tree() {
    let mut backend = CpuBackend::new();
    let text = include_str!("../tree.atlas");
    for block in [1u64, 2, 64, 256, 1024] {
        let out = backend.allocate_buffer(8 * 9).unwrap();
        let mut params = lanes(9, block as u32).with_u64(Register::new(14), out.raw());
        params.launch = params.launch.with_shared_memory(8 * block as usize);
        backend
            .execute_program_with_params(&program(text), &params)
            .unwrap();
        let sums = words(&mut backend, out, u64::from_le_bytes);
        for (i, &sum) in sums.iter().enumerate() {
            let first = i as u64 * block;
            assert_eq!(
                sum,
                (first..first + block).sum::<u64>(),
                "block {i} of {block} lanes"
            );
        }
    }
}

#[test]
fn shared_memory_begins_zeroed_in_every_block() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(8 * 100).unwrap();
    let text =
        "lds.u64 r1, [buf0 + 5]\nmov_imm.u64 r2, 8\nmul.u64 r3, r255, r2\nstg.u64 r1, [r4 + r3]\n\
        mov_imm.u64 r5, 0xffffffffffffffff\nsts.u64 r5, [buf0 + 5]";
    let mut params = lanes(100, 1).with_u64(Register::new(4), out.raw());
    params.launch = params.launch.with_shared_memory(13);
    backend.copy_to_buffer(out, &[1; 800]).unwrap();
    backend
        .execute_program_with_params(&program(text), &params)
        .unwrap();
    assert!(words(&mut backend, out, u64::from_le_bytes)
        .iter()
        .all(|&v| v == 0));
}

#[test]
fn lanes_that_store_to_one_word_leave_one_of_the_values() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(16).unwrap();
    let text = "stg.u64 r255, [r1 + 0]\nstg.u64 r255, [r1 + 5]";
    let params = lanes(400, 256).with_u64(Register::new(1), out.raw());
    backend
        .execute_program_with_params(&program(text), &params)
        .unwrap();
    let mut last = [0; 8];
    backend.copy_from_buffer_at(out, 8, &mut last).unwrap();
    assert_eq!(last[6..], [0, 0]);
}

#[test]
fn sixteen_threads_each_have_a_backend() {
    let expected: Vec<u64> = (1..=2000).map(collatz).collect();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut backend = CpuBackend::new();
                for _ in 0..5 {
                    let out = backend.allocate_buffer(8 * 2000).unwrap();
                    let params = lanes(20, 100).with_u64(Register::new(10), out.raw());
                    let ticket = backend.submit(&program(COLLATZ), &params).unwrap();
                    backend.wait(ticket).unwrap();
                    assert_eq!(words(&mut backend, out, u64::from_le_bytes), expected);
                    backend.free_buffer(out).unwrap();
                }
                assert_eq!(backend.stats().buffers, 0);
            });
        }
    });
}

#[test]
fn one_backend_serves_many_threads_behind_a_lock() {
    let backend = std::sync::Mutex::new(CpuBackend::new());
    thread::scope(|scope| {
        for thread in 0..16u64 {
            let backend = &backend;
            scope.spawn(move || {
                let text = format!("mov_imm.u64 r1, {thread}\nstg.u64 r1, [r2 + 0]");
                for _ in 0..50 {
                    let mut backend = backend.lock().unwrap();
                    let out = backend.allocate_buffer(8).unwrap();
                    let params = lanes(1, 1).with_u64(Register::new(2), out.raw());
                    backend
                        .execute_program_with_params(&program(&text), &params)
                        .unwrap();
                    assert_eq!(words(&mut backend, out, u64::from_le_bytes), [thread]);
                    backend.free_buffer(out).unwrap();
                }
            });
        }
    });
    let stats = backend.lock().unwrap().stats();
    assert_eq!(
        (stats.buffers, stats.programs_prepared, stats.launches),
        (0, 16, 800)
    );
}

#[test]
fn whole_buffer_instructions_run_inside_programs() {
    let mut backend = CpuBackend::new();
    let [a, b] = [0; 2].map(|_| backend.allocate_buffer(4 * 1000).unwrap());
    let text = "
        fill.f32 r1, f32(1.5), 1000
        mov_imm.u32 r3, 2
    @again:
        map2.add.f32 r1, r1, r1, 1000
        loop r3, @again
        map.neg.f32 r2, r1, 1000
        reduce.sum.f32 r2, r2, 1000";
    let params = lanes(1, 1)
        .with_u64(Register::new(1), a.raw())
        .with_u64(Register::new(2), b.raw());
    backend
        .execute_program_with_params(&program(text), &params)
        .unwrap();
    let found = words(&mut backend, b, f32::from_le_bytes);
    assert_eq!(found[..2], [-12_000.0, -12.0]);
}
