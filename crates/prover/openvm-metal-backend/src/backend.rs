//! `MetalBackend`: the associated types of `ProverBackend`.

use std::{fmt, marker::PhantomData, ops::Deref, sync::Arc};

use openvm_stark_backend::prover::{DeviceStarkProvingKey, ProverBackend};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

use crate::{
    constraints::AirDataMetal,
    error::MetalProverError,
    hash::HashScheme,
    matrix::MetalMatrix,
    prelude::{D_EF, EF, F},
    stacked::StackedPcsDataMetal,
};

/// The prover backend whose data live in the memory of a Metal, CUDA or CPU device.
pub struct MetalBackend<SC = BabyBearPoseidon2Config>(PhantomData<fn() -> SC>);

impl<SC> Clone for MetalBackend<SC> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<SC> Copy for MetalBackend<SC> {}

impl<SC> Default for MetalBackend<SC> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<SC> fmt::Debug for MetalBackend<SC> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetalBackend")
    }
}

impl<SC: HashScheme> ProverBackend for MetalBackend<SC> {
    const CHALLENGE_EXT_DEGREE: u8 = D_EF as u8;

    type Val = F;
    type Challenge = EF;
    type Commitment = SC::Digest;
    type Matrix = MetalMatrix<F>;
    type OtherAirData = Transported<AirDataMetal>;
    type PcsData = Transported<StackedPcsDataMetal<SC>>;

    /// Words of temporaries per row that evaluating the constraints of the AIR needs.
    fn constraint_eval_buffer_size(pk: &DeviceStarkProvingKey<Self>) -> usize {
        pk.other_data
            .get()
            .map_or(0, AirDataMetal::eval_buffer_size)
    }
}

/// Something that was brought to the device, or the reason why it was not.
///
/// The transport traits of `openvm-stark-backend` cannot fail; a proof that needs a failed input is
/// refused with its error before any work starts. Dereferences to the data.
#[derive(Clone, Debug)]
pub struct Transported<T>(Result<T, Arc<MetalProverError>>);

impl<T> Transported<T> {
    /// Data that are on the device.
    pub fn ok(data: T) -> Self {
        Self(Ok(data))
    }

    /// Result of an attempt.
    pub fn from_result(result: Result<T, MetalProverError>) -> Self {
        Self(result.map_err(Arc::new))
    }

    /// Reason why they were not brought there.
    pub(crate) fn failed(error: Arc<MetalProverError>) -> Self {
        Self(Err(error))
    }

    /// The data, if they are on the device.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut().ok()
    }

    /// The data, if they are on the device.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref().ok()
    }

    /// The data, or the error of their transport.
    ///
    /// # Errors
    /// [`MetalProverError::Transport`].
    pub fn checked(&self) -> Result<&T, MetalProverError> {
        self.0
            .as_ref()
            .map_err(|error| MetalProverError::Transport(error.clone()))
    }
}

impl<T> Deref for Transported<T> {
    type Target = T;

    /// # Panics
    /// If the transport failed; a proof checks every input before it starts.
    #[track_caller]
    fn deref(&self) -> &T {
        match &self.0 {
            Ok(data) => data,
            Err(error) => panic!("the data are not on the device: {error}"),
        }
    }
}
