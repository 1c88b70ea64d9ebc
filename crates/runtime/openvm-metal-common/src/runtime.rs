//! Kernels compiled while the program runs.
//!
//! A [`RuntimeSource`] holds what the device at hand needs: source for Apple's compiler, PTX, or a
//! shared library of native code. [`MetalContext::load_unit`] prepares its kernels;
//! [`RuntimeUnit::encode`] gives the same checked call that generated launchers make, with the same
//! errors and counters.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use libloading::Library;

use crate::context::MetalContext;
use crate::device_kind::DeviceKind;
use crate::driver::cpu;
use crate::error::{MetalError, Result};
use crate::grid::Grid;
use crate::kernel::{
    ArgKind, ArgSpec, CpuEntry, CpuFn, CpuThreadFn, KernelKind, KernelSpec, KernelUnit, Prepare,
    PtxParam,
};
use crate::launch::KernelCall;
use crate::lock;
use crate::stream::CommandStream;
use crate::trusted_folder::{trusted_file, UntrustedPath};

/// Source or code of a unit; only what the context's device needs must be there.
#[derive(Clone, Debug, Default)]
pub struct RuntimeSource {
    /// Name for messages.
    pub name: String,
    /// Metal Shading Language without includes but `<metal_stdlib>`.
    pub msl: String,
    /// NVIDIA PTX.
    pub ptx: Option<String>,
    /// Shared library of native code for this processor: a file that only this user or root can replace, see
    /// [`trusted_folder`](crate::trusted_folder).
    pub cpu: Option<PathBuf>,
    /// True if the kernel takes a slice, see
    /// [`KernelSpec::slices`](crate::kernel::KernelSpec::slices), so that long dispatches can be cut.
    pub slices: bool,
    /// The kernels.
    pub kernels: Vec<RuntimeKernel>,
}

/// One kernel of a [`RuntimeSource`].
#[derive(Clone, Debug)]
pub struct RuntimeKernel {
    /// Name of the entry.
    pub name: String,
    /// Arguments in the order of the declaration.
    pub args: Vec<RuntimeArg>,
    /// True if it uses barriers.
    pub barriers: bool,
    /// Most threads in a threadgroup.
    pub max_threads: u32,
    /// Name of the PTX entry; `msl_` and the name if made by `openvm-metal-builder`.
    pub ptx_entry: String,
    /// Symbols in the shared library.
    pub cpu: Option<RuntimeSymbols>,
}

/// Symbols of a kernel in a shared library.
#[derive(Clone, Debug)]
pub struct RuntimeSymbols {
    /// A `CpuFn` over all threads of some threadgroups.
    pub run: String,
    /// A `CpuThreadFn`; kernels with barriers need it.
    pub fiber: Option<String>,
}

/// An argument of a [`RuntimeKernel`].
#[derive(Clone, Debug)]
pub struct RuntimeArg {
    /// Name for messages.
    pub name: String,
    /// `n` of `[[buffer(n)]]` or `[[threadgroup(n)]]`.
    pub index: u8,
    /// Kind of the argument; sizes in bytes.
    pub kind: ArgKind,
}

/// Kernels that are loaded on a device; dropping it unloads them.
pub struct RuntimeUnit {
    context: MetalContext,
    name: &'static str,
    kernels: Vec<Owned>,
    unit: Option<Box<KernelUnit>>,
    /// Keeps the native code in memory; dropped last.
    _library: Option<Library>,
}

/// A kernel description whose parts live as long as the unit.
struct Owned {
    spec: Box<KernelSpec>,
    _args: Box<[ArgSpec]>,
    _cpu: Box<[CpuEntry]>,
    _params: Box<[PtxParam]>,
}

/// Text that lives for ever; names repeat, so that few are kept.
fn intern(text: &str) -> &'static str {
    static NAMES: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();
    let mut names = lock(NAMES.get_or_init(Mutex::default));
    if let Some(known) = names.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

