//! The keys of the two halo2 circuits: made, written and read.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write as _},
    panic,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use halo2_base::{
    gates::circuit::CircuitBuilderStage,
    halo2_proofs::{
        halo2curves::{bn256::Fr, group::ff::PrimeField as _},
        plonk::keygen_pk2,
    },
};
use openvm_metal_sdk::{files::read_bounded, root::RootSC, SdkError};
use openvm_sdk::OPENVM_VERSION;
use openvm_stark_backend::{
    codec::{Decode, Encode as _},
    keygen::types::MultiStarkVerifyingKey,
    proof::Proof,
};
use openvm_static_verifier::{
    compute_dag_onion_commit, log_heights_per_air_from_proof,
    tracegen::graph_executor::GraphProgram, Halo2Params, Halo2ParamsReader, Halo2ProvingMetadata,
    Halo2ProvingPinning, Halo2WrapperProvingKey, StaticVerifierCircuit, StaticVerifierProvingKey,
    StaticVerifierShape,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{guard, EvmError},
    params::{secret_name, Origin, ParamsFolder},
    resources::{check_disk_space, check_machine},
    InnerSC,
};

/// The keys of both circuits, in a folder of keys.
pub const EVM_PK: &str = "evm.pk";
/// Facts about the keys, in a folder of keys.
pub const EVM_JSON: &str = "evm.json";

/// The extension of a file of keys that is being written.
const UNFINISHED: &str = "unfinished";
/// Bytes of the file of keys.
const KEY_BYTES: u64 = 10 << 30;
/// Most bytes of a file of facts.
const MAX_FACTS: u64 = 1 << 16;

/// The circuit over root proofs has 2^23 rows.
pub const VERIFIER_K: u32 = 23;
/// The wrapper circuit has 2^22 rows: the fewest with one column.
pub const WRAPPER_K: u32 = 22;

/// Facts about keys, which a reader knows before the gigabytes of [`EVM_PK`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KeyFacts {
    /// Version of OpenVM, as `v2.0`.
    pub version: String,
    /// Origin of the KZG parameters: `ceremony` or `unsafe-test`.
    pub parameters: String,
    /// The second group's point of the KZG parameters, which names their secret.
    pub s_g2: String,
    /// The circuit over root proofs has 2^`verifier_k` rows.
    pub verifier_k: u32,
    /// The circuit over its proof has 2^`wrapper_k` rows.
    pub wrapper_k: u32,
    /// Number of bytes that a program reveals.
    pub public_values: usize,
    /// Bits of security of the weakest circuit below.
    pub security_bits: f64,
}

impl KeyFacts {
    /// True if everybody knows the secret of the parameters.
    pub fn is_unsafe(&self) -> bool {
        self.parameters != Origin::Ceremony.to_string()
    }

    /// Finds out before work whether parameters are those with which the keys were made.
    ///
    /// # Errors
    /// [`EvmError::OtherParams`], errors of [`ParamsFolder::check_both`].
    pub fn check_params(&self, keys: &Path, params: &ParamsFolder) -> Result<(), EvmError> {
        let made_with = match (self.is_unsafe(), params.origin()) {
            (true, Origin::Ceremony) => {
                "these keys were made with --unsafe-test-params, which is missing here"
            }
            (false, Origin::UnsafeTest) => "these keys were made with parameters of a ceremony",
            _ if params.check_both([self.verifier_k, self.wrapper_k])? == self.s_g2 => {
                return Ok(())
            }
            _ => "these keys were made with parameters of another ceremony",
        };
        Err(EvmError::OtherParams {
            keys: keys.to_owned(),
            params: params.path(self.verifier_k),
            made_with,
        })
    }

    /// Reads the facts of a folder of keys.
    ///
    /// # Errors
    /// [`EvmError::Sdk`] if there are none of this version.
    pub fn read(folder: &Path) -> Result<Self, EvmError> {
        let what = "the facts about EVM keys, which `openvm-metal setup --evm` writes";
        let path = folder.join(EVM_JSON);
        let refused = |reason: String| {
            EvmError::Sdk(SdkError::File {
                path: path.clone(),
                what,
                reason,
            })
        };
        let text = read_bounded(&path, what, MAX_FACTS)?;
        let facts: Self =
            serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
        if facts.version != version() {
            return Err(refused(format!(
                "they are of OpenVM {}, this is {}",
                facts.version,
                version()
            )));
        }
        match facts.verifier_k == VERIFIER_K && (1..=Fr::S).contains(&facts.wrapper_k) {
            true => Ok(facts),
            false => Err(refused("no circuit has so many rows".into())),
        }
    }
}

fn version() -> String {
    format!("v{OPENVM_VERSION}")
}

