//! Number of threads of a launch.

use crate::error::{MetalError, Result};

/// Threads in a threadgroup unless the caller says otherwise.
const DEFAULT_THREADS_PER_GROUP: u32 = 256;

/// Number of threads of a launch, and their threadgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    extent: GridExtent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GridExtent {
    Threads {
        count: u64,
        per_group: Option<u32>,
    },
    Groups {
        count: [u32; 3],
        per_group: [u32; 3],
    },
}

/// A size in one, two or three dimensions.
pub trait Extent {
    fn extent(self) -> [u32; 3];
}

impl Extent for u32 {
    fn extent(self) -> [u32; 3] {
        [self, 1, 1]
    }
}

impl Extent for [u32; 2] {
    fn extent(self) -> [u32; 3] {
        [self[0], self[1], 1]
    }
}

impl Extent for [u32; 3] {
    fn extent(self) -> [u32; 3] {
        self
    }
}

impl Grid {
    /// `count` threads in one dimension, in threadgroups of 256 or of as many as the kernel allows.
    pub fn threads(count: usize) -> Self {
        Self {
            extent: GridExtent::Threads {
                count: count as u64,
                per_group: None,
            },
        }
    }

    /// `count` threads in one dimension, in threadgroups of `per_group`; the last may be cut short.
    pub fn threads_per_group(count: usize, per_group: u32) -> Self {
        Self {
            extent: GridExtent::Threads {
                count: count as u64,
                per_group: Some(per_group),
            },
        }
    }

    /// `count` whole threadgroups of `per_group` threads, each a number or `[x, y]` or `[x, y, z]`.
    pub fn groups(count: impl Extent, per_group: impl Extent) -> Self {
        Self {
            extent: GridExtent::Groups {
                count: count.extent(),
                per_group: per_group.extent(),
            },
        }
    }
}

/// A grid that fits a kernel and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub threads: [u32; 3],
    pub threads_per_group: [u32; 3],
    pub groups: [u32; 3],
    /// Given as a number of threads, so that the last threadgroup may be cut short.
    pub by_threads: bool,
    /// Nobody said how many threads a threadgroup has.
    pub any_size: bool,
}

impl Shape {
    /// The grid as threads and threadgroups of at most `limit` threads, or why it does not fit `kernel`.
    pub fn new(kernel: &'static str, grid: Grid, limit: u32) -> Result<Self> {
        let shape = match grid.extent {
            GridExtent::Threads { count, per_group } => {
                let any_size = per_group.is_none();
                let per_group = per_group.unwrap_or(DEFAULT_THREADS_PER_GROUP.min(limit));
                if count == 0 || per_group == 0 {
                    return Err(MetalError::EmptyGrid { kernel });
                }
                let groups = count.div_ceil(per_group as u64);
                let Ok(threads) = u32::try_from(count) else {
                    let limit = (u32::MAX / per_group) as u64;
                    return Err(MetalError::GridTooLarge {
                        kernel,
                        threadgroups: [groups, 1, 1],
                        limit: [limit, 1, 1],
                    });
                };
                Self {
                    threads: [threads, 1, 1],
                    threads_per_group: [per_group, 1, 1],
                    groups: [groups as u32, 1, 1],
                    by_threads: true,
                    any_size,
                }
            }
            GridExtent::Groups { count, per_group } => {
                if count.contains(&0) || per_group.contains(&0) {
                    return Err(MetalError::EmptyGrid { kernel });
                }
                let mut threads = [0; 3];
                for axis in 0..3 {
                    threads[axis] = count[axis].checked_mul(per_group[axis]).ok_or_else(|| {
                        MetalError::GridTooLarge {
                            kernel,
                            threadgroups: count.map(u64::from),
                            limit: per_group.map(|p| (u32::MAX / p) as u64),
                        }
                    })?;
                }
                Self {
                    threads,
                    threads_per_group: per_group,
                    groups: count,
                    by_threads: false,
                    any_size: false,
                }
            }
        };
        let requested = shape.threads_per_group.iter().map(|&t| t as u64).product();
        if requested > limit as u64 {
            return Err(MetalError::TooManyThreads {
                kernel,
                requested,
                limit,
            });
        }
        Ok(shape)
    }

    /// Threads of the whole grid.
    pub fn total_threads(&self) -> u64 {
        self.threads
            .iter()
            .map(|&t| t as u64)
            .fold(1, u64::saturating_mul)
    }
}
