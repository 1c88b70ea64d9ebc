//! Random launches that find wrong clauses: buffers exactly as long as the clauses say, between guard zones.
//!
//! Fields that the clauses read get small random numbers, all other words of values and buffers anything that is a
//! field element. Each launch runs twice with other bytes in the guard zones: a write changes them, a read changes
//! the results.

use std::ops::Range;

use crate::buffer::MetalBuffer;
use crate::checks::{DeviceCheckFailure, Random};
use crate::clause::{defined, ClauseFn, Clauses, Values};
use crate::error::MetalError;
use crate::grid::{Grid, Shape};
use crate::kernel::{ArgKind, ArgSpec, KernelLibrary, KernelSpec, MAX_BUFFERS};
use crate::launch::KernelCall;
use crate::stream::CommandStream;

/// Bytes of a guard zone.
const GUARD: usize = 64 << 10;
/// Most bytes of all buffers of a launch.
const MOST: u64 = 1 << 20;
/// Repetitions of a launch whose results differ.
const REPEATS: usize = 8;
/// Random parameters that are tried for a launch.
const TRIES: usize = 2000;

/// The kernels that were launched, and their findings.
#[derive(Clone, Debug, Default)]
pub struct ClauseReport {
    /// Kernels with launches that their clauses allow.
    pub launched: Vec<&'static str>,
    /// Kernels that safe code may launch, but for which no parameters were found.
    pub without_launch: Vec<&'static str>,
    /// Kernels that only unsafe code may launch.
    pub unchecked: Vec<&'static str>,
}

/// Launches every kernel of a library `rounds` times with buffers of the required lengths, and with each of
/// them an element too short.
///
/// # Errors
/// A launch that touches memory outside of its buffers or whose results depend on it, a short buffer that is
/// not refused, or what the device refuses.
pub fn check_clauses(
    stream: &CommandStream,
    library: &KernelLibrary,
    rounds: usize,
    seed: u64,
) -> Result<ClauseReport, DeviceCheckFailure> {
    let mut random = Random::new(seed);
    let mut report = ClauseReport::default();
    let mut wrong = Vec::new();
    let limit = stream
        .context()
        .device_profile()
        .max_threads_per_threadgroup;
    for kernel in library.units.iter().flat_map(|unit| unit.kernels) {
        let threadgroup = |a: &ArgSpec| matches!(a.kind, ArgKind::Threadgroup { .. });
        let Some(clauses) = kernel.clauses.filter(|_| kernel.safe) else {
            report.unchecked.push(kernel.name);
            continue;
        };
        if kernel.args.iter().any(threadgroup) {
            report.without_launch.push(kernel.name);
            continue;
        }
        let mut launched = 0;
        for _ in 0..rounds {
            let Some(launch) = Launch::random(kernel, clauses, limit, &mut random) else {
                break;
            };
            launched += 1;
            match launch.run(stream, &mut random) {
                Ok(()) => {}
                // One line for each kernel.
                Err(DeviceCheckFailure::Wrong(what)) => {
                    wrong.push(what);
                    break;
                }
                Err(device) => return Err(device),
            }
        }
        if launched > 0 {
            report.launched.push(kernel.name);
        } else {
            report.without_launch.push(kernel.name);
        }
    }
    if wrong.is_empty() {
        Ok(report)
    } else {
        Err(DeviceCheckFailure::Wrong(wrong.join("\n")))
    }
}

