//! An engine that makes two proofs at once and fails after some, or makes some wrong.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc, Mutex,
    },
};

use openvm_metal_common::{Device, MetalContext, MetalError};
use openvm_metal_sdk::{
    engine::{EngineError, MetalEngine, OtherAirData},
    SdkEngine,
};
use openvm_stark_backend::{
    keygen::types::MultiStarkProvingKey,
    memory_metering::ProvingMemoryConfig,
    p3_matrix::dense::RowMajorMatrix,
    proof::Proof,
    prover::{Coordinator, DeviceMultiStarkProvingKey, ProverBackend, ProvingContext},
    ProverError, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, Digest, F};
use p3_field::PrimeCharacteristicRing;

/// The engine on the processor until it has made so many proofs; then it gives up.
pub struct Faulty {
    inner: MetalEngine,
    left: Arc<AtomicUsize>,
    name: &'static str,
    /// Proofs that the device makes now.
    making: Arc<AtomicUsize>,
}

/// The most proofs that devices of a name made at once.
pub static MOST_AT_ONCE: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());

/// The name of a device whose commitments are others.
pub const COMMITS_TO_OTHERS: &str = "commits to others";

/// By the name of a device: the proofs that it has made, and which of them it makes wrong.
static WRONG: Mutex<BTreeMap<&str, (usize, Range<usize>)>> = Mutex::new(BTreeMap::new());

/// By the name of a device: the proofs that it was asked for, and which of them find no memory.
static NO_MEMORY: Mutex<BTreeMap<&str, (usize, Range<usize>)>> = Mutex::new(BTreeMap::new());

/// The proofs in this range, counted from now on, are made wrong by devices of a name.
pub fn make_wrong(name: &'static str, proofs: Range<usize>) {
    WRONG.lock().unwrap().insert(name, (0, proofs));
}

/// True if the next proof of a device is in its range.
fn is_next_in(ranges: &Mutex<BTreeMap<&str, (usize, Range<usize>)>>, name: &str) -> bool {
    let mut ranges = ranges.lock().unwrap();
    ranges.get_mut(name).is_some_and(|(made, range)| {
        *made += 1;
        range.contains(&(*made - 1))
    })
}

/// The proofs in this range, counted from now on, find no memory on devices of a name.
pub fn leave_no_memory(name: &'static str, proofs: Range<usize>) {
    NO_MEMORY.lock().unwrap().insert(name, (0, proofs));
}

/// A name and the number of proofs that it makes.
pub type FaultyDevice = (&'static str, usize);

impl StarkEngine for Faulty {
    type SC = SC;
    type PB = <MetalEngine as StarkEngine>::PB;
    type PD = <MetalEngine as StarkEngine>::PD;
    type TS = <MetalEngine as StarkEngine>::TS;

    fn new(params: SystemParams) -> Self {
        Self {
            inner: MetalEngine::new(params),
            left: Arc::new(AtomicUsize::new(usize::MAX)),
            name: "any",
            making: Arc::default(),
        }
    }

    fn config(&self) -> &SC {
        self.inner.config()
    }

    fn device(&self) -> &Self::PD {
        self.inner.device()
    }

    fn initial_transcript(&self) -> Self::TS {
        self.inner.initial_transcript()
    }

    fn prover_from_transcript(
        &self,
        transcript: Self::TS,
    ) -> Coordinator<SC, Self::PB, Self::PD, Self::TS> {
        self.inner.prover_from_transcript(transcript)
    }

    fn prove(
        &self,
        pk: &DeviceMultiStarkProvingKey<Self::PB>,
        ctx: ProvingContext<Self::PB>,
    ) -> Result<Proof<SC>, ProverError<Self>> {
        let left = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        assert!(left.is_ok(), "the cable was pulled");
        if is_next_in(&NO_MEMORY, self.name) {
            let error = MetalError::OutOfMemory {
                requested: 17 << 30,
                in_use: 108 << 30,
                budget: 139 << 30,
                stage: "prover.commit".into(),
            };
            return Err(error.into());
        }
        let making = self.making.fetch_add(1, Ordering::SeqCst) + 1;
        {
            let mut most = MOST_AT_ONCE.lock().unwrap();
            let most = most.entry(self.name).or_default();
            *most = making.max(*most);
        }
        let proof = self.inner.prove(pk, ctx);
        self.making.fetch_sub(1, Ordering::SeqCst);
        proof.map(|mut proof| {
            if is_next_in(&WRONG, self.name) {
                proof.common_main_commit[0] += F::ONE;
            }
            proof
        })
    }
}

impl SdkEngine for Faulty {
    type Device = FaultyDevice;
    type Context = (
        &'static str,
        Arc<AtomicUsize>,
        Arc<AtomicUsize>,
        MetalContext,
    );

    fn connect(&(name, proofs): &FaultyDevice, _: usize) -> Result<Self::Context, EngineError> {
        // A context of its own, as of another device.
        let context = MetalEngine::connect(&Device::Cpu, 1)?;
        let left = Arc::new(AtomicUsize::new(proofs));
        Ok((name, left, Arc::default(), context))
    }

    fn open(params: SystemParams, context: &Self::Context) -> Result<Self, EngineError> {
        Ok(Self {
            inner: MetalEngine::open(params, &context.3)?,
            left: context.1.clone(),
            name: context.0,
            making: context.2.clone(),
        })
    }

    fn label(_: &FaultyDevice, context: &Self::Context) -> String {
        context.0.to_owned()
    }

    fn memory_config(params: &SystemParams) -> ProvingMemoryConfig {
        MetalEngine::memory_config(params)
    }

    fn air_data(key: &MultiStarkProvingKey<SC>) -> Vec<OtherAirData<Self>> {
        MetalEngine::air_data(key)
    }

    /// Two proofs at once, as on a GPU.
    fn proofs_at_once(_: &Self::Context) -> usize {
        2
    }

    fn memory_needed(
        &self,
        key: &DeviceMultiStarkProvingKey<Self::PB>,
        ctx: &ProvingContext<Self::PB>,
    ) -> Option<u64> {
        self.inner.memory_needed(key, ctx)
    }

    fn memory_budget(&self) -> Option<u64> {
        self.inner.memory_budget()
    }

    fn commit(
        &self,
        trace: &<Self::PB as ProverBackend>::Matrix,
    ) -> Result<(Digest, <Self::PB as ProverBackend>::PcsData), EngineError> {
        let (mut root, data) = self.inner.commit(trace)?;
        if self.name == COMMITS_TO_OTHERS {
            root[0] += F::ONE;
        }
        Ok((root, data))
    }

    fn upload(device: &Self::PD, trace: RowMajorMatrix<F>) -> <Self::PB as ProverBackend>::Matrix {
        MetalEngine::upload(device, trace)
    }
}
