//! Faults: of all lanes the one with the smallest number is reported, and the device goes on.

use hologram_backends::{Backend, Fault, FaultKind, Program};

use super::support::{backends, linear, words, Outcome};

/// Text, then lane, pc and kind of the fault that is reported.
type Case = (&'static str, u64, usize, FaultKind);

/// Accesses to a buffer of 400 bytes, a pool of 16, 64 bytes of shared memory, and what is not there.
fn of_memory() -> Vec<Case> {
    let oob = |offset, size| FaultKind::BufferOutOfBounds {
        handle: 1,
        offset,
        size,
        buffer_size: 400,
    };
    vec![
        (
            "mov_imm.u64 r1, 4\nmul.u64 r1, r1, r255\nmov_imm.u64 r2, 1\nldg.u32 r3, [r2 + r1]",
            100,
            3,
            oob(400, 4),
        ),
        ("ldg.u64 r3, [buf1 + 393]", 0, 0, oob(393, 8)),
        (
            "mov_imm.u64 r1, 18446744073709551615\nmov_imm.u64 r2, 1\nldg.u8 r3, [r2 + r1]",
            0,
            2,
            oob(u64::MAX, 1),
        ),
        (
            "stg.u32 r252, [buf7 + 0]",
            0,
            0,
            FaultKind::InvalidBufferHandle { handle: 7 },
        ),
        (
            // The handle, 0 for the boundary pool, comes from memory.
            "ldg.u64 r1, [buf1 + 0]\nldg.u64 r2, [r1 + 8]\nmov_imm.u64 r9, 1179648\nldg.u64 r2, [r2 + r9]",
            0,
            3,
            FaultKind::BufferOutOfBounds {
                handle: 0,
                offset: 1_179_648,
                size: 8,
                buffer_size: 1_179_648,
            },
        ),
        (
            "mov_imm.u64 r1, 1\nldg.u8 r2, [r1 - 3]",
            0,
            1,
            FaultKind::NegativeOffset { offset: -3 },
        ),
        (
            "mov_imm.u64 r1, 60\nlds.u64 r2, [r1 + r1]",
            0,
            1,
            FaultKind::SharedOutOfBounds {
                offset: 60,
                size: 8,
                shared_size: 64,
            },
        ),
        (
            "mov_imm.u64 r1, 1\nmov_imm.u64 r2, 15\npool_load.u16 r3, r1, r2",
            0,
            2,
            FaultKind::PoolOutOfBounds {
                handle: 1,
                offset: 15,
                size: 2,
                pool_size: 16,
            },
        ),
        (
            "mov_imm.u64 r1, 2\npool_store.u64 r1, r1, r1",
            0,
            1,
            FaultKind::InvalidPoolHandle { handle: 2 },
        ),
    ]
}

/// Operands, steps and barriers.
fn of_computing() -> Vec<Case> {
    let divide = "mov_imm.u32 r1, 40\nmov_imm.u32 r2, 0\ndiv.u32 r3, r1, r2";
    // Lanes from 40 on divide.
    let some = "mov_imm.u64 r1, 40\nmov_imm.u64 r2, 0\nset.lt.u64 p0, r255, r1\nbra @end, p0\ndiv.u64 r3, r1, r2\n@end:\nexit";
    vec![
        (divide, 0, 2, FaultKind::DivisionByZero),
        (some, 40, 4, FaultKind::DivisionByZero),
        (
            "mov_imm.u8 r1, 96\nmov_imm.u8 r2, 3\nbound_map r3, r1, r2, r2",
            0,
            2,
            FaultKind::InvalidClassIndex { class: 96 },
        ),
        (
            "mov_imm.u8 r1, 95\nmov_imm.u8 r2, 48\nbound_map r3, r1, r2, r1",
            0,
            2,
            FaultKind::InvalidBoundaryCoordinates { page: 48, byte: 95 },
        ),
        (
            "@x:\nbra @x",
            0,
            0,
            FaultKind::StepBudgetExceeded { budget: 1000 },
        ),
        (
            "set.lt.u32 p0, r252, r253\nbra @end, p0\nbar_sync 0\n@end:\nexit",
            // Block 0 comes to the barrier as a whole; in block 1 the first lane does not.
            65,
            2,
            FaultKind::BarrierDivergence,
        ),
    ]
}

#[test]
fn the_smallest_lane_s_fault_is_reported() -> Outcome {
    let cases = [of_memory(), of_computing()].concat();
    for mut backend in backends()? {
        let handle = backend.allocate_buffer(400)?;
        backend.copy_to_buffer_at(handle, 16, &[255; 384])?;
        backend.allocate_pool(16)?;
        for (text, lane, pc, kind) in &cases {
            let program: Program = text.parse()?;
            let mut params = linear(3, 64).with_step_budget(1000);
            params.launch = params.launch.with_shared_memory(64);
            let expected = Fault {
                lane: *lane,
                pc: *pc,
                instruction: program.instructions()[*pc].to_string(),
                kind: *kind,
            };
            let found = backend.execute_program_with_params(&program, &params);
            assert_eq!(found, Err(expected.into()), "{text}");
        }
        // The device goes on.
        let program: Program = "stg.u32 r254, [buf1 + 0]".parse()?;
        backend.execute_program_with_params(&program, &linear(2, 7))?;
        assert_eq!(words(&mut backend, handle, 1)?, [7]);
        assert_eq!(backend.stats().faults, cases.len() as u64);
    }
    Ok(())
}