/// A launch that the clauses of its kernel allow.
struct Launch {
    kernel: &'static KernelSpec,
    grid: Grid,
    /// Bytes of each value by its index.
    values: Vec<(u8, Vec<u8>)>,
    /// Index, name, element size and elements of each buffer.
    buffers: Vec<(u8, &'static str, u64, u64)>,
}

impl Launch {
    fn random(
        kernel: &'static KernelSpec,
        clauses: ClauseFn,
        limit: u32,
        random: &mut Random,
    ) -> Option<Self> {
        (0..TRIES).find_map(|_| {
            let grid = random_grid(kernel, limit, random);
            let shape = Shape::new(kernel.name, grid, limit.min(kernel.max_threads)).ok()?;
            let values = random_values(kernel, clauses, &shape, random);
            let by_index = by_index(&values);
            let launch = Clauses::of(clauses, &shape, &by_index, &[]);
            launch.requirement(kernel.name).ok()?;
            let buffers: Vec<_> = kernel
                .args
                .iter()
                .filter_map(|a| match a.kind {
                    ArgKind::BufferRead { elem } | ArgKind::BufferWrite { elem } => {
                        let length = launch.lengths[a.index as usize];
                        Some((a.index, a.name, u64::from(elem), length))
                    }
                    _ => None,
                })
                .collect();
            let bytes = buffers
                .iter()
                .fold(0u64, |all, b| all.saturating_add(b.2.saturating_mul(b.3)));
            let affordable =
                bytes <= MOST && launch.cost.is_none_or(|cost| cost.products <= 1 << 24);
            affordable.then_some(Self {
                kernel,
                grid,
                values,
                buffers,
            })
        })
    }

    /// The range of each buffer in an arena with guard zones, and the arena's bytes.
    fn places(&self) -> (Vec<Range<usize>>, usize) {
        let mut at = GUARD;
        let mut places = Vec::with_capacity(self.buffers.len());
        for &(_, _, elem, length) in &self.buffers {
            let end = at + (elem * length) as usize;
            places.push(at..end);
            at = (end + GUARD).next_multiple_of(256);
        }
        (places, at)
    }

    fn run(&self, stream: &CommandStream, random: &mut Random) -> Result<(), DeviceCheckFailure> {
        let (places, bytes) = self.places();
        let host = random_words(bytes, random);
        let results = [
            self.results(stream, &host, &places, 0)?,
            self.results(stream, &host, &places, 0xFF)?,
        ];
        let differs = (0..places.len()).find(|&n| results[0][n] != results[1][n]);
        if let Some(n) = differs {
            // Threads that write one element in any order tell nothing: then no run is like the one before.
            let mut steady = true;
            for round in 0..REPEATS {
                let again = self.results(stream, &host, &places, [0, 0xFF][round % 2])?;
                steady &= again == results[round % 2];
            }
            if steady {
                let what = format!("`{}` depends on what lies outside", self.buffers[n].1);
                return Err(self.wrong(&places, what));
            }
        }
        self.too_short(stream, &places, bytes)
    }

    /// Contents of the buffers after a launch with guard zones of `host`, each byte changed by `flip`. Nothing but
    /// the buffers is written.
    fn results(
        &self,
        stream: &CommandStream,
        host: &[u8],
        places: &[Range<usize>],
        flip: u8,
    ) -> Result<Vec<Vec<u8>>, DeviceCheckFailure> {
        let mut before = host.to_vec();
        let end = before.len()..before.len();
        let guards = |bytes: &mut Vec<u8>, each: &mut dyn FnMut(usize, &mut u8)| {
            let mut from = 0;
            for place in places.iter().chain([&end]) {
                (from..place.start).for_each(|at| each(at, &mut bytes[at]));
                from = place.end;
            }
        };
        guards(&mut before, &mut |_, byte| *byte ^= flip);
        let arena = MetalBuffer::from_host(stream, &before)?;
        self.call(stream, &arena, places).dispatch()?;
        let mut after = arena.to_host(stream)?;
        let mut changed = None;
        guards(&mut after, &mut |at, byte| {
            if *byte != before[at] {
                changed.get_or_insert(at);
            }
        });
        if let Some(at) = changed {
            return Err(self.wrong(places, format!("byte {at} is written")));
        }
        Ok(places.iter().map(|p| after[p.clone()].to_vec()).collect())
    }