/// Refuses to make the files of keys where the disk has no room for them. Makes the folder.
///
/// # Errors
/// [`EvmError::Disk`], [`EvmError::Sdk`].
pub fn check_disk(folder: &Path) -> Result<(), EvmError> {
    // Keys that an interrupted run began to write.
    let _ = fs::remove_file(folder.join(EVM_PK).with_extension(UNFINISHED));
    check_disk_space(folder, "EVM keys", KEY_BYTES)
}

/// Makes the keys over root proofs of `root_vk`, above aggregated proofs of `internal_recursive_vk`, and writes [`EVM_PK`], in openvm-sdk's
/// encoding, and [`EVM_JSON`] into a folder. Any root proof gives the same keys. The keys of OpenVM's own circuits, with parameters of the
/// same ceremony, are OpenVM's. `security_bits` are those of the weakest circuit below.
///
/// One key is in memory at a time. That of the circuit over root proofs takes most, with the circuit that it is made of.
///
/// # Errors
/// Errors of parameters, [`EvmError::Memory`], [`EvmError::Disk`], [`EvmError::Sdk`], panics of the libraries.
pub fn make_keys(
    folder: &Path,
    params: &ParamsFolder,
    internal_recursive_vk: &MultiStarkVerifyingKey<InnerSC>,
    root_vk: &MultiStarkVerifyingKey<RootSC>,
    root_proof: &Proof<RootSC>,
    security_bits: f64,
) -> Result<[PathBuf; 2], EvmError> {
    check_machine(STAGE)?;
    check_disk(folder)?;
    let [pk, json] = [EVM_PK, EVM_JSON].map(|name| folder.join(name));
    let unfinished = pk.with_extension(UNFINISHED);
    let failed = |source| {
        EvmError::Sdk(SdkError::Write {
            path: pk.clone(),
            what: "the EVM proving keys",
            source,
        })
    };
    let write = || -> Result<KeyFacts, EvmError> {
        let file = File::create(&unfinished).map_err(failed)?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        // `Halo2ProvingKey`'s encoding, a key after the other: whether it profiles, then both.
        false.encode(&mut file).map_err(failed)?;
        let reader = Reader::new(params);
        let verifier = reader.guard(STAGE, || {
            let params = reader.get(VERIFIER_K)?;
            verifier_key(&params, internal_recursive_vk, root_vk, root_proof)
        })??;
        verifier.encode(&mut file).map_err(failed)?;
        let public_values = verifier.pinning.metadata.num_pvs[0] - COMMITMENTS;
        let snark = reader.guard(STAGE, || verifier.generate_dummy_snark(&reader))?;
        drop(verifier);
        let s_g2 = reader.get(VERIFIER_K)?.s_g2();
        reader.forget();
        let wrapper = reader.guard(STAGE, || {
            Halo2WrapperProvingKey::keygen_auto_tune(&reader, snark)
        })?;
        wrapper.encode(&mut file).map_err(failed)?;
        file.flush().map_err(failed)?;
        file.get_ref().sync_all().map_err(failed)?;
        Ok(KeyFacts {
            version: version(),
            parameters: params.origin().to_string(),
            s_g2: secret_name(&s_g2),
            verifier_k: VERIFIER_K,
            wrapper_k: wrapper.pinning.metadata.config_params.k as u32,
            public_values,
            security_bits,
        })
    };
    let replace = |facts| {
        // `evm.json` exists only beside the keys that it is about.
        match fs::remove_file(&json) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&unfinished, &pk).map(|()| facts),
        }
    };
    let facts = write().and_then(|facts| replace(facts).map_err(failed));
    let facts = facts.inspect_err(|_| {
        // The caller reports the error; the removal frees the disk.
        let _ = fs::remove_file(&unfinished);
    })?;
    let text = serde_json::to_vec_pretty(&facts).map_err(io::Error::from);
    text.and_then(|text| fs::write(&json, text))
        .map_err(|source| {
            EvmError::Sdk(SdkError::Write {
                path: json.clone(),
                what: "the facts about EVM keys",
                source,
            })
        })?;
    Ok([pk, json])
}

/// The key of the circuit over root proofs.
fn verifier_key(
    params: &Halo2Params,
    internal_recursive_vk: &MultiStarkVerifyingKey<InnerSC>,
    root_vk: &MultiStarkVerifyingKey<RootSC>,
    root_proof: &Proof<RootSC>,
) -> Result<StaticVerifierProvingKey, EvmError> {
    let heights = log_heights_per_air_from_proof(root_proof);
    let commit = compute_dag_onion_commit(internal_recursive_vk);
    let circuit = StaticVerifierCircuit::try_new(root_vk.clone(), commit, &heights)
        .map_err(|error| EvmError::Heights(error.to_string()))?;
    let shape = StaticVerifierShape::default();
    let graph_program = GraphProgram::new(&circuit, shape.lookup_bits, root_proof);
    // As `StaticVerifierCircuit::keygen`, which goes through the circuit twice.
    let mut builder = StaticVerifierCircuit::builder(CircuitBuilderStage::Keygen, &shape);
    circuit.populate(&mut builder, root_proof);
    let config_params = builder.calculate_params(Some(shape.minimum_rows));
    let pk = keygen_pk2(params, &builder, false).map_err(|error| EvmError::Panicked {
        stage: STAGE,
        message: error.to_string(),
    })?;
    let instances = builder.assigned_instances.iter();
    let metadata = Halo2ProvingMetadata {
        config_params,
        break_points: builder.break_points(),
        num_pvs: instances.map(Vec::len).collect(),
    };
    builder.clear();
    Ok(StaticVerifierProvingKey {
        circuit,
        pinning: Halo2ProvingPinning { pk, metadata },
        shape,
        graph_program,
    })
}

