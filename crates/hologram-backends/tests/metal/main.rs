//! Programs on devices of `openvm-metal-common`: the one in `OPENVM_METAL_DEVICE`, else the CPU in both modes.

use hologram_backends::metal::{Effort, MetalBackend, LIBRARY};
use hologram_backends::{
    Backend, BackendError, BufferHandle, Dim3, ExecutionParams, Fault, FaultKind, LaunchConfig,
    Program, Register, Ticket,
};
use openvm_metal_common::{Device, DeviceProfile, Execution, MetalContext};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn backends() -> Outcome<Vec<MetalBackend>> {
    let scratch = std::env::temp_dir().join("hologram-metal-test");
    let devices = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => vec![name.parse()?],
        Err(_) => vec![Device::Cpu, Device::CpuConformance],
    };
    let open = |device| MetalBackend::with_scratch(device, scratch.clone());
    Ok(devices.into_iter().map(open).collect::<Result<_, _>>()?)
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn words(backend: &mut dyn Backend, handle: BufferHandle, count: usize) -> Outcome<Vec<u32>> {
    let mut data = vec![0; 4 * count];
    backend.copy_from_buffer(handle, &mut data)?;
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    Ok(data.chunks_exact(4).map(word).collect())
}

fn linear(blocks: u32, lanes: u32) -> ExecutionParams {
    LaunchConfig::new(Dim3::linear(blocks), Dim3::linear(lanes)).into()
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

#[test]
fn the_smallest_lane_s_fault_is_reported() -> Outcome {
    let oob = |offset, size| FaultKind::BufferOutOfBounds {
        handle: 1,
        offset,
        size,
        buffer_size: 400,
    };
    let divide = "mov_imm.u32 r1, 40\nmov_imm.u32 r2, 0\ndiv.u32 r3, r1, r2";
    // Lanes from 40 on divide.
    let some = "mov_imm.u64 r1, 40\nmov_imm.u64 r2, 0\nset.lt.u64 p0, r255, r1\nbra @end, p0\ndiv.u64 r3, r1, r2\n@end:\nexit";
    let cases: Vec<(&str, u64, usize, FaultKind)> = vec![
        (divide, 0, 2, FaultKind::DivisionByZero),
        (some, 40, 4, FaultKind::DivisionByZero),
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
    ];
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

#[test]
fn memory_is_recycled_grows_and_checks() -> Outcome {
    for mut backend in backends()? {
        let keep = backend.allocate_buffer(1000)?;
        backend.copy_to_buffer(keep, &[7; 1000])?;
        let (before, _) = backend.memory_use();
        for round in 0..50 {
            let sizes = [100_000, 0, 3, 300_000 + round];
            let handles: Vec<_> = sizes
                .iter()
                .map(|&size| backend.allocate_buffer(size))
                .collect::<Result<_, _>>()?;
            for (&handle, size) in handles.iter().zip(sizes) {
                let mut data = vec![1; size];
                backend.copy_from_buffer(handle, &mut data)?;
                assert!(data.iter().all(|&b| b == 0), "zeroed when made");
                backend.copy_to_buffer(handle, &vec![9; size])?;
            }
            for handle in handles {
                backend.free_buffer(handle)?;
                assert_eq!(
                    backend.free_buffer(handle),
                    Err(BackendError::InvalidBufferHandle(handle))
                );
            }
        }
        assert_eq!(backend.memory_use().0, before);
        let large = backend.allocate_buffer(3 << 20)?;
        backend.copy_buffer(keep, 0, large, 2 << 20, 1000)?;
        let mut data = vec![0; 1000];
        backend.copy_from_buffer_at(large, 2 << 20, &mut data)?;
        assert_eq!(data, [7; 1000], "contents survive growth");
        backend.copy_buffer(large, 2 << 20, large, 10, 500)?;
        backend.copy_from_buffer_at(large, 10, &mut data[..500])?;
        assert_eq!(data[..500], [7; 500]);
        assert!(matches!(
            backend.copy_buffer(large, 10, large, 11, 2),
            Err(BackendError::OverlappingCopy { .. })
        ));
        assert!(matches!(
            backend.copy_to_buffer_at(keep, 1, &[0; 1000]),
            Err(BackendError::BufferOutOfBounds {
                offset: 1,
                size: 1000,
                buffer_size: 1000,
                ..
            })
        ));
        assert!(backend.free_buffer(BufferHandle::BOUNDARY).is_err());
        assert!(matches!(
            backend.allocate_buffer(usize::MAX),
            Err(BackendError::OutOfMemory { .. })
        ));
        let pool = backend.allocate_pool(64)?;
        backend.copy_to_pool(pool, 60, &[1, 2, 3, 4])?;
        assert!(backend.copy_to_pool(pool, 61, &[1, 2, 3, 4]).is_err());
        assert_eq!(backend.pool_size(pool)?, 64);
        backend.free_pool(pool)?;
        assert!(backend.free_pool(pool).is_err());
    }
    Ok(())
}

#[test]
fn handles_and_boundary_are_found_at_run_time() -> Outcome {
    // The handle is loaded from memory; class 3 of the boundary pool is seen through all of its names.
    let program: Program = "ldg.u64 r1, [buf1 + 0]\nldg.u32 r2, [r1 + 8]\nstg.u32 r2, [phi 3:1:4]\nldg.u64 r3, [buf1 + 8]\n\
        ldg.u32 r4, [r3 + 260]\nmov_imm.u64 r5, 0\nldg.u32 r6, [r5 + 37124]\nadd.u32 r4, r4, r6\nstg.u32 r4, [buf1 + 16]"
        .parse()?;
    for mut backend in backends()? {
        let names = backend.allocate_buffer(20)?;
        let gone = backend.allocate_buffer(64)?;
        let data = backend.allocate_buffer(64)?;
        backend.free_buffer(gone)?;
        let class = BufferHandle::class(3).ok_or("a class")?;
        backend.copy_to_buffer(names, &data.raw().to_le_bytes())?;
        backend.copy_to_buffer_at(names, 8, &class.raw().to_le_bytes())?;
        backend.copy_to_buffer_at(data, 8, &1000u32.to_le_bytes())?;
        backend.execute_program(&program, &LaunchConfig::default())?;
        assert_eq!(words(&mut backend, names, 5)?[4], 2000);
        backend.copy_to_buffer(names, &gone.raw().to_le_bytes())?;
        let fault = backend.execute_program(&program, &LaunchConfig::default());
        assert!(
            matches!(&fault, Err(BackendError::Fault(f)) if f.kind == FaultKind::InvalidBufferHandle { handle: gone.raw() }),
            "{fault:?}"
        );
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

/// Makes six buffers of 48 MiB, looks whether all keep what is written, and frees them.
fn make_and_free(backend: &mut MetalBackend) -> Outcome {
    const SIZE: usize = 48 << 20;
    let mut made = Vec::new();
    for number in 0..6u8 {
        let buffer = backend.allocate_buffer(SIZE)?;
        backend.copy_to_buffer_at(buffer, SIZE - 5, &[number + 1; 5])?;
        made.push(buffer);
    }
    assert_eq!(backend.memory_use().0, 6 * SIZE);
    for (number, buffer) in made.into_iter().enumerate() {
        let mut bytes = [0; 6];
        backend.copy_from_buffer_at(buffer, SIZE - 6, &mut bytes)?;
        let last = number as u8 + 1;
        assert_eq!(bytes, [0, last, last, last, last, last]);
        backend.free_buffer(buffer)?;
    }
    assert_eq!(backend.memory_use().0, 0);
    Ok(())
}

#[test]
fn memory_grows_without_a_copy_and_goes_back() -> Outcome {
    for mut backend in backends()? {
        let before = backend.context().memory().reserved;
        make_and_free(&mut backend)?;
        let memory = backend.context().memory();
        // A segment of the pool holds one of them: at no time was there room for the old and the new.
        let added = memory.peak_reserved - before;
        assert!(added <= 6 * (64 << 20), "{added}");
        assert!(memory.reserved <= before + (64 << 20), "{memory:?}");
    }
    Ok(())
}

#[test]
fn an_arena_is_small_again_without_buffers() -> Outcome {
    // Kernels of Apple GPUs reach only what they are given.
    let profile = DeviceProfile::named("m1-8gb")?;
    let context = MetalContext::builder(Device::Cpu)
        .libraries(&[&LIBRARY])
        .profile(profile)
        .open()?;
    let scratch = std::env::temp_dir().join("hologram-metal-test");
    let mut backend = MetalBackend::on(&context, scratch, Effort::Usual)?;
    let (_, before) = backend.memory_use();
    make_and_free(&mut backend)?;
    assert_eq!(backend.memory_use(), (0, before));
    // Programs run on it.
    let buffers = [
        backend.allocate_buffer(8)?,
        backend.allocate_buffer(8 << 20)?,
    ];
    let program: Program =
        "ldg.u32 r3, [r1 + 4]\nadd.u32 r3, r3, r3\nmov_imm.u64 r4, 8388604\nstg.u32 r3, [r2 + r4]"
            .parse()?;
    backend.copy_to_buffer(buffers[0], &[0, 0, 0, 0, 21, 0, 0, 0])?;
    let params = linear(1, 1)
        .with_u64(Register::new(1), buffers[0].raw())
        .with_u64(Register::new(2), buffers[1].raw());
    backend.execute_program_with_params(&program, &params)?;
    let mut bytes = [0; 4];
    backend.copy_from_buffer_at(buffers[1], (8 << 20) - 4, &mut bytes)?;
    assert_eq!(bytes, [42, 0, 0, 0]);
    Ok(())
}
