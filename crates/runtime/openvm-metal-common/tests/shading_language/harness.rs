//! Compiles a Metal file while the test runs and runs its kernels over words.
//!
//! Every kernel takes `device const uint* in [[buffer(0)]]`, `device uint* out [[buffer(1)]]`,
//! `constant uint& n [[buffer(2)]]` (the number of threads) and any thread positions.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use openvm_metal_builder::{shim, target_ptx, ConstantValue, Toolchain};
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{
    Device, DeviceKind, Grid, MetalBuffer, MetalContext, RuntimeArg, RuntimeKernel, RuntimeSource,
    RuntimeSymbols, RuntimeUnit,
};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Index of a function constant and how to make its value.
pub type Constant = (u32, fn() -> ConstantValue);

/// A Metal file of the test and a name for its results.
#[derive(Clone, Copy)]
pub struct Source {
    pub name: &'static str,
    pub text: &'static str,
    /// Function constants.
    pub constants: &'static [Constant],
}

impl Source {
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            constants: &[],
        }
    }
}

/// The kernels of a file on a device.
pub struct Kernels {
    pub context: MetalContext,
    pub device: Device,
    unit: RuntimeUnit,
}

/// The device in `OPENVM_METAL_DEVICE` (the CPU by default), and real barriers on the CPU.
pub fn devices() -> Outcome<[Device; 2]> {
    let first = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(_) => Device::from_env()?,
        Err(_) => Device::Cpu,
    };
    Ok([first, Device::CpuConformance])
}

/// Runs `test` with the kernels of `source` on each of [`devices`].
pub fn on_devices(source: Source, test: impl Fn(&Kernels) -> Outcome<()>) -> Outcome<()> {
    for device in devices()? {
        test(&Kernels::load(device, source)?)?;
    }
    Ok(())
}

/// PTX of the file; `None` where the compiler cannot emit it.
pub fn ptx(source: Source) -> Outcome<Option<String>> {
    let (tools, _alone) = tools(source)?;
    if !target_ptx::available(tools.compiler()) {
        return Ok(None);
    }
    let (root, file) = place(source)?;
    Ok(Some(tools.compile_ptx_file(&root, &file)?))
}

/// A folder for this state of the shim, which results depend on, and this file.
fn scratch(source: Source) -> PathBuf {
    std::env::temp_dir()
        .join("openvm-metal-shading-language")
        .join(format!("{}-{}", source.name, shim::version()))
}

fn place(source: Source) -> Outcome<(PathBuf, PathBuf)> {
    let root = scratch(source);
    let file = root.join(source.name).with_extension("metal");
    shim::write_if_changed(&file, source.text)?;
    Ok((root, file))
}

/// Tests of one file share its folder, one at a time.
fn tools(source: Source) -> Outcome<(Toolchain, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tools = Toolchain::new(scratch(source))?;
    for (index, value) in source.constants {
        tools = tools.with_function_constant(*index, value());
    }
    Ok((tools, alone))
}

fn describe(source: Source, kind: DeviceKind) -> Outcome<RuntimeSource> {
    let (tools, _alone) = tools(source)?;
    let (root, file) = place(source)?;
    let native = match kind {
        DeviceKind::Cpu => Some(tools.compile_cpu_file(&root, &file)?),
        _ => None,
    };
    let ptx = match kind {
        DeviceKind::Cuda => Some(tools.compile_ptx_file(&root, &file)?),
        _ => None,
    };
    let arg = |name: &str, index, kind| RuntimeArg {
        name: name.into(),
        index,
        kind,
    };
    let kernels = tools.kernels(&root, &file)?;
    let kernels = kernels.into_iter().map(|(name, kind)| {
        let found = native
            .as_ref()
            .and_then(|n| n.kernels.iter().find(|k| k.name == name));
        RuntimeKernel {
            args: vec![
                arg("in", 0, ArgKind::BufferRead { elem: 4 }),
                arg("out", 1, ArgKind::BufferWrite { elem: 4 }),
                arg("n", 2, ArgKind::Value { size: 4 }),
            ],
            barriers: kind.barriers(),
            max_threads: 1024,
            ptx_entry: format!("msl_{name}"),
            cpu: found.map(|k| RuntimeSymbols {
                run: k.scalar.clone(),
                fiber: k.fiber.clone(),
            }),
            name,
        }
    });
    Ok(RuntimeSource {
        name: source.name.into(),
        msl: source.text.into(),
        kernels: kernels.collect(),
        ptx,
        cpu: native.as_ref().map(|n| n.path.clone()),
        slices: false,
    })
}

impl Kernels {
    /// Compiles and loads the file.
    pub fn load(device: Device, source: Source) -> Outcome<Self> {
        let context = MetalContext::new(device, &[])?;
        let unit = context.load_unit(&describe(source, context.info().kind)?)?;
        Ok(Self {
            context,
            device,
            unit,
        })
    }

    /// True where functions such as `sin` are a GPU's approximations.
    pub fn approximate(&self) -> bool {
        self.context.info().kind != DeviceKind::Cpu
    }

    /// The output of `threads` threads in threadgroups of `per_group`; it holds zeros before.
    pub fn run(
        &self,
        kernel: &str,
        input: &[u32],
        out_words: usize,
        threads: usize,
        per_group: u32,
    ) -> Outcome<Vec<u32>> {
        let index = self.unit.find(kernel).ok_or("no such kernel")?;
        let stream = self.context.stream();
        let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
        let input = MetalBuffer::from_host(&stream, &bytes)?;
        let out = MetalBuffer::<u8>::zeroed(&stream, out_words * 4)?;
        let grid = if threads.is_multiple_of(per_group as usize) {
            Grid::groups((threads / per_group as usize) as u32, per_group)
        } else {
            Grid::threads_per_group(threads, per_group)
        };
        let count = (threads as u32).to_le_bytes();
        let call = self
            .unit
            .encode(&stream, index, grid)?
            .buffer_range(0, input.slice(..))
            .buffer_range(1, out.slice(..))
            .value_bytes(2, &count);
        // SAFETY: the kernels of these tests read and write words of their own thread below `threads`, and the
        // callers give as many as a kernel takes.
        unsafe { call.dispatch_unchecked()? };
        let words = out.to_host(&stream)?;
        Ok(words
            .chunks_exact(4)
            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
            .collect())
    }
}
