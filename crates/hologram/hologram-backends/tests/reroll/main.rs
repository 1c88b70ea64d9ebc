//! Programs of one lane that run with many: results, faults and when it happens.

mod affine;
mod reduce;
mod unrolled;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::{Backend, BackendError, BufferHandle, ExecutionParams, Program};
use openvm_metal_common::{Device, MetalContext};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Buffers of each backend: handles 1, 2, ...
const BUFFERS: usize = 3;

/// The interpreter and a device with equal memory.
struct Pair {
    reference: CpuBackend,
    device: MetalBackend,
    bytes: usize,
}

/// End of a program on both.
#[derive(Debug, PartialEq)]
struct Ended {
    /// It ran with many lanes.
    rerolled: bool,
    /// It ran as a tree.
    reduced: bool,
    fault: Option<BackendError>,
}

impl Pair {
    /// Backends with three buffers of `bytes` each.
    fn new(bytes: usize) -> Outcome<Self> {
        let context = MetalContext::new(Device::Cpu, &[])?;
        let scratch = std::env::temp_dir().join("hologram-reroll-test");
        let mut pair = Self {
            reference: CpuBackend::new(),
            device: MetalBackend::on(&context, scratch, Effort::Least)?,
            bytes,
        };
        for _ in 0..BUFFERS {
            pair.device.allocate_buffer(bytes)?;
            pair.reference.allocate_buffer(bytes)?;
        }
        Ok(pair)
    }

    /// Compiles programs together, which is sooner done than one by one.
    fn prepare<'a>(
        &mut self,
        texts: impl IntoIterator<Item = &'a String>,
        params: &[ExecutionParams],
    ) -> Outcome {
        let parsed = texts.into_iter().map(|text| text.parse());
        let programs: Vec<Program> = parsed.collect::<Result<_, _>>()?;
        let each = programs
            .iter()
            .flat_map(|program| params.iter().map(move |params| (program, params)));
        self.device.prepare(&each.collect::<Vec<_>>())?;
        Ok(())
    }

    /// Writes equal bytes to a buffer of both.
    fn write(&mut self, handle: u64, bytes: &[u8]) -> Outcome {
        let handle = BufferHandle::from_raw(handle);
        self.device.copy_to_buffer(handle, bytes)?;
        self.reference.copy_to_buffer(handle, bytes)?;
        Ok(())
    }

    /// Numbers that differ from buffer to buffer, small integers as `f32`.
    fn fill(&mut self) -> Outcome {
        for buffer in 0..BUFFERS as u64 {
            let number = |i: u64| ((i * 37 + buffer * 11) % 8191) as f32 / 8.0 - 300.0;
            let values = (0..self.bytes as u64 / 4).map(number);
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            self.write(1 + buffer, &bytes)?;
        }
        Ok(())
    }

    /// Bytes of all buffers: of the device, of the reference.
    fn memory(&mut self) -> Outcome<[Vec<u8>; 2]> {
        let mut result = [Vec::new(), Vec::new()];
        let backends: [&mut dyn Backend; 2] = [&mut self.device, &mut self.reference];
        for (backend, all) in backends.into_iter().zip(&mut result) {
            for buffer in 0..BUFFERS as u64 {
                let mut bytes = vec![0; self.bytes];
                backend.copy_from_buffer(BufferHandle::from_raw(1 + buffer), &mut bytes)?;
                all.extend(bytes);
            }
        }
        Ok(result)
    }

    /// Runs a program on both; the ends must be alike.
    fn run(&mut self, program: &Program, params: &ExecutionParams) -> Outcome<Ended> {
        let before = self.device.stats();
        let device = self.device.execute_program_with_params(program, params);
        let reference = self.reference.execute_program_with_params(program, params);
        assert_eq!(device, reference, "{program}");
        let after = self.device.stats();
        Ok(Ended {
            rerolled: after.rerolled > before.rerolled,
            reduced: after.reduced > before.reduced,
            fault: device.err(),
        })
    }

    /// Runs a program on freshly filled buffers, which must then be equal unless there was a fault.
    fn check(&mut self, program: &Program, params: &ExecutionParams) -> Outcome<Ended> {
        self.fill()?;
        let ended = self.run(program, params)?;
        if ended.fault.is_none() {
            let [device, reference] = self.memory()?;
            let differs = device.iter().zip(&reference).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{program}");
        }
        Ok(ended)
    }
}
