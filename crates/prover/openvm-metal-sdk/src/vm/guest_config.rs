//! `GuestConfig`: OpenVM's configuration with phantom instructions that take every input of a guest.

use std::ops::{Deref, DerefMut, Range};

use openvm_circuit::{
    arch::{
        instructions::{program::Program, PhantomDiscriminant},
        AirInventory, AirInventoryError, AnyEnum, ChipInventoryError, ExecutorInventory,
        ExecutorInventoryBuilder, ExecutorInventoryError, InitFileGenerator, PhantomSubExecutor,
        Streams, SystemConfig, VmBuilder, VmChipComplex, VmCircuitConfig, VmExecutionConfig,
        VmExecutionExtension,
    },
    system::memory::online::{GuestMemory, LinearMemory},
};
use openvm_rv32im_transpiler::Rv32Phantom;
use openvm_sdk_config::{SdkVmConfig, SdkVmConfigExecutor};
use openvm_stark_backend::{p3_field::PrimeCharacteristicRing, EngineDeviceCtx};
use rand::{rngs::StdRng, Rng};
use serde::{Deserialize, Serialize};

use super::{
    checked::{code, set_rules, CheckedExecutor},
    MetalVmBuilder,
};
use crate::{
    engine::SdkEngine,
    fault::{Access, Fault},
    guest_output,
    prelude::{F, SC},
};

/// Address spaces of registers and of memory.
const REGISTERS: usize = 1;
const MEMORY: usize = 2;

/// Most words of random hints that one instruction makes: 64 MiB for the guest. OpenVM's makes as many as the guest asks for, up
/// to 64 GiB of the host's memory.
const MAX_RANDOM_WORDS: u32 = 1 << 24;

/// The configuration of a virtual machine. It has the circuit of [`SdkVmConfig`] and executes the same programs alike, but
/// for two phantom instructions, which no constraint sees: text of any encoding is printed, to the
/// [output](crate::GuestOutput) of the execution, and random hints are bounded. What a circuit does not allow ends the guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestConfig {
    config: SdkVmConfig,
    /// Addresses of the program's instructions.
    #[serde(skip)]
    code: Range<u32>,
}

impl GuestConfig {
    /// Makes the configuration for the execution of one program.
    pub fn new(config: SdkVmConfig, program: &Program<F>) -> Self {
        let code = code(program);
        Self { config, code }
    }
}

impl Deref for GuestConfig {
    type Target = SdkVmConfig;

    fn deref(&self) -> &SdkVmConfig {
        &self.config
    }
}

impl DerefMut for GuestConfig {
    fn deref_mut(&mut self) -> &mut SdkVmConfig {
        &mut self.config
    }
}

impl AsRef<SystemConfig> for GuestConfig {
    fn as_ref(&self) -> &SystemConfig {
        self.config.as_ref()
    }
}

impl AsMut<SystemConfig> for GuestConfig {
    fn as_mut(&mut self) -> &mut SystemConfig {
        self.config.as_mut()
    }
}

impl InitFileGenerator for GuestConfig {
    fn generate_init_file_contents(&self) -> Option<String> {
        self.config.generate_init_file_contents()
    }
}

impl VmCircuitConfig<SC> for GuestConfig {
    fn create_airs(&self) -> Result<AirInventory<SC>, AirInventoryError> {
        self.config.create_airs()
    }
}

impl VmExecutionConfig<F> for GuestConfig {
    type Executor = CheckedExecutor;

    /// The executors of [`SdkVmConfig`], in its order, each behind checks.
    fn create_executors(
        &self,
    ) -> Result<ExecutorInventory<Self::Executor>, ExecutorInventoryError> {
        type Inner = SdkVmConfigExecutor<F>;
        let config = self.config.to_inner();
        let inventory = config
            .system
            .create_executors()?
            .transmute::<Inner>()
            .extend::<F, Inner, _>(&config.rv32i.map(Phantoms))?
            .extend::<F, Inner, _>(&config.io)?
            .extend::<F, Inner, _>(&config.keccak)?
            .extend::<F, Inner, _>(&config.sha2)?
            .extend::<F, Inner, _>(&config.rv32m)?
            .extend::<F, Inner, _>(&config.bigint)?
            .extend::<F, Inner, _>(&config.modular)?
            .extend::<F, Inner, _>(&config.fp2)?
            .extend::<F, Inner, _>(&config.pairing)?
            .extend::<F, Inner, _>(&config.ecc)?
            .extend::<F, Inner, _>(&config.deferral)?;
        let mut inventory = inventory.transmute::<CheckedExecutor>();
        set_rules(&mut inventory, &self.config, self.code.clone());
        Ok(inventory)
    }
}

