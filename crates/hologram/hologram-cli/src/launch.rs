//! Arguments of a launch.

use clap::Args;
use hologram_backends::{Dim3, ExecutionParams, LaunchConfig};

use crate::spec::RegisterSpec;

/// Grid, block, shared memory, preset registers.
#[derive(Args, Debug)]
pub struct LaunchArgs {
    /// Blocks along x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1", value_parser = dim)]
    pub grid: Dim3,
    /// Lanes of a block along x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1", value_parser = dim)]
    pub block: Dim3,
    /// Bytes of shared memory of each block.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub shared: usize,
    /// Initial value of a register: a buffer's handle, a u64, or a number of a type.
    #[arg(long = "register", value_name = "rN=@BUFFER|[TYPE:]NUMBER")]
    pub registers: Vec<RegisterSpec>,
}

impl LaunchArgs {
    /// The launch, without its registers.
    pub fn params(&self) -> ExecutionParams {
        ExecutionParams::new(
            LaunchConfig::new(self.grid, self.block).with_shared_memory(self.shared),
        )
    }
}

fn dim(text: &str) -> Result<Dim3, String> {
    let mut sizes = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("at most x, y and z".to_owned());
    }
    for (size, part) in sizes.iter_mut().zip(&parts) {
        *size = part
            .trim()
            .parse()
            .map_err(|_| format!("`{part}` is no number of blocks or lanes"))?;
    }
    let [x, y, z] = sizes;
    Ok(Dim3::new(x, y, z))
}
