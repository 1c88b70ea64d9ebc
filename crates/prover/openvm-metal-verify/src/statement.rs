//! The statement of a proof: the public values of its last circuit, compared with a baseline. A valid proof of the last
//! circuit says nothing until this is done.
//!
//! The layout is that of OpenVM 2.0's last circuit: three AIRs with public values, and a fourth with the commitment to the
//! constraints that it verified.

use openvm_stark_backend::p3_field::{PrimeCharacteristicRing, PrimeField32};

use crate::{
    baseline::{Baseline, CircuitCommit, MemoryDimensions},
    error::Rejection,
    hash::{compress, leaf},
    prelude::{Digest, F},
    proof::{DeferralPaths, PublicValuesProof, StarkProof},
};

/// Numbers of the AIRs, and of the fourth's commitment.
const CIRCUITS_AIR: usize = 0;
const EXECUTION_AIR: usize = 1;
const DEFERRAL_AIR: usize = 2;
const CONSTRAINTS_AIR: usize = 3;
const CONSTRAINTS_COMMIT: usize = 0;

/// The number of the last circuit among leaf, internal-for-leaf and internal-recursive.
const LAST_CIRCUIT: F = F::TWO;
/// Most layers of the last circuit.
const MAX_DEPTH: u32 = 256;

/// Address spaces: they are counted from 1.
const PUBLIC_VALUES_SPACE: u64 = 3;
const DEFERRAL_SPACE: u64 = 4;

/// Elements of a leaf of the memory.
const LEAF: usize = 8;

/// Compares the public values of a proof with a baseline. The proof of the last circuit is taken as verified.
///
/// # Errors
/// The first difference.
pub fn check_statement(proof: &StarkProof, baseline: &Baseline) -> Result<(), Rejection> {
    let mut values = Values::of(proof, CIRCUITS_AIR)?;
    let circuits = Circuits::take(&mut values)?;
    let deferral = match &baseline.expected_def_hook_commit {
        Some(_) => Some(DeferralCircuit::take(&mut values)?),
        None => None,
    };
    values.end().map_err(|_| match deferral {
        Some(_) => Rejection::Shape,
        None => Rejection::Deferral("the baseline names none"),
    })?;
    let mut values = Values::of(proof, EXECUTION_AIR)?;
    let execution = Execution::take(&mut values)?;
    values.end()?;

    check_public_values(&proof.user_pvs_proof, baseline, execution.final_root)?;
    execution.check(baseline)?;
    circuits.check(constraints(proof)?, baseline)?;
    match (&baseline.expected_def_hook_commit, deferral) {
        (Some(expected), Some(circuit)) => {
            let mut values = Values::of(proof, DEFERRAL_AIR)?;
            let deferred = Deferred::take(&mut values)?;
            values.end()?;
            circuit.check(expected, &deferred)?;
            let paths = proof.deferral_merkle_proofs.as_ref();
            let paths = paths.ok_or(Rejection::Deferral("the proof has no paths of them"))?;
            deferred.check(paths, &baseline.memory_dimensions, &execution)
        }
        _ => {
            let is_used = proof.deferral_merkle_proofs.is_some()
                || Values::of(proof, DEFERRAL_AIR)?.end().is_err();
            match is_used {
                true => Err(Rejection::Deferral("the baseline names none")),
                false => Ok(()),
            }
        }
    }
}

/// The public values of an AIR that are not read yet.
struct Values<'a>(&'a [F]);

impl<'a> Values<'a> {
    fn of(proof: &'a StarkProof, air: usize) -> Result<Self, Rejection> {
        let values = proof.inner.public_values.get(air);
        values.map(|values| Self(values)).ok_or(Rejection::Shape)
    }

    fn element(&mut self) -> Result<F, Rejection> {
        let (first, rest) = self.0.split_first().ok_or(Rejection::Shape)?;
        self.0 = rest;
        Ok(*first)
    }

    fn digest(&mut self) -> Result<Digest, Rejection> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Rejection::Shape)?;
        self.0 = rest;
        Ok(*first)
    }

    fn circuit(&mut self) -> Result<CircuitCommit, Rejection> {
        Ok(CircuitCommit {
            cached_commit: self.digest()?,
            vk_pre_hash: self.digest()?,
        })
    }

    fn end(&self) -> Result<(), Rejection> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Rejection::Shape),
        }
    }
}

/// The circuits below the last one.
struct Circuits {
    number: F,
    app: CircuitCommit,
    leaf: CircuitCommit,
    internal_for_leaf: CircuitCommit,
    depth: F,
    internal_recursive: CircuitCommit,
}

