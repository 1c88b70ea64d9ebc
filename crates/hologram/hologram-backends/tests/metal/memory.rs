//! Buffers and pools: made, freed, recycled, found by their handles.

use hologram_backends::metal::{Effort, MetalBackend, LIBRARY};
use hologram_backends::{
    Backend, BackendError, BufferHandle, FaultKind, LaunchConfig, Program, Register,
};
use openvm_metal_common::{Device, DeviceProfile, MetalContext};

use super::support::{backends, linear, words, Outcome};

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

/// The processor as another device.
fn standing_in(profile: &str) -> Result<MetalBackend, Box<dyn std::error::Error>> {
    let context = MetalContext::builder(Device::Cpu)
        .libraries(&[&LIBRARY])
        .profile(DeviceProfile::named(profile)?)
        .open()?;
    let scratch = std::env::temp_dir().join("hologram-metal-test");
    Ok(MetalBackend::on(&context, scratch, Effort::Usual)?)
}

#[test]
fn memory_grows_without_a_copy_and_goes_back() -> Outcome {
    let mut all = backends()?;
    // Apple GPUs, whose kernels know memory by other addresses than the host.
    all.push(standing_in("m1-8gb")?);
    for mut backend in all {
        let before = backend.context().memory().reserved;
        make_and_free(&mut backend)?;
        let memory = backend.context().memory();
        // A segment of the pool holds one of them: at no time was there room for the old and the new.
        let added = memory.peak_reserved - before;
        assert!(added <= 6 * (64 << 20), "{added}");
        assert!(memory.reserved <= before + (64 << 20), "{memory:?}");
        programs_reach_what_was_made_later(&mut backend)?;
    }
    Ok(())
}

/// Lets a program copy a word between buffers that do not lie in one segment, one of which it is told by a handle in memory.
fn programs_reach_what_was_made_later(backend: &mut MetalBackend) -> Outcome {
    let buffers = [
        backend.allocate_buffer(16)?,
        backend.allocate_buffer(80 << 20)?,
        backend.allocate_buffer(80 << 20)?,
    ];
    let program: Program =
        "ldg.u32 r3, [r1 + 4]\nadd.u32 r3, r3, r3\nmov_imm.u64 r4, 83886076\nstg.u32 r3, [r2 + r4]\n\
         ldg.u64 r5, [r1 + 8]\nldg.u32 r6, [r2 + r4]\nadd.u32 r6, r6, r3\nstg.u32 r6, [r5 + r4]"
            .parse()?;
    backend.copy_to_buffer(buffers[0], &[0, 0, 0, 0, 21, 0, 0, 0])?;
    backend.copy_to_buffer_at(buffers[0], 8, &buffers[2].raw().to_le_bytes())?;
    let params = linear(1, 1)
        .with_u64(Register::new(1), buffers[0].raw())
        .with_u64(Register::new(2), buffers[1].raw());
    backend.execute_program_with_params(&program, &params)?;
    for (buffer, expected) in buffers.iter().skip(1).zip([42, 84]) {
        let mut bytes = [0; 4];
        backend.copy_from_buffer_at(*buffer, (80 << 20) - 4, &mut bytes)?;
        assert_eq!(bytes, [expected, 0, 0, 0]);
    }
    for buffer in buffers {
        backend.free_buffer(buffer)?;
    }
    Ok(())
}

#[test]
fn an_arena_is_small_again_without_buffers() -> Outcome {
    // Kernels of GPUs of virtual Macs reach only what they are given.
    let mut backend = standing_in("mac-runner")?;
    let (_, before) = backend.memory_use();
    make_and_free(&mut backend)?;
    assert_eq!(backend.memory_use(), (0, before));
    programs_reach_what_was_made_later(&mut backend)
}
