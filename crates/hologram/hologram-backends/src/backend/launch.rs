//! Number of lanes of a launch, and their initial registers.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{BackendError, Result};
use crate::isa::{Register, Ty};
use crate::stop::{Flag, Stop, Watch};

/// Most lanes of a block.
pub const MAX_BLOCK_LANES: u64 = 1024;
/// Most bytes of shared memory of a block.
pub const MAX_SHARED_BYTES: usize = 32 << 10;
/// Most blocks of a launch.
pub const MAX_BLOCKS: u64 = (1 << 31) - 1;
/// Most blocks along y, and along z.
pub const MAX_GRID_YZ: u32 = 65_535;
/// Most return addresses a lane may hold.
pub const MAX_CALL_DEPTH: usize = 256;
/// Steps of a lane when the parameters name no budget.
pub const DEFAULT_STEP_BUDGET: u64 = 1 << 30;

/// Sizes along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Along x, the fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    /// Sizes along x, y and z.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// `x` by 1 by 1.
    pub const fn linear(x: u32) -> Self {
        Self::new(x, 1, 1)
    }

    /// Product of the sizes; `None` when it does not fit.
    pub fn count(self) -> Option<u64> {
        u64::from(self.x)
            .checked_mul(u64::from(self.y))?
            .checked_mul(u64::from(self.z))
    }
}

impl Default for Dim3 {
    fn default() -> Self {
        Self::linear(1)
    }
}

/// Shared memory of each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SharedMemory {
    /// Bytes, at most [`MAX_SHARED_BYTES`]; zeroed when the block starts.
    pub size_bytes: usize,
}

/// Grid of blocks, lanes of a block, shared memory; one lane by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Lanes of a block, at most [`MAX_BLOCK_LANES`].
    pub block: Dim3,
    /// Shared memory of each block.
    pub shared_memory: SharedMemory,
}

impl LaunchConfig {
    /// A grid of blocks without shared memory.
    pub const fn new(grid: Dim3, block: Dim3) -> Self {
        Self {
            grid,
            block,
            shared_memory: SharedMemory { size_bytes: 0 },
        }
    }

    /// At least `total` lanes in blocks of `block_size`: the last block may be partly beyond `total`,
    /// so programs compare r255 with it. A `block_size` of 0 counts as 1; what does not fit is
    /// caught by [`LaunchConfig::check`].
    pub fn linear(total: u64, block_size: u32) -> Self {
        let blocks = total.div_ceil(u64::from(block_size.max(1))).max(1);
        Self::new(
            Dim3::linear(u32::try_from(blocks).unwrap_or(u32::MAX)),
            Dim3::linear(block_size.max(1)),
        )
    }

    /// With `size_bytes` of shared memory for each block.
    pub const fn with_shared_memory(mut self, size_bytes: usize) -> Self {
        self.shared_memory = SharedMemory { size_bytes };
        self
    }

    /// Checks the limits; gives the number of blocks and the lanes of one.
    ///
    /// # Errors
    /// [`BackendError::InvalidLaunchConfig`], [`BackendError::SharedMemoryAllocationFailed`].
    pub fn check(&self) -> Result<(u64, u32)> {
        let invalid = |what: &'static str, value: u64, limit: u64| {
            Err(BackendError::InvalidLaunchConfig { what, value, limit })
        };
        let dims = [
            ("grid.x", self.grid.x, u32::MAX),
            ("grid.y", self.grid.y, MAX_GRID_YZ),
            ("grid.z", self.grid.z, MAX_GRID_YZ),
            ("block.x", self.block.x, MAX_BLOCK_LANES as u32),
            ("block.y", self.block.y, MAX_BLOCK_LANES as u32),
            ("block.z", self.block.z, MAX_BLOCK_LANES as u32),
        ];
        for (what, value, limit) in dims {
            if value == 0 || value > limit {
                return invalid(what, u64::from(value), u64::from(limit));
            }
        }
        let lanes = self.block.count().unwrap_or(u64::MAX);
        if lanes > MAX_BLOCK_LANES {
            return invalid("lanes of a block", lanes, MAX_BLOCK_LANES);
        }
        let blocks = self.grid.count().unwrap_or(u64::MAX);
        if blocks > MAX_BLOCKS {
            return invalid("blocks", blocks, MAX_BLOCKS);
        }
        if self.shared_memory.size_bytes > MAX_SHARED_BYTES {
            return Err(BackendError::SharedMemoryAllocationFailed {
                requested: self.shared_memory.size_bytes,
                available: MAX_SHARED_BYTES,
            });
        }
        Ok((blocks, lanes as u32))
    }
}

/// A launch with what its lanes begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExecutionParams {
    /// Grid, block and shared memory.
    pub launch: LaunchConfig,
    /// Registers preset in every lane: type and bits (the low bits of the value, as `mov_imm`).
    /// They override the special registers; of a register named twice the last counts.
    pub initial_registers: Vec<(Register, Ty, u64)>,
    /// Most instructions a lane may execute; [`DEFAULT_STEP_BUDGET`] when `None`.
    pub step_budget: Option<u64>,
    /// Time limit of the program, whatever its steps; counted from its start, when everything submitted before has ended.
    /// Compiling does not count. Beyond: [`FaultKind::TimeLimitExceeded`](crate::FaultKind::TimeLimitExceeded).
    pub time_limit: Option<Duration>,
    /// Ends the program when it is asked for.
    pub stop: Option<Stop>,
    /// A lane's class is its block's x index mod 96 instead of 0.
    pub class_from_block: bool,
    /// Sums and products of floats that a loop of a one-lane program collects may be computed in another order, which
    /// changes their last bits; devices then run such loops with many lanes.
    pub allow_reassociation: bool,
}

impl ExecutionParams {
    /// A launch without more.
    pub fn new(launch: LaunchConfig) -> Self {
        Self {
            launch,
            ..Self::default()
        }
    }

    /// With a `u64` register, such as a buffer handle or a count.
    pub fn with_u64(self, register: Register, value: u64) -> Self {
        self.with_register(register, Ty::U64, value)
    }

    /// With a preset register; `bits` are as of `mov_imm`.
    pub fn with_register(mut self, register: Register, ty: Ty, bits: u64) -> Self {
        self.initial_registers.push((register, ty, bits));
        self
    }

    /// With sums and products of floats in any order.
    pub const fn with_reassociation(mut self) -> Self {
        self.allow_reassociation = true;
        self
    }

    /// With a time limit.
    pub const fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// With a way to end it from another thread.
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// True if it may be ended before its end.
    pub(crate) fn is_watched(&self) -> bool {
        self.stop.is_some() || self.time_limit.is_some()
    }

    /// Begins to watch a run, if it may be ended: its time begins now.
    ///
    /// # Errors
    /// The system gives no thread for the time limit.
    pub(crate) fn watch(&self, flag: Arc<dyn Flag>) -> Result<Option<Watch>> {
        self.is_watched()
            .then(|| Watch::start(self.time_limit, self.stop.as_ref(), flag))
            .transpose()
    }

    /// With a step budget.
    pub const fn with_step_budget(mut self, steps: u64) -> Self {
        self.step_budget = Some(steps);
        self
    }
}

impl From<LaunchConfig> for ExecutionParams {
    fn from(launch: LaunchConfig) -> Self {
        Self::new(launch)
    }
}