impl Circuits {
    fn take(values: &mut Values<'_>) -> Result<Self, Rejection> {
        Ok(Self {
            number: values.element()?,
            app: values.circuit()?,
            leaf: values.circuit()?,
            internal_for_leaf: values.circuit()?,
            depth: values.element()?,
            internal_recursive: values.circuit()?,
        })
    }

    /// `constraints` is the commitment to the constraints that the last circuit verified.
    fn check(&self, constraints: Digest, baseline: &Baseline) -> Result<(), Rejection> {
        if self.number != LAST_CIRCUIT {
            return Err(Rejection::InnerCircuit(self.number.as_canonical_u32()));
        }
        same_circuit("application's", &self.app, &baseline.app_vk_commit)?;
        same_circuit("leaf", &self.leaf, &baseline.leaf_vk_commit)?;
        same_circuit(
            "internal-for-leaf",
            &self.internal_for_leaf,
            &baseline.internal_for_leaf_vk_commit,
        )?;
        let depth = self.depth.as_canonical_u32();
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(Rejection::Depth(depth));
        }
        // The first layer of the last circuit verifies internal-for-leaf nodes and names no circuit of its own yet.
        let own = &baseline.internal_recursive_vk_commit;
        let (named, verified) = match depth {
            1 => {
                let none = CircuitCommit {
                    cached_commit: Digest::default(),
                    vk_pre_hash: Digest::default(),
                };
                let below = baseline.internal_for_leaf_vk_commit.cached_commit;
                (none, below)
            }
            _ => (*own, own.cached_commit),
        };
        same_circuit("internal-recursive", &self.internal_recursive, &named)?;
        same("last", "verified constraints", constraints, verified)
    }
}

/// The commitment to the constraints that the last circuit verified.
fn constraints(proof: &StarkProof) -> Result<Digest, Rejection> {
    let air = proof.inner.trace_vdata.get(CONSTRAINTS_AIR);
    let trace = air.and_then(Option::as_ref).ok_or(Rejection::Shape)?;
    let commit = trace.cached_commitments.get(CONSTRAINTS_COMMIT);
    commit.copied().ok_or(Rejection::Shape)
}

fn same_circuit(
    circuit: &'static str,
    found: &CircuitCommit,
    expected: &CircuitCommit,
) -> Result<(), Rejection> {
    let (constraints, hash) = (found.cached_commit, found.vk_pre_hash);
    same(circuit, "constraints", constraints, expected.cached_commit)?;
    same(circuit, "key's hash", hash, expected.vk_pre_hash)
}

fn same(
    circuit: &'static str,
    part: &'static str,
    found: Digest,
    expected: Digest,
) -> Result<(), Rejection> {
    match found == expected {
        true => Ok(()),
        false => Err(Rejection::Circuit {
            circuit,
            part,
            found: found.into(),
            expected: expected.into(),
        }),
    }
}

/// The execution that was proved.
struct Execution {
    program: Digest,
    initial_pc: F,
    exit_code: F,
    ended: F,
    initial_root: Digest,
    final_root: Digest,
}

impl Execution {
    fn take(values: &mut Values<'_>) -> Result<Self, Rejection> {
        let program = values.digest()?;
        let initial_pc = values.element()?;
        // The last address is not compared: the execution ended there.
        let _ = values.element()?;
        Ok(Self {
            program,
            initial_pc,
            exit_code: values.element()?,
            ended: values.element()?,
            initial_root: values.digest()?,
            final_root: values.digest()?,
        })
    }

    fn check(&self, baseline: &Baseline) -> Result<(), Rejection> {
        let mut entry = Digest::default();
        entry[0] = self.initial_pc;
        let code_and_memory = compress(leaf(self.program), leaf(self.initial_root));
        let program = compress(code_and_memory, leaf(entry));
        if program != baseline.app_exe_commit {
            return Err(Rejection::Program {
                found: program.into(),
                expected: baseline.app_exe_commit.into(),
            });
        }
        match self.exit_code == F::ZERO && self.ended == F::ONE {
            true => Ok(()),
            false => Err(Rejection::Exit {
                ended: self.ended == F::ONE,
                code: self.exit_code.as_canonical_u32(),
            }),
        }
    }
}

