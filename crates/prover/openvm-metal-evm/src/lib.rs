#![doc = include_str!("../README.md")]

mod contract;
mod error;
mod keys;
mod params;
mod proof;
mod prove;
mod resources;

pub use openvm_sdk::types::EvmProof;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as InnerSC;

pub use self::{
    contract::{check_solc, Contract, KeysBelow},
    error::EvmError,
    keys::{check_disk, make_keys, KeyFacts, EVM_JSON, EVM_PK, VERIFIER_K, WRAPPER_K},
    params::{Origin, ParamsFolder},
    proof::read_proof,
    prove::{check_prove, prove, EvmTimes, ProvedEvm},
    resources::check_machine,
};
