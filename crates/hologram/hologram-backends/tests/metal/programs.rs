//! Results and ends of programs.

use hologram_backends::{
    Backend, BackendError, Dim3, ExecutionParams, LaunchConfig, Program, Register, Ticket,
};
use openvm_metal_common::Execution;

use super::support::{backends, linear, words, Outcome};

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

#[test]
fn lanes_add_vectors() -> Outcome {
    let program: Program = "mov_imm.u64 r10, 4\nset.geu.u64 p0, r255, r9\nbra @end, p0\nmul.u64 r11, r255, r10\n\
        ldg.u32 r0, [r1 + r11]\nldg.u32 r4, [r2 + r11]\nadd.u32 r5, r0, r4\nstg.u32 r5, [r3 + r11]\n@end:\nexit"
        .parse()?;
    for mut backend in backends()? {
        for n in [1u32, 255, 1000] {
            let a: Vec<u32> = (0..n).map(|i| i * i).collect();
            let b: Vec<u32> = (0..n).map(|i| u32::MAX - 3 * i).collect();
            let handles: Vec<_> = (0..3)
                .map(|_| backend.allocate_buffer(4 * n as usize))
                .collect::<Result<_, _>>()?;
            backend.copy_to_buffer(handles[0], &bytes(&a))?;
            backend.copy_to_buffer(handles[1], &bytes(&b))?;
            let mut params = ExecutionParams::from(LaunchConfig::linear(u64::from(n), 128))
                .with_u64(Register::new(9), u64::from(n));
            for (i, handle) in handles.iter().enumerate() {
                params = params.with_u64(Register::new(1 + i as u8), handle.raw());
            }
            backend.execute_program_with_params(&program, &params)?;
            let out = words(&mut backend, handles[2], n as usize)?;
            for i in 0..n as usize {
                assert_eq!(out[i], a[i].wrapping_add(b[i]), "element {i} of {n}");
            }
            for handle in handles {
                backend.free_buffer(handle)?;
            }
        }
        // One shape; on processors another for many lanes that stay inside their buffers.
        let apart = backend.context().device_profile().execution == Execution::MultiCore;
        let stats = backend.stats();
        assert_eq!(stats.in_bounds, u64::from(apart));
        assert_eq!(stats.kernels_compiled, 1 + stats.in_bounds);
        assert_eq!(stats.pipeline_hits, 2 - stats.in_bounds);
    }
    Ok(())
}

#[test]
fn control_flow_runs() -> Outcome {
    let cases = [
        // A loop runs its body once more than the count says.
        ("mov_imm.u32 r0, 7\nmov_imm.u32 r1, 0\nmov_imm.u32 r2, 3\n@body:\nadd.u32 r1, r1, r2\nloop r0, @body\nstg.u32 r1, [buf1 + 0]", 24),
        // Sum over i of 0..=5 of the steps until r0 (from i down) is 2 or 0.
        ("mov_imm.u32 r1, 5\nmov_imm.u32 r3, 0\nmov_imm.u32 r4, 1\nmov_imm.u32 r5, 2\n@outer:\nmov.u32 r0, r1\n@inner:\n\
          add.u32 r3, r3, r4\nset.eq.u32 p1, r0, r5\nbra @out, p1\nloop r0, @inner\n@out:\nloop r1, @outer\nstg.u32 r3, [buf1 + 0]", 4 + 3 + 2 + 1 + 2 + 1),
        // Two ways into a loop.
        ("mov_imm.u32 r0, 3\nmov_imm.u32 r1, 0\nmov_imm.u32 r2, 10\nset.eq.u32 p0, r252, r1\nbra @b, p0\n@a:\nadd.u32 r1, r1, r2\n@b:\n\
          add.u32 r1, r1, r0\nloop r0, @a\nstg.u32 r1, [buf1 + 0]", 3 + 12 + 11 + 10),
        // Calls, one of which ends the lane inside.
        ("mov_imm.u32 r0, 5\ncall @f\ncall @f\nstg.u32 r0, [buf1 + 0]\ncall @g\nstg.u32 r252, [buf1 + 0]\n@f:\nadd.u32 r0, r0, r0\nret\n@g:\nexit", 20),
        // A jump to itself ends when its counter does.
        ("mov_imm.u32 r0, 9\n@x:\nloop r0, @x\nmov_imm.u32 r1, 77\nadd.u32 r0, r0, r1\nstg.u32 r0, [buf1 + 0]", 77),
    ];
    for mut backend in backends()? {
        let out = backend.allocate_buffer(4)?;
        for (text, expected) in cases {
            let program: Program = text.parse()?;
            backend.execute_program(&program, &LaunchConfig::default())?;
            assert_eq!(words(&mut backend, out, 1)?, [expected], "{text}");
        }
    }
    Ok(())
}

