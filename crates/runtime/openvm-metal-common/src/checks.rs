//! Checks of a device that need no kernels: copies, fills, their order, memory, threads.
//!
//! `openvm-metal selftest` runs them on the device of the user, the tests of this crate on the one of the
//! environment. They use what drivers do in different ways: odd offsets, more submissions than a queue
//! holds, memory that is reused while work is in flight, offsets beyond 4 GiB.

use crate::buffer::MetalBuffer;
use crate::copy::{MemCopyD2D, MemCopyH2D};
use crate::error::MetalError;
use crate::stream::CommandStream;

/// Failure of a [`DeviceCheck`].
#[derive(Debug, thiserror::Error)]
pub enum DeviceCheckFailure {
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] MetalError),
    /// The device computed something else.
    #[error("{0}")]
    Wrong(String),
}

type Outcome = Result<(), DeviceCheckFailure>;

/// A named check of what every device must do.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCheck {
    /// Name of the check.
    pub name: &'static str,
    run: fn(&CommandStream, &mut Random) -> Outcome,
}

impl DeviceCheck {
    /// Runs the check on the device of `stream`, with choices made from `seed`.
    ///
    /// # Errors
    /// The first difference, or what the device refused.
    pub fn run(&self, stream: &CommandStream, seed: u64) -> Outcome {
        (self.run)(stream, &mut Random(seed))
    }
}

/// All checks.
pub fn device_checks() -> &'static [DeviceCheck] {
    const fn check(
        name: &'static str,
        run: fn(&CommandStream, &mut Random) -> Outcome,
    ) -> DeviceCheck {
        DeviceCheck { name, run }
    }
    const CHECKS: [DeviceCheck; 6] = [
        check("odd_bytes", odd_bytes),
        check("queue_order", queue_order),
        check("memory_reuse", memory_reuse),
        check("far_offsets", far_offsets),
        check("threads", threads),
        check("refusals", refusals),
    ];
    &CHECKS
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, actual: &[T], expected: &[T]) -> Outcome {
    let Some(at) = (0..actual.len()).find(|&i| Some(&actual[i]) != expected.get(i)) else {
        return Ok(());
    };
    let wrong = format!(
        "{what}: element {at} of {} is {:?}, expected {:?}",
        actual.len(),
        actual[at],
        expected.get(at)
    );
    Err(DeviceCheckFailure::Wrong(wrong))
}

/// Copies, fills and uploads at every offset and of every length, not only multiples of a word.
fn odd_bytes(s: &CommandStream, random: &mut Random) -> Outcome {
    const LEN: usize = 1000;
    let mut host = [random.bytes(LEN), random.bytes(LEN)];
    let mut a = MetalBuffer::from_host(s, &host[0])?;
    let mut b = MetalBuffer::from_host(s, &host[1])?;
    for round in 0..400 {
        let len = random.below(200);
        let (from, to) = (random.below(LEN - len), random.below(LEN - len));
        let (source, target) = (from..from + len, to..to + len);
        match round % 4 {
            0 => {
                a.slice(source.clone())
                    .copy_to(b.slice_mut(target.clone()), s)?;
                let moved = host[0][source].to_vec();
                host[1][target].copy_from_slice(&moved);
            }
            1 => {
                b.slice(source.clone())
                    .copy_to(a.slice_mut(target.clone()), s)?;
                let moved = host[1][source].to_vec();
                host[0][target].copy_from_slice(&moved);
            }
            2 => {
                b.slice_mut(target.clone()).fill_zero(s)?;
                host[1][target].fill(0);
            }
            _ => {
                let data = random.bytes(len);
                data[..].copy_to(a.slice_mut(target.clone()), s)?;
                host[0][target].copy_from_slice(&data);
            }
        }
    }
    same("first buffer", &a.to_host(s)?, &host[0])?;
    same("second buffer", &b.to_host(s)?, &host[1])
}

/// More submissions than a queue holds, each of which uses what the one before wrote.
fn queue_order(s: &CommandStream, _: &mut Random) -> Outcome {
    const STEPS: usize = 300;
    let mut a = MetalBuffer::from_host(s, &[0u32])?;
    let mut all = MetalBuffer::<u32>::zeroed(s, STEPS)?;
    for step in 0..STEPS {
        // An upload into memory that work in flight reads.
        [step as u32][..].copy_to(&mut a, s)?;
        a.as_slice().copy_to(all.slice_mut(step..=step), s)?;
        s.submit()?;
    }
    let expected: Vec<u32> = (0..STEPS as u32).collect();
    same("steps", &all.to_host(s)?, &expected)
}

