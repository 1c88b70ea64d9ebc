//! Metal text as a kernel of this processor.

use std::path::Path;

use openvm_metal_builder::Toolchain;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{
    CommandStream, Device, MetalContext, RuntimeArg, RuntimeKernel, RuntimeSource, RuntimeSymbols,
    RuntimeUnit,
};

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The kernel of a text, which may include headers of `hologram-kernels`, and a stream for it. Its arguments are named.
pub fn compiled(
    text: &str,
    options: &[&str],
    args: &[(&str, ArgKind)],
) -> Outcome<(RuntimeUnit, CommandStream)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hologram-kernels/metal");
    let folder = tempfile::tempdir()?;
    let tools = Toolchain::new(folder.path())?;
    let mut options = options.to_vec();
    // Vectors are of no type to Apple's compiler and to clang, but to GCC.
    if !tools.compiler().is_clang() {
        options.push("-fno-strict-aliasing");
    }
    let library = tools
        .with_options(&options)
        .compile_cpu_shared(&root, text)?;
    let arg = |(index, &(name, kind)): (usize, &(&str, ArgKind))| RuntimeArg {
        name: name.into(),
        index: index as u8,
        kind,
    };
    let kernel = RuntimeKernel {
        name: "one".into(),
        args: args.iter().enumerate().map(arg).collect(),
        barriers: false,
        max_threads: 1024,
        ptx_entry: String::new(),
        cpu: Some(RuntimeSymbols {
            run: library.kernels[0].scalar.clone(),
            fiber: None,
        }),
    };
    let source = RuntimeSource {
        name: "one".into(),
        cpu: Some(library.path),
        kernels: vec![kernel],
        ..RuntimeSource::default()
    };
    let context = MetalContext::new(Device::Cpu, &[])?;
    Ok((context.load_unit(&source)?, context.stream()))
}
