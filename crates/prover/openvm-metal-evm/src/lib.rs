#![doc = include_str!("../README.md")]

mod contract;
mod error;
mod keys;
mod params;
mod proof;
mod prove;
mod room;

pub use openvm_sdk::types::EvmProof;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as InnerSC;

pub use self::{
    contract::{check_solc, Contract, KeysBelow, SOLC},
    error::EvmError,
    keys::{check_disk, make_keys, KeyFacts, EVM_JSON, EVM_PK, VERIFIER_K, WRAPPER_K},
    params::{is_public_secret, Origin, ParamsFolder},
    proof::read_proof,
    prove::{check_prove, prove, EvmTimes, ProvedEvm},
    room::{check_machine, Work},
};
