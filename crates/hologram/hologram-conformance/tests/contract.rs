//! Random calls of the backend trait, right and wrong ones, on the interpreter and on kernels: both must
//! give the same data and the same errors.

use std::collections::BTreeMap;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::{
    Backend, BackendError, BufferHandle, ExecutionParams, PoolHandle, Program, Register, Ticket,
};
use hologram_conformance::Numbers;
use openvm_metal_common::Device;

const STEPS: usize = 4_000;
/// Largest buffer and pool that is made here.
const MOST: u64 = 3_000;

/// Result of a call: text of the error with handles as slots, or data.
type Outcome = Result<Vec<u8>, String>;

/// A backend with everything that was ever made in it, freed or not.
struct World {
    backend: Box<dyn Backend>,
    buffers: Vec<BufferHandle>,
    pools: Vec<PoolHandle>,
    programs: [Program; 2],
}

impl World {
    fn new(backend: Box<dyn Backend>) -> Self {
        let class = |class| BufferHandle::class(class).expect("class");
        let parse = |text: &str| text.parse().expect("program");
        Self {
            backend,
            buffers: vec![
                BufferHandle::BOUNDARY,
                class(0),
                class(95),
                BufferHandle::from_raw(u64::MAX / 2),
            ],
            pools: vec![PoolHandle::from_raw(0), PoolHandle::from_raw(u64::MAX)],
            programs: [
                parse("ldg.u32 r0, [r1 + r3]\nstg.u32 r0, [r2 + r4]"),
                parse("pool_load.u16 r0, r1, r3\npool_store.u16 r0, r2, r4"),
            ],
        }
    }

    /// An error without what differs: raw handles become slots.
    fn name(&self, error: &BackendError) -> String {
        let mut text = format!("{error:?}");
        let buffers = self.buffers.iter().map(|h| h.raw()).enumerate();
        let pools = self.pools.iter().map(|h| h.raw()).enumerate();
        for (kind, slots) in [
            ("BufferHandle", buffers.collect::<BTreeMap<_, _>>()),
            ("PoolHandle", pools.collect()),
        ] {
            for (slot, raw) in slots {
                text = text.replace(&format!("{kind}({raw})"), &format!("{kind} of slot {slot}"));
                for (before, after) in [
                    ("Buffer", ","),
                    ("Buffer", " "),
                    ("Pool", ","),
                    ("Pool", " "),
                ] {
                    if kind.starts_with(before) && text.contains(before) {
                        let plain = format!("handle: {raw}{after}");
                        text = text.replace(&plain, &format!("handle: slot {slot}{after}"));
                    }
                }
            }
        }
        text
    }

    fn step(&mut self, numbers: &mut Numbers) -> Outcome {
        self.call(numbers).map_err(|error| self.name(&error))
    }

    fn call(&mut self, numbers: &mut Numbers) -> Result<Vec<u8>, BackendError> {
        let kind = numbers.below(14);
        let [a, mut b] = [0; 2].map(|_| pick(&self.buffers, numbers));
        if numbers.below(4) == 0 {
            b = a;
        }
        let [p, q] = [0; 2].map(|_| pick(&self.pools, numbers));
        let [x, mut y] = [0; 2].map(|_| offset(numbers));
        let len = numbers.below(40) as usize;
        if numbers.below(3) == 0 {
            y = x.saturating_add(len.saturating_sub(1) + numbers.below(3) as usize);
        }
        let data: Vec<u8> = (0..len).map(|_| numbers.bits() as u8).collect();
        let size = numbers.below(MOST) as usize * usize::from(numbers.below(9) > 0);
        let mut read = vec![0; len];
        match kind {
            0 if self.buffers.len() < 60 => {
                let handle = self.backend.allocate_buffer(size)?;
                self.buffers.push(handle);
            }
            1 if numbers.below(4) == 0 => self.backend.free_buffer(a)?,
            2 => self.backend.copy_to_buffer_at(a, x, &data)?,
            3 => self.backend.copy_from_buffer_at(a, x, &mut read)?,
            4 => self.backend.copy_buffer(a, x, b, y, len)?,
            5 => return Ok(self.backend.buffer_size(a)?.to_le_bytes().to_vec()),
            6 if self.pools.len() < 60 => {
                let handle = self.backend.allocate_pool(size)?;
                self.pools.push(handle);
            }
            7 if numbers.below(4) == 0 => self.backend.free_pool(p)?,
            8 => self.backend.copy_to_pool(p, x, &data)?,
            9 => self.backend.copy_from_pool(p, x, &mut read)?,
            10 => return Ok(self.backend.pool_size(p)?.to_le_bytes().to_vec()),
            11 | 12 => self.run(0, [a.raw(), b.raw()], [x, y])?,
            13 => self.run(1, [p.raw(), q.raw()], [x, y])?,
            _ => {}
        }
        Ok(read)
    }