#[test]
fn blocks_share_memory_and_meet() -> Outcome {
    // Each block reverses its words; r5 = lanes of a block - 1 - lane.
    let program: Program = "mov_imm.u64 r10, 4\nmov_imm.u32 r6, 1\nmul.u64 r11, r255, r10\nldg.u32 r0, [r1 + r11]\n\
        cvt.u64.u32 r12, r252\nmul.u64 r12, r12, r10\nsts.u32 r0, [r10 + r12]\nbar_sync 0\nsub.u32 r5, r254, r6\n\
        sub.u32 r5, r5, r252\ncvt.u64.u32 r12, r5\nmul.u64 r12, r12, r10\nlds.u32 r0, [r10 + r12]\nbar_sync 1\n\
        stg.u32 r0, [r1 + r11]"
        .parse()?;
    for mut backend in backends()? {
        let data: Vec<u32> = (0..5 * 48).collect();
        let handle = backend.allocate_buffer(4 * data.len())?;
        backend.copy_to_buffer(handle, &bytes(&data))?;
        let mut params = linear(5, 48).with_u64(Register::new(1), handle.raw());
        params.launch = params.launch.with_shared_memory(4 * 48);
        backend.execute_program_with_params(&program, &params)?;
        let out = words(&mut backend, handle, data.len())?;
        for (i, &word) in out.iter().enumerate() {
            assert_eq!(word as usize, i / 48 * 48 + 47 - i % 48);
        }
    }
    Ok(())
}

/// Lanes of a block fold by a tree in shared memory: barriers in a loop.
#[test]
fn blocks_fold_by_a_tree() -> Outcome {
    let program: Program = include_str!("../tree.atlas").parse()?;
    for mut backend in backends()? {
        for block in [1u32, 64, 256] {
            let out = backend.allocate_buffer(8 * 9)?;
            let mut params = linear(9, block).with_u64(Register::new(14), out.raw());
            params.launch = params.launch.with_shared_memory(8 * block as usize);
            backend.execute_program_with_params(&program, &params)?;
            for (i, sum) in words(&mut backend, out, 18)?.chunks(2).enumerate() {
                let first = i as u32 * block;
                let expected = (first..first + block).sum::<u32>();
                assert_eq!(sum, [expected, 0], "block {i} of {block} lanes");
            }
            backend.free_buffer(out)?;
        }
    }
    Ok(())
}

#[test]
fn tickets_are_waited_for_once() -> Outcome {
    let good: Program = "stg.u32 r252, [buf1 + 0]".parse()?;
    let bad: Program = "stg.u32 r252, [buf2 + 0]".parse()?;
    for mut backend in backends()? {
        backend.allocate_buffer(4)?;
        let one = linear(1, 1);
        let tickets: Vec<Ticket> = [&good, &bad, &good]
            .iter()
            .map(|program| backend.submit(program, &one))
            .collect::<Result<_, _>>()?;
        let mut results = Vec::new();
        for ticket in tickets.into_iter().rev() {
            let raw = ticket.raw();
            results.push(backend.wait(ticket).is_ok());
            let again = backend.wait(Ticket::from_raw(raw));
            assert_eq!(again, Err(BackendError::InvalidTicket(raw)));
        }
        assert_eq!(results, [true, false, true]);
        assert_eq!(
            backend.stats().kernels_compiled,
            1,
            "handles are not part of the shape"
        );
        let invalid: Program = "add.u32 r1, r2, r3".parse()?;
        assert!(matches!(
            backend.submit(&invalid, &one),
            Err(BackendError::Validation(_))
        ));
        let none = LaunchConfig::new(Dim3::new(0, 1, 1), Dim3::linear(1));
        assert!(backend.execute_program(&good, &none).is_err());
    }
    Ok(())
}