/// Memory that is given back while copies from it are in flight, and taken again at once.
fn memory_reuse(s: &CommandStream, random: &mut Random) -> Outcome {
    const LEN: usize = 5000;
    const ROUNDS: usize = 60;
    let mut all = MetalBuffer::<u8>::zeroed(s, LEN * ROUNDS)?;
    let mut expected = Vec::with_capacity(LEN * ROUNDS);
    for round in 0..ROUNDS {
        let data = random.bytes(LEN);
        let fresh = MetalBuffer::from_host(s, &data)?;
        let mut between = MetalBuffer::<u8>::uninit(s.context(), LEN)?;
        fresh.as_slice().copy_to(&mut between, s)?;
        drop(fresh);
        let start = round * LEN;
        between
            .as_slice()
            .copy_to(all.slice_mut(start..start + LEN), s)?;
        expected.extend(data);
    }
    same("copies", &all.to_host(s)?, &expected)
}

/// The ends of a buffer of more than 4 GiB, or of as much as the device gives.
fn far_offsets(s: &CommandStream, random: &mut Random) -> Outcome {
    const FAR: u64 = (4 << 30) + (1 << 20);
    const END: usize = 4096;
    let profile = s.context().device_profile();
    // Fresh memory is poisoned in conformance mode, which takes its time.
    let most = if s.context().info().conformance {
        1 << 24
    } else {
        FAR
    };
    let len = most.min(profile.budget / 2).min(profile.max_buffer) as usize;
    let mut big = MetalBuffer::<u8>::uninit(s.context(), len)?;
    let data = random.bytes(2 * END);
    let (first, last) = data.split_at(END);
    first.copy_to(big.slice_mut(..END), s)?;
    last.copy_to(big.slice_mut(len - END..), s)?;
    big.slice_mut(len - 8..len - 4).fill_zero(s)?;
    let mut expected = data.clone();
    expected[2 * END - 8..2 * END - 4].fill(0);
    let read = s.read_many(&[big.slice(..END), big.slice(len - END..)])?;
    same("both ends", &read.concat(), &expected)
}

/// Several threads that share a context, each with buffers of its own.
fn threads(s: &CommandStream, random: &mut Random) -> Outcome {
    let seeds: Vec<u64> = (0..4).map(|_| random.next()).collect();
    std::thread::scope(|scope| {
        let started: Vec<_> = seeds
            .into_iter()
            .map(|seed| {
                let stream = s.context().stream();
                scope.spawn(move || one_thread(&stream, &mut Random(seed)))
            })
            .collect();
        started.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(DeviceCheckFailure::Wrong("a thread panicked".into())))
        })
    })
}

fn one_thread(s: &CommandStream, random: &mut Random) -> Outcome {
    for _ in 0..20 {
        let len = 1 + random.below(3000);
        let data: Vec<u64> = (0..len).map(|_| random.next()).collect();
        let a = MetalBuffer::from_host(s, &data)?;
        let mut b = MetalBuffer::<u64>::zeroed(s, 2 * len)?;
        a.as_slice().copy_to(b.slice_mut(len..), s)?;
        drop(a);
        let expected = [vec![0; len], data].concat();
        same("a thread's copies", &b.to_host(s)?, &expected)?;
    }
    Ok(())
}

/// Memory over the budget is refused, and the device goes on.
fn refusals(s: &CommandStream, random: &mut Random) -> Outcome {
    let profile = s.context().device_profile();
    let most = profile.budget.min(profile.max_buffer);
    let refused = MetalBuffer::<u8>::uninit(s.context(), most as usize + (4 << 20));
    match refused {
        Err(MetalError::OutOfMemory { .. } | MetalError::BufferTooLarge { .. }) => {}
        Err(other) => return Err(other.into()),
        Ok(_) => {
            let wrong = format!("{most} bytes are the most, and more were given");
            return Err(DeviceCheckFailure::Wrong(wrong));
        }
    }
    let data = random.bytes(100);
    let after = MetalBuffer::from_host(s, &data)?;
    same("after a refusal", &after.to_host(s)?, &data)
}
