//! The kinds of files, with whole files and what reads them.

use std::{cell::RefCell, fs, path::PathBuf};

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    decode_elf, executable, files,
    tasks::{JobFolder, Plan, Task},
    verify, verify_app, MetalSdk, SdkError,
};
use openvm_sdk::config::AppConfig;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    hasher::MerkleHasher as _, keygen::types::MultiStarkVerifyingKey, StarkEngine as _,
    StarkProtocolConfig as _,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, F};
use p3_field::PrimeCharacteristicRing as _;

use crate::seeds::{
    circuit_engine, seeds, AGG_PK, APP_PK, APP_PROOF, BASELINE, COMMIT, CONFIGS, FIBONACCI, INPUT,
    PLAN,
};

/// Tries bytes as a file of a kind, as far as commands use them without a device.
pub type Load = fn(&[u8]) -> Result<(), SdkError>;

/// A kind of file.
pub struct Kind {
    pub name: &'static str,
    pub load: Load,
    /// Whole files, which are accepted.
    pub whole: fn() -> Vec<Vec<u8>>,
}

macro_rules! bytes {
    ($value:expr) => {
        files::to_bytes("a seed", $value).expect("encoded")
    };
}

pub const KINDS: [Kind; 18] = [
    Kind {
        name: "vmexe",
        load: exe,
        whole: || vec![seeds().exe.clone()],
    },
    Kind {
        name: "elf",
        load: elf,
        whole: || vec![FIBONACCI.to_vec(), crate::elves::two_segments()],
    },
    Kind {
        name: "app.pk",
        load: app_pk,
        whole: || vec![APP_PK.to_vec()],
    },
    Kind {
        name: "app.vk",
        load: app_vk,
        whole: || vec![bytes!(&seeds().app_vk)],
    },
    Kind {
        name: "forged-app.vk",
        load: forged_app_vk,
        whole: || vec![bytes!(&seeds().app_vk)],
    },
    Kind {
        name: "agg.pk",
        load: agg_pk,
        whole: || vec![AGG_PK.to_vec()],
    },
    Kind {
        name: "agg.vk",
        load: agg_vk,
        whole: || vec![bytes!(&seeds().agg_vk)],
    },
    Kind {
        name: "stark.vk",
        load: stark_vk,
        whole: || vec![bytes!(&seeds().stark_vk)],
    },
    Kind {
        name: "app.proof",
        load: app_proof,
        whole: || vec![APP_PROOF.to_vec()],
    },
    Kind {
        name: "stark.proof",
        load: stark_proof,
        whole: || vec![seeds().proof_json()],
    },
    Kind {
        name: "commit.json",
        load: commit,
        whole: || vec![COMMIT.to_vec()],
    },
    Kind {
        name: "baseline.json",
        load: baseline,
        whole: || vec![BASELINE.to_vec()],
    },
    Kind {
        name: "plan.json",
        load: plan,
        whole: || vec![PLAN.to_vec()],
    },
    Kind {
        name: "input.json",
        load: input,
        whole: || vec![INPUT.to_vec()],
    },
    Kind {
        name: "openvm.toml",
        load: config,
        whole: || CONFIGS.map(<[u8]>::to_vec).to_vec(),
    },
    Kind {
        name: "circuit.proof",
        load: circuit_proof,
        whole: || vec![seeds().circuit_proof_bytes()],
    },
    Kind {
        name: "circuit.vk",
        load: circuit_vk,
        whole: || vec![seeds().circuit_vk_bytes()],
    },
    Kind {
        name: "resume",
        load: part,
        whole: || vec![whole_part()],
    },
];

fn exe(bytes: &[u8]) -> Result<(), SdkError> {
    let exe = files::exe_from_bytes(bytes)?;
    executable(&SdkVmConfig::riscv32(), exe).map(drop)
}

fn elf(bytes: &[u8]) -> Result<(), SdkError> {
    executable(&SdkVmConfig::riscv32(), decode_elf(bytes)?).map(drop)
}

fn app_pk(bytes: &[u8]) -> Result<(), SdkError> {
    let key = files::app_pk_from_bytes(bytes)?;
    verify_app(&key.get_app_vk(), &seeds().app_proof, None, None, 0.0).map(drop)
}

fn app_vk(bytes: &[u8]) -> Result<(), SdkError> {
    let key = files::app_vk_from_bytes(bytes)?;
    verify_app(&key, &seeds().app_proof, None, None, 0.0).map(drop)
}

/// A damaged key whose author has computed its hash.
fn forged_app_vk(bytes: &[u8]) -> Result<(), SdkError> {
    let key = bitcode::deserialize::<openvm_sdk::keygen::AppVerifyingKey>(bytes);
    let Ok(mut key) = key else {
        return app_vk(bytes);
    };
    key.vk.pre_hash = hash(&key.vk);
    verify_app(&key, &seeds().app_proof, None, None, 0.0).map(drop)
}

/// Hash of a key, as OpenVM's key generation computes it.
fn hash(vk: &MultiStarkVerifyingKey<SC>) -> [F; 8] {
    let inner = postcard::to_allocvec(&vk.inner).expect("encoded");
    let version = seeds().circuit_proof_bytes()[..4].to_vec();
    let length = (inner.len() as u64).to_le_bytes();
    let bytes = version.into_iter().chain(length).chain(inner);
    let elements: Vec<F> = bytes.map(F::from_u8).collect();
    circuit_engine().config().hasher().hash_slice(&elements)
}