/// The file of keys of a folder, which holds one key after the other.
pub(crate) struct KeyFile {
    path: PathBuf,
    file: BufReader<File>,
    pub facts: KeyFacts,
}

impl KeyFile {
    /// Opens the file.
    ///
    /// # Errors
    /// [`EvmError::Sdk`].
    pub fn open(folder: &Path) -> Result<Self, EvmError> {
        let facts = KeyFacts::read(folder)?;
        let path = folder.join(EVM_PK);
        let file = File::open(&path).map_err(|error| refused(&path, error.to_string()))?;
        let mut keys = Self {
            file: BufReader::with_capacity(1 << 20, file),
            path,
            facts,
        };
        // The flag `profiling` of `Halo2ProvingKey`.
        keys.decode::<bool>()?;
        Ok(keys)
    }

    /// Reads the first key.
    ///
    /// # Errors
    /// [`EvmError::Sdk`].
    pub fn verifier(&mut self) -> Result<StaticVerifierProvingKey, EvmError> {
        let key: StaticVerifierProvingKey = self.decode()?;
        self.check(&key.pinning, self.facts.verifier_k)?;
        Ok(key)
    }

    /// Reads the second key, after the first.
    ///
    /// # Errors
    /// [`EvmError::Sdk`].
    pub fn wrapper(&mut self) -> Result<Halo2WrapperProvingKey, EvmError> {
        let key: Halo2WrapperProvingKey = self.decode()?;
        self.check(&key.pinning, self.facts.wrapper_k)?;
        Ok(key)
    }

    fn decode<T: Decode>(&mut self) -> Result<T, EvmError> {
        match guard("reading EVM keys", || T::decode(&mut self.file)) {
            Ok(decoded) => decoded.map_err(|error| refused(&self.path, error.to_string())),
            Err(EvmError::Panicked { message, .. }) => Err(refused(&self.path, message)),
            Err(error) => Err(error),
        }
    }

    fn check(&self, pinning: &Halo2ProvingPinning, k: u32) -> Result<(), EvmError> {
        match pinning.metadata.config_params.k == k as usize {
            true => Ok(()),
            false => Err(refused(
                &self.path,
                format!("{EVM_JSON} in the same folder belongs to other keys"),
            )),
        }
    }
}

fn refused(path: &Path, reason: String) -> EvmError {
    EvmError::Sdk(SdkError::File {
        path: path.to_owned(),
        what: "EVM proving keys, which `openvm-metal setup --evm` writes",
        reason,
    })
}

const STAGE: &str = "making EVM keys";

/// Public values of the circuits before those of the program: its commitment and that of the virtual machine.
const COMMITMENTS: usize = 2;

/// Parameters as the libraries ask for them, which know no errors.
struct Reader<'a> {
    folder: &'a ParamsFolder,
    read: Mutex<Vec<Arc<Halo2Params>>>,
    failed: Mutex<Option<EvmError>>,
}

impl<'a> Reader<'a> {
    fn new(folder: &'a ParamsFolder) -> Self {
        Self {
            folder,
            read: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    fn get(&self, k: u32) -> Result<Arc<Halo2Params>, EvmError> {
        use halo2_base::halo2_proofs::poly::commitment::Params as _;

        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(params) = read.iter().find(|params| params.k() == k) {
            return Ok(params.clone());
        }
        let params = self.folder.read(k)?;
        read.push(params.clone());
        Ok(params)
    }

    /// Forgets the parameters that were read.
    fn forget(&self) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.clear();
    }

    /// Runs work that may ask for parameters.
    fn guard<T>(&self, stage: &'static str, f: impl FnOnce() -> T) -> Result<T, EvmError> {
        guard(stage, f).map_err(|panicked| {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.take().unwrap_or(panicked)
        })
    }
}

impl Halo2ParamsReader for Reader<'_> {
    fn read_params(&self, k: usize) -> Arc<Halo2Params> {
        self.get(k as u32).unwrap_or_else(|error| {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            *failed = Some(error);
            drop(failed);
            // `guard` makes the error of it.
            panic::resume_unwind(Box::new("no parameters"))
        })
    }
}