/// Lets a part of a unit pass for `'static`.
///
/// # Safety
/// The reference must not be used after `value` is gone. Drivers use descriptions only while a call is
/// made, and a call borrows its unit; names, which outlive calls in messages, are interned.
unsafe fn extend<T: ?Sized>(value: &T) -> &'static T {
    // SAFETY: passed on to the caller.
    unsafe { &*std::ptr::from_ref(value) }
}

impl MetalContext {
    /// Loads kernels made at run time.
    ///
    /// # Errors
    /// [`MetalError::KernelCompile`] if the device's compiler or the loader refuses the unit,
    /// [`MetalError::KernelMissing`] if it lacks code for this device or one of its kernels,
    /// [`MetalError::UntrustedCode`] if other users can replace the shared library.
    pub fn load_unit(&self, source: &RuntimeSource) -> Result<RuntimeUnit> {
        self.inner.alive()?;
        let kind = self.info().kind;
        let library = match kind {
            DeviceKind::Cpu => Some(open_library(source)?),
            _ => None,
        };
        let kernels = source
            .kernels
            .iter()
            .map(|kernel| describe(source, kernel, library.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        let unit = Box::new(KernelUnit {
            name: intern(&source.name),
            msl: "",
            metallib: None,
            ptx: None,
            kernels: &[],
            prepared: Prepare::AtStart,
        });
        let mut loaded = RuntimeUnit {
            context: self.clone(),
            name: unit.name,
            kernels,
            unit: None,
            _library: library,
        };
        if kind == DeviceKind::Cpu {
            for kernel in &loaded.kernels {
                // SAFETY: `check` does not keep the reference.
                cpu::check(unsafe { extend(&*kernel.spec) }, self.info().conformance)?;
            }
        } else {
            // SAFETY: the driver forgets the descriptions in `unload`, which the unit's drop calls.
            let specs: Vec<&'static KernelSpec> = loaded
                .kernels
                .iter()
                .map(|kernel| unsafe { extend(&*kernel.spec) })
                .collect();
            let code = match kind {
                DeviceKind::Metal => Some(source.msl.as_str()),
                _ => source.ptx.as_deref(),
            };
            self.inner.driver.load(unit.name, code, &specs)?;
        }
        loaded.unit = Some(unit);
        Ok(loaded)
    }
}

impl RuntimeUnit {
    /// Index of a kernel by name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.kernels.iter().position(|k| k.spec.name == name)
    }

    /// Number of kernels.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// True without kernels.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// A checked call of kernel `index`, to be given its arguments.
    ///
    /// # Errors
    /// [`MetalError::KernelMissing`] for an index the unit does not have, [`MetalError::WrongContext`] for
    /// a stream of another context.
    pub fn encode<'a>(
        &'a self,
        stream: &'a CommandStream,
        index: usize,
        grid: Grid,
    ) -> Result<KernelCall<'a>> {
        let Some(kernel) = self.kernels.get(index) else {
            return Err(MetalError::KernelMissing {
                kernel: format!("number {index}"),
                unit: self.name.into(),
                device: self.context.info().kind,
                reason: format!("the unit has {} kernels", self.kernels.len()),
            });
        };
        if !self.context.same_as(stream.context()) {
            return Err(MetalError::WrongContext {
                what: kernel.spec.name,
            });
        }
        // SAFETY: the call borrows the unit, and dispatching ends with the call.
        Ok(stream.encode(unsafe { extend(&*kernel.spec) }, grid))
    }
}

impl std::fmt::Debug for RuntimeUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeUnit")
            .field("kernels", &self.kernels.len())
            .finish_non_exhaustive()
    }
}

impl Drop for RuntimeUnit {
    fn drop(&mut self) {
        if self.unit.is_some() && self.context.info().kind != DeviceKind::Cpu {
            let specs: Vec<&KernelSpec> = self.kernels.iter().map(|k| &*k.spec).collect();
            self.context
                .inner
                .driver
                .unload(&specs, self.context.wait_limit());
        }
    }
}

