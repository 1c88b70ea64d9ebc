//! A VM builder around another one, whose system chips it replaces.

use openvm_circuit::{
    arch::{AirInventory, Arena, ChipInventoryError, VmBuilder, VmChipComplex},
    system::SystemChipComplex,
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::{EngineDeviceCtx, StarkEngine};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

use super::chips::{OnHost, SparseSystem};

/// Builds the chips that `VB` builds on the CPU backend, with [`SparseSystem`] as system chips.
#[derive(Clone, Copy, Debug, Default)]
pub struct SparseSystemBuilder<VB>(pub VB);

impl<E, VB> VmBuilder<E> for SparseSystemBuilder<VB>
where
    E: StarkEngine<SC = BabyBearPoseidon2Config, PB = CpuBackend<BabyBearPoseidon2Config>>,
    VB: VmBuilder<E>,
    VB::RecordArena: Arena,
    VB::SystemChipInventory: SystemChipComplex<VB::RecordArena, E::PB>,
{
    type VmConfig = VB::VmConfig;
    type RecordArena = VB::RecordArena;
    type SystemChipInventory = SparseSystem<E::PB, OnHost>;

    #[allow(clippy::type_complexity)] // the trait's own
    fn create_chip_complex(
        &self,
        config: &Self::VmConfig,
        circuit: AirInventory<E::SC>,
        device_ctx: &EngineDeviceCtx<E>,
    ) -> Result<
        VmChipComplex<E::SC, Self::RecordArena, E::PB, Self::SystemChipInventory>,
        ChipInventoryError,
    > {
        let inner = self.0.create_chip_complex(config, circuit, device_ctx)?;
        Ok(VmChipComplex {
            system: SparseSystem::from_inventory(&inner.inventory, OnHost)?,
            inventory: inner.inventory,
        })
    }
}