fn agg_pk(bytes: &[u8]) -> Result<(), SdkError> {
    let key = files::agg_pk_from_bytes(bytes)?;
    let vk = key.internal_recursive.get_vk();
    verify(&vk, &seeds().baseline, &seeds().proof, 0.0).map(drop)
}

fn agg_vk(bytes: &[u8]) -> Result<(), SdkError> {
    let key = files::agg_vk_from_bytes(bytes)?;
    verify(&key, &seeds().baseline, &seeds().proof, 0.0).map(drop)
}

fn stark_vk(bytes: &[u8]) -> Result<(), SdkError> {
    let key = files::stark_vk_from_bytes(bytes)?;
    verify(&key.mvk, &key.baseline, &seeds().proof, 0.0).map(drop)
}

fn app_proof(bytes: &[u8]) -> Result<(), SdkError> {
    let proof = files::app_proof_from_bytes(bytes)?;
    verify_app(&seeds().app_vk, &proof, None, None, 0.0).map(drop)
}

fn stark_proof(bytes: &[u8]) -> Result<(), SdkError> {
    let proof = files::proof_from_bytes(bytes)?;
    verify(&seeds().agg_vk, &seeds().baseline, &proof, 0.0).map(drop)
}

fn commit(bytes: &[u8]) -> Result<(), SdkError> {
    let commit = files::commit_from_bytes(bytes)?;
    let expected = Some(commit.app_exe_commit.into());
    verify_app(&seeds().app_vk, &seeds().app_proof, expected, None, 0.0).map(drop)
}

fn baseline(bytes: &[u8]) -> Result<(), SdkError> {
    let baseline = files::baseline_from_bytes(bytes)?;
    verify(&seeds().agg_vk, &baseline, &seeds().proof, 0.0).map(drop)
}

fn plan(bytes: &[u8]) -> Result<(), SdkError> {
    let plan = Plan::from_json(&String::from_utf8_lossy(bytes))?;
    plan.id(Task::End)?;
    for (level, proofs) in plan.levels().into_iter().enumerate().skip(1) {
        plan.below(level, proofs - 1)?;
    }
    Ok(())
}

fn input(bytes: &[u8]) -> Result<(), SdkError> {
    files::input_from_json(bytes).map(drop)
}

fn config(bytes: &[u8]) -> Result<(), SdkError> {
    let text = String::from_utf8_lossy(bytes);
    let _ = MetalSdk::builder(Device::Cpu).toml(&text)?;
    let config: AppConfig<SdkVmConfig> =
        toml::from_str(&text).map_err(|error| SdkError::Config(error.to_string()))?;
    let elf = decode_elf(&crate::elves::two_segments())?;
    executable(&config.app_vm_config, elf).map(drop)
}

fn circuit_proof(bytes: &[u8]) -> Result<(), SdkError> {
    let proof = files::circuit_proof_from_bytes(bytes)?;
    let vk = &seeds().circuit_vk;
    let verified = openvm_metal_sdk::catch_panic(|| circuit_engine().verify(vk, &proof));
    rejected(verified.map(|verified| verified.is_ok()))
}

fn circuit_vk(bytes: &[u8]) -> Result<(), SdkError> {
    let vk = files::circuit_vk_from_bytes(bytes)?;
    let proof = &seeds().circuit_proof;
    let verified = openvm_metal_sdk::catch_panic(|| circuit_engine().verify(&vk, proof));
    rejected(verified.map(|verified| verified.is_ok()))
}

fn rejected(verified: Result<bool, String>) -> Result<(), SdkError> {
    match verified {
        Ok(true) => Ok(()),
        _ => Err(SdkError::AppRejected("not valid".into())),
    }
}

/// A folder of resumed proofs of this thread, with one segment.
struct Folder {
    temporary: tempfile::TempDir,
    plan: Plan,
    folder: JobFolder,
}

const SEGMENT: Task = Task::Segment(0);

impl Folder {
    fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a folder");
        let plan = Plan::from_json(&String::from_utf8_lossy(PLAN)).expect("a plan");
        let folder = JobFolder::open(temporary.path(), &plan).expect("a folder");
        Self {
            temporary,
            plan,
            folder,
        }
    }

    fn file(&self) -> PathBuf {
        self.temporary.path().join("segment-0.proof")
    }
}

thread_local! {
    static FOLDER: RefCell<Option<Folder>> = const { RefCell::new(None) };
}

fn with_folder<T>(f: impl FnOnce(&Folder) -> T) -> T {
    FOLDER.with_borrow_mut(|folder| f(folder.get_or_insert_with(Folder::new)))
}

fn whole_part() -> Vec<u8> {
    with_folder(|folder| {
        let proof = &seeds().circuit_proof_bytes();
        folder
            .folder
            .store(&folder.plan, SEGMENT, proof)
            .expect("stored");
        fs::read(folder.file()).expect("a file")
    })
}

fn part(bytes: &[u8]) -> Result<(), SdkError> {
    with_folder(|folder| {
        fs::write(folder.file(), bytes).expect("written");
        let found = folder.folder.load(&folder.plan, SEGMENT)?;
        circuit_proof(&found.expect("there is a file"))
    })
}