    fn run(
        &mut self,
        at: usize,
        handles: [u64; 2],
        offsets: [usize; 2],
    ) -> Result<(), BackendError> {
        let mut params = ExecutionParams::default();
        let offsets = offsets.map(|offset| offset as u64);
        for (index, value) in (1..).zip(handles.into_iter().chain(offsets)) {
            params = params.with_u64(Register::new(index), value);
        }
        let ticket = self.backend.submit(&self.programs[at], &params)?;
        self.backend.wait(ticket)
    }

    /// All live memory.
    fn contents(&mut self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for &handle in &self.buffers {
            if let Ok(size) = self.backend.buffer_size(handle) {
                let mut data = vec![0; size];
                self.backend
                    .copy_from_buffer(handle, &mut data)
                    .expect("a live buffer");
                all.push(data);
            }
        }
        for &handle in &self.pools {
            if let Ok(size) = self.backend.pool_size(handle) {
                let mut data = vec![0; size];
                self.backend
                    .copy_from_pool(handle, 0, &mut data)
                    .expect("a live pool");
                all.push(data);
            }
        }
        all
    }
}

fn pick<T: Copy>(all: &[T], numbers: &mut Numbers) -> T {
    all[numbers.below(all.len() as u64) as usize]
}

fn offset(numbers: &mut Numbers) -> usize {
    match numbers.below(20) {
        0 => usize::MAX - numbers.below(50) as usize,
        1 => 12_288 - numbers.below(60) as usize,
        2 => 1_179_648 - numbers.below(60) as usize,
        3..=12 => numbers.below(200) as usize,
        _ => numbers.below(MOST) as usize,
    }
}

fn device() -> Device {
    match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => name.parse().expect("OPENVM_METAL_DEVICE"),
        Err(_) => Device::Cpu,
    }
}

#[test]
fn backends_answer_alike() {
    let scratch = std::env::temp_dir().join("hologram-contract-test");
    let kernels = MetalBackend::with_scratch(device(), scratch).expect("the device");
    let mut reference = World::new(Box::new(CpuBackend::new()));
    let mut other = World::new(Box::new(kernels));
    let mut numbers = Numbers::new(1);
    let (mut good, mut kinds) = (0, BTreeMap::<String, usize>::new());
    for step in 0..STEPS {
        let before = numbers.clone();
        let expected = reference.step(&mut numbers);
        let found = other.step(&mut before.clone());
        assert_eq!(found, expected, "step {step}");
        match expected {
            Ok(_) => good += 1,
            Err(text) => {
                let kind = text.split(['(', '{']).next().unwrap_or_default();
                *kinds.entry(kind.trim().to_owned()).or_default() += 1;
            }
        }
        if step % 500 == 499 {
            assert!(
                reference.contents() == other.contents(),
                "contents after step {step}"
            );
        }
    }
    assert!(good > STEPS / 8, "{good} of {STEPS} calls were right");
    for kind in [
        "InvalidBufferHandle",
        "InvalidPoolHandle",
        "BufferOutOfBounds",
        "PoolOutOfBounds",
        "OverlappingCopy",
        "Fault",
    ] {
        assert!(kinds.contains_key(kind), "{kind} is not among {kinds:?}");
    }
}

#[test]
fn tickets_of_others_are_refused() {
    let scratch = std::env::temp_dir().join("hologram-contract-test");
    let kernels = MetalBackend::with_scratch(device(), scratch).expect("the device");
    let backends: [Box<dyn Backend>; 2] = [Box::new(CpuBackend::new()), Box::new(kernels)];
    let exit: Program = "exit".parse().expect("program");
    for mut backend in backends {
        let ticket = backend
            .submit(&exit, &ExecutionParams::default())
            .expect("submit");
        let raw = ticket.raw();
        assert_eq!(backend.wait(ticket), Ok(()));
        for raw in [raw, 0, u64::MAX] {
            let again = backend.wait(Ticket::from_raw(raw));
            assert_eq!(again, Err(BackendError::InvalidTicket(raw)));
        }
    }
}

/// Tickets that are thrown away take no results with them, and leave none.
#[test]
fn old_tickets_know_how_their_submissions_ended() {
    let scratch = std::env::temp_dir().join("hologram-contract-test");
    let kernels = MetalBackend::with_scratch(device(), scratch).expect("the device");
    let backends: [Box<dyn Backend>; 2] = [Box::new(CpuBackend::new()), Box::new(kernels)];
    let exit: Program = "exit".parse().expect("program");
    let fault: Program = "stg.u32 r252, [buf9 + 0]".parse().expect("program");
    for mut backend in backends {
        let params = ExecutionParams::default();
        let mut submit = |program: &Program| backend.submit(program, &params).expect("submit");
        let (good, bad) = (submit(&exit), submit(&fault));
        for _ in 0..3000 {
            drop(submit(&exit));
        }
        let last = submit(&fault);
        assert_eq!(backend.wait(good), Ok(()));
        for ticket in [bad, last] {
            let ended = backend.wait(ticket);
            assert!(matches!(ended, Err(BackendError::Fault(_))), "{ended:?}");
        }
    }
}