    fn call<'a>(
        &'a self,
        stream: &'a CommandStream,
        arena: &'a MetalBuffer<u8>,
        places: &[Range<usize>],
    ) -> KernelCall<'a> {
        let mut call = stream.encode(self.kernel, self.grid);
        for (place, &(index, ..)) in places.iter().zip(&self.buffers) {
            call = call.buffer_range(index, arena.slice(place.clone()));
        }
        for (index, value) in &self.values {
            call = call.value_bytes(*index, value);
        }
        call
    }

    /// An element less is refused, with the name of the argument and both lengths.
    fn too_short(
        &self,
        stream: &CommandStream,
        places: &[Range<usize>],
        bytes: usize,
    ) -> Result<(), DeviceCheckFailure> {
        let arena = MetalBuffer::<u8>::zeroed(stream, bytes)?;
        for (n, &(_, name, elem, length)) in self.buffers.iter().enumerate() {
            if length == 0 {
                continue;
            }
            let mut short = places.to_vec();
            short[n].end -= elem as usize;
            match self.call(stream, &arena, &short).dispatch() {
                Err(MetalError::BufferTooShort {
                    kernel,
                    argument,
                    required,
                    actual,
                }) if kernel == self.kernel.name
                    && argument == name
                    && (required, actual) == (length, length - 1) => {}
                other => {
                    let what = format!("`{name}` of {} elements gives {other:?}", length - 1);
                    return Err(self.wrong(places, what));
                }
            }
        }
        Ok(())
    }

    fn wrong(&self, places: &[Range<usize>], what: String) -> DeviceCheckFailure {
        DeviceCheckFailure::Wrong(format!(
            "kernel {}: {what}; grid {:?}, buffers {:?} at {places:?}, values {:?}",
            self.kernel.name, self.grid, self.buffers, self.values
        ))
    }
}

fn by_index(values: &[(u8, Vec<u8>)]) -> Values<'_> {
    let mut out: Values<'_> = [None; MAX_BUFFERS];
    for (index, bytes) in values {
        out[*index as usize] = Some(defined(bytes));
    }
    out
}

fn random_grid(kernel: &KernelSpec, limit: u32, random: &mut Random) -> Grid {
    let most = kernel.max_threads.min(limit) as usize;
    let per_group = [1, 2, 16, 32, 64, 128, 256][random.below(7)].min(most) as u32;
    if kernel.kind.has_barriers() {
        return Grid::groups(1 + random.below(6) as u32, per_group);
    }
    Grid::threads_per_group(1 + random.below(300), per_group)
}

/// Random words below 2^30. As elements of a field of 31 bits they are canonical: for others the vector version and
/// the scalar version of a kernel may give different words, and which threads run in which depends on the time.
fn random_words(bytes: usize, random: &mut Random) -> Vec<u8> {
    let mut words = random.bytes(bytes);
    words
        .iter_mut()
        .skip(3)
        .step_by(4)
        .for_each(|top| *top &= 0x3F);
    words
}

/// Random words, with small numbers where the clauses read.
fn random_values(
    kernel: &KernelSpec,
    clauses: ClauseFn,
    shape: &Shape,
    random: &mut Random,
) -> Vec<(u8, Vec<u8>)> {
    let mut values: Vec<(u8, Vec<u8>)> = kernel
        .args
        .iter()
        .filter_map(|a| match a.kind {
            ArgKind::Value { size } => Some((a.index, random_words(size as usize, random))),
            _ => None,
        })
        .collect();
    let by_index = by_index(&values);
    let recorded = Clauses::recorded(clauses, shape, &by_index, &[]);
    let fields = recorded.fields.unwrap_or_default();
    for (index, offset, bytes) in fields {
        let number = small(shape, random).to_le_bytes();
        let value = values.iter_mut().find(|v| v.0 == index);
        if let Some(field) = value.and_then(|v| v.1.get_mut(offset..offset + bytes)) {
            field.copy_from_slice(&number[..bytes]);
        }
    }
    values
}

/// Numbers as parameters have them: small, powers of two, multiples, sizes of the grid.
fn small(shape: &Shape, random: &mut Random) -> u64 {
    match random.below(8) {
        0 => 0,
        1 | 2 => random.below(5) as u64,
        3 => random.below(14) as u64,
        4 => 1 << random.below(10),
        5 => 16 * random.below(20) as u64,
        6 => u64::from(shape.threads[0]) + random.below(3) as u64,
        _ => random.below(600) as u64,
    }
}