/// Checks that public values are at the beginning of their address space in the memory with the root `memory`.
fn check_public_values(
    values: &PublicValuesProof,
    baseline: &Baseline,
    memory: Digest,
) -> Result<(), Rejection> {
    let dimensions = &baseline.memory_dimensions;
    let levels = dimensions.levels().ok_or(Rejection::Memory)?;
    let count = values.public_values.len();
    if count != baseline.num_user_pvs {
        return Err(Rejection::PublicValueCount {
            found: count,
            expected: baseline.num_user_pvs,
        });
    }
    let (leaves, rest) = values.public_values.as_chunks::<LEAF>();
    if !rest.is_empty() || !leaves.len().is_power_of_two() {
        return Err(Rejection::Memory);
    }
    let mut nodes: Vec<Digest> = leaves.iter().map(|values| leaf(*values)).collect();
    let mut height = 0;
    while nodes.len() > 1 {
        let pairs = nodes.as_chunks::<2>().0.iter();
        nodes = pairs.map(|[left, right]| compress(*left, *right)).collect();
        height += 1;
    }
    if Some(values.proof.len()) != levels.checked_sub(height) {
        return Err(Rejection::PublicValues);
    }
    let place = (PUBLIC_VALUES_SPACE - 1) << dimensions.address_height >> height;
    let root = above(nodes[0], place, &values.proof);
    match nodes[0] == values.public_values_commit && root == memory {
        true => Ok(()),
        false => Err(Rejection::PublicValues),
    }
}

/// The root above a node, number `place` of its level, by the siblings of its path.
fn above(node: Digest, place: u64, siblings: &[Digest]) -> Digest {
    siblings
        .iter()
        .enumerate()
        .fold(node, |node, (level, sibling)| match place >> level & 1 {
            1 => compress(*sibling, node),
            _ => compress(node, *sibling),
        })
}

/// The circuit of deferred computations.
struct DeferralCircuit {
    is_used: F,
    hook: Digest,
}

impl DeferralCircuit {
    fn take(values: &mut Values<'_>) -> Result<Self, Rejection> {
        Ok(Self {
            is_used: values.element()?,
            hook: values.digest()?,
        })
    }

    fn check(&self, expected: &Digest, deferred: &Deferred) -> Result<(), Rejection> {
        if self.is_used == F::ZERO {
            let none = Digest::default();
            let is_unset = self.hook == none
                && deferred.initial == none
                && deferred.r#final == none
                && deferred.depth == F::ZERO;
            if !is_unset {
                return Err(Rejection::Deferral("it has none, but names some"));
            }
        } else if self.is_used != F::TWO {
            return Err(Rejection::Deferral("a flag has an unknown value"));
        } else if self.hook != *expected {
            return Err(Rejection::Deferral("their circuit is another"));
        }
        match deferred.place == F::ZERO {
            true => Ok(()),
            false => Err(Rejection::Deferral("they are a part of a larger tree")),
        }
    }
}

/// The accumulators of deferred computations, before and after.
struct Deferred {
    initial: Digest,
    r#final: Digest,
    depth: F,
    place: F,
}

impl Deferred {
    fn take(values: &mut Values<'_>) -> Result<Self, Rejection> {
        Ok(Self {
            initial: values.digest()?,
            r#final: values.digest()?,
            depth: values.element()?,
            place: values.element()?,
        })
    }

    /// Checks that the accumulators, and nothing else of their address space, changed in the memory.
    fn check(
        &self,
        paths: &DeferralPaths,
        dimensions: &MemoryDimensions,
        execution: &Execution,
    ) -> Result<(), Rejection> {
        let levels = dimensions.levels().ok_or(Rejection::Memory)?;
        let (before, after) = (&paths.initial_merkle_proof, &paths.final_merkle_proof);
        if before.len() != levels || after.len() != levels {
            return Err(Rejection::Deferral("a path has another length"));
        }
        let depth = self.depth.as_canonical_u32() as usize;
        let own = dimensions.address_height;
        if depth > own {
            return Err(Rejection::Deferral("their tree is too high"));
        }
        if before[..own] != after[..own] {
            return Err(Rejection::Deferral("other parts of their memory changed"));
        }
        let space = (DEFERRAL_SPACE - 1) << own;
        let root = |accumulator: Digest, path: &[Digest]| match depth {
            // Without a tree the accumulator is itself in the memory, at the right of its first two leaves.
            0 => above(leaf(accumulator), space | 1, path),
            _ => above(accumulator, space >> depth, &path[depth..]),
        };
        let is_in = root(self.initial, before) == execution.initial_root
            && root(self.r#final, after) == execution.final_root;
        match is_in {
            true => Ok(()),
            false => Err(Rejection::Deferral("the memory does not hold them")),
        }
    }
}