/// The extension that registers OpenVM's phantom instructions, with ours in place of two.
struct Phantoms<X>(X);

impl<X> VmExecutionExtension<F> for Phantoms<X>
where
    X: VmExecutionExtension<F>,
    X::Executor: AnyEnum,
{
    type Executor = X::Executor;

    fn extend_execution(
        &self,
        inventory: &mut ExecutorInventoryBuilder<'_, F, X::Executor>,
    ) -> Result<(), ExecutorInventoryError> {
        self.0.extend_execution(inventory)?;
        let number = |phantom: Rv32Phantom| PhantomDiscriminant(phantom as u16);
        replace(inventory, Print, number(Rv32Phantom::PrintStr))?;
        replace(inventory, HintRandom, number(Rv32Phantom::HintRandom))
    }
}

/// Puts a phantom instruction in the place of another one.
fn replace<X: AnyEnum>(
    inventory: &mut ExecutorInventoryBuilder<'_, F, X>,
    phantom: impl PhantomSubExecutor<F> + 'static,
    number: PhantomDiscriminant,
) -> Result<(), ExecutorInventoryError> {
    // The inventory takes the new one and then says that there was another; tests below notice if that changes.
    match inventory.add_phantom_sub_executor(phantom, number) {
        Err(ExecutorInventoryError::PhantomSubExecutorExists { .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}

fn register(memory: &GuestMemory, address: u32) -> u32 {
    let start = address as usize;
    let bytes = &memory.memory.mem[REGISTERS].as_slice()[start..start + 4];
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Prints the bytes at the address in register `a`, as many as register `b` says.
struct Print;

impl PhantomSubExecutor<F> for Print {
    fn phantom_execute(
        &self,
        memory: &GuestMemory,
        _: &mut Streams<F>,
        _: &mut StdRng,
        _: PhantomDiscriminant,
        a: u32,
        b: u32,
        _: u16,
    ) -> eyre::Result<()> {
        let (address, bytes) = (register(memory, a), register(memory, b));
        // No byte is outside of the memory, whatever the pointer of an empty text.
        if bytes == 0 {
            return Ok(());
        }
        let start = address as usize;
        let memory = memory.memory.mem[MEMORY].as_slice();
        let text = memory
            .get(start..start.saturating_add(bytes as usize))
            .ok_or(Fault::OutsideMemory {
                access: Access::Reads,
                address,
                bytes,
                size: memory.len() as u32,
            })?;
        guest_output::print(text)?;
        Ok(())
    }
}

/// Makes as many words of hints as register `a` says, from the generator of the execution, as OpenVM does: its seed is fixed.
struct HintRandom;

impl PhantomSubExecutor<F> for HintRandom {
    fn phantom_execute(
        &self,
        memory: &GuestMemory,
        streams: &mut Streams<F>,
        random: &mut StdRng,
        _: PhantomDiscriminant,
        a: u32,
        _: u32,
        _: u16,
    ) -> eyre::Result<()> {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            tracing::warn!("the guest asks for random numbers: their seed is fixed, and the prover can choose them");
        });
        let words = register(memory, a);
        if words > MAX_RANDOM_WORDS {
            return Err(Fault::RandomWords {
                words,
                most: MAX_RANDOM_WORDS,
            }
            .into());
        }
        streams.hint_stream.clear();
        let bytes = std::iter::repeat_with(|| F::from_u8(random.random::<u8>()));
        streams.hint_stream.extend(bytes.take(words as usize * 4));
        Ok(())
    }
}

/// [`MetalVmBuilder`] for a [`GuestConfig`].
pub(crate) struct GuestVmBuilder<E: SdkEngine>(pub MetalVmBuilder<E>);

impl<E: SdkEngine> VmBuilder<E> for GuestVmBuilder<E> {
    type VmConfig = GuestConfig;
    type RecordArena = <MetalVmBuilder<E> as VmBuilder<E>>::RecordArena;
    type SystemChipInventory = <MetalVmBuilder<E> as VmBuilder<E>>::SystemChipInventory;

    fn create_chip_complex(
        &self,
        config: &GuestConfig,
        circuit: AirInventory<SC>,
        device_ctx: &EngineDeviceCtx<E>,
    ) -> Result<
        VmChipComplex<SC, Self::RecordArena, E::PB, Self::SystemChipInventory>,
        ChipInventoryError,
    > {
        self.0
            .create_chip_complex(&config.config, circuit, device_ctx)
    }
}

#[cfg(test)]
mod tests;