fn open_library(source: &RuntimeSource) -> Result<Library> {
    let refused = |message: String| MetalError::KernelCompile {
        device: DeviceKind::Cpu,
        unit: source.name.clone(),
        message,
    };
    let path = source
        .cpu
        .as_ref()
        .ok_or_else(|| MetalError::KernelMissing {
            kernel: "all".into(),
            unit: source.name.clone(),
            device: DeviceKind::Cpu,
            reason: "the unit has no native code".into(),
        })?;
    let path = trusted_file(path).map_err(|reason| match reason {
        UntrustedPath::Io { .. } => refused(reason.to_string()),
        reason => MetalError::UntrustedCode {
            unit: source.name.clone(),
            reason,
        },
    })?;
    // SAFETY: the caller vouches for the file as for any native code, and nobody else can have put another in its place;
    // libraries made by the builder have no initialisers.
    unsafe { Library::new(&path) }.map_err(|error| refused(error.to_string()))
}

fn describe(
    source: &RuntimeSource,
    kernel: &RuntimeKernel,
    library: Option<&Library>,
) -> Result<Owned> {
    let symbol_error = |reason: String| MetalError::KernelMissing {
        kernel: kernel.name.clone(),
        unit: source.name.clone(),
        device: DeviceKind::Cpu,
        reason,
    };
    let mut cpu = Vec::new();
    let mut fiber = None;
    if let Some(library) = library {
        let symbols = kernel
            .cpu
            .as_ref()
            .ok_or_else(|| symbol_error("the unit names no symbols for it".into()))?;
        // SAFETY: the builder gives these symbols these types; the library outlives the copies.
        unsafe {
            let run: CpuFn = *library
                .get::<CpuFn>(symbols.run.as_bytes())
                .map_err(|e| symbol_error(e.to_string()))?;
            cpu.push(CpuEntry {
                isa: cpu::best_isa(),
                run,
                scalar: run,
            });
            if let Some(name) = &symbols.fiber {
                fiber = Some(
                    *library
                        .get::<CpuThreadFn>(name.as_bytes())
                        .map_err(|e| symbol_error(e.to_string()))?,
                );
            }
        }
    }
    let args: Box<[ArgSpec]> = kernel
        .args
        .iter()
        .map(|arg| ArgSpec {
            name: intern(&arg.name),
            index: arg.index,
            kind: arg.kind,
        })
        .collect();
    let params: Box<[PtxParam]> = std::iter::once(PtxParam::Threads)
        .chain(args.iter().map(|arg| match arg.kind {
            ArgKind::BufferRead { .. } | ArgKind::BufferWrite { .. } => PtxParam::Buffer(arg.index),
            ArgKind::Value { size } => PtxParam::Value {
                index: arg.index,
                size,
                align: 8,
            },
            ArgKind::Threadgroup { .. } => PtxParam::Threadgroup(arg.index),
        }))
        // Ignored by entries that do not take it.
        .chain([PtxParam::Slice])
        .collect();
    let cpu = cpu.into_boxed_slice();
    // SAFETY: all parts are owned by the same `Owned` as the description that refers to them, and boxes do not
    // move what they hold.
    let spec = unsafe {
        Box::new(KernelSpec {
            name: intern(&kernel.name),
            ptx_entry: intern(&kernel.ptx_entry),
            unit: intern(&source.name),
            library: "run time",
            args: extend(&*args),
            kind: if kernel.barriers {
                KernelKind::Barrier
            } else {
                KernelKind::Flat
            },
            max_threads: kernel.max_threads,
            static_threadgroup_bytes: 0,
            any_threadgroup_size: !kernel.barriers,
            cpu: extend(&*cpu),
            fiber,
            ptx_params: extend(&*params),
            slices: source.slices,
            clauses: None,
            safe: false,
        })
    };
    Ok(Owned {
        spec,
        _args: args,
        _cpu: cpu,
        _params: params,
    })
}
