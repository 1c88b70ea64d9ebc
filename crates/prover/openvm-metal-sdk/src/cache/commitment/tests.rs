use openvm_metal_common::Device;
use openvm_stark_backend::{p3_field::PrimeCharacteristicRing as _, StarkEngine as _};

use super::*;
use crate::{engine::MetalEngine, parameters::toy_app};

/// A commitment is taken from the cache, and made again if its entry holds the leaves of another trace or no field elements.
#[test]
fn a_commitment_is_that_of_its_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::in_folder(folder.path());
    let engine = MetalEngine::try_new(toy_app(14), Device::Cpu).expect("an engine");
    let trace = |seed: u32| {
        let cells = (0..9 << 7).map(|i| F::from_u32(i * i + seed)).collect();
        RowMajorMatrix::new(cells, 9)
    };
    let commit = |cache: &Cache, seed| {
        let (_, root, data) = commit_above(cache, &engine, trace(seed), 0).expect("committed");
        let leaves = engine.leaves(&data).expect("read").expect("leaves");
        (root, leaves)
    };
    let (root, leaves) = commit(&Cache::none(), 1);
    let (other_root, other_leaves) = commit(&Cache::none(), 2);
    assert_ne!(root, other_root);
    let key = key(engine.params(), &trace(1));
    assert_eq!(cache.get(&key), None);
    assert_eq!(commit(&cache, 1), (root, leaves.clone()));
    let kept = cache.get(&key).expect("kept");
    assert_eq!(decode(&kept), Some((root, leaves.clone())));
    assert_eq!(commit(&cache, 1), (root, leaves.clone()));

    // One leaf of 2^11, which the sample may miss.
    let mut changed = leaves.clone();
    changed[5][0] += F::ONE;
    cache.put(&key, &encode(root, &changed));
    assert_eq!(commit(&cache, 1), (root, leaves.clone()), "another root");
    let mut noncanonical = kept.clone();
    noncanonical[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    for wrong in [
        // The leaves of another program, with their root.
        encode(other_root, &other_leaves),
        encode(root, &other_leaves),
        encode(root, &leaves[1..]),
        kept[1..].to_vec(),
        noncanonical,
        Vec::new(),
    ] {
        cache.put(&key, &wrong);
        assert_eq!(commit(&cache, 1), (root, leaves.clone()));
        assert_eq!(cache.get(&key), Some(kept.clone()), "kept again");
    }
    // Small commitments are made quicker than found.
    let (_, small, _) = super::commit(&cache, &engine, trace(3)).expect("committed");
    assert_eq!(cache.get(&super::key(engine.params(), &trace(3))), None);
    assert_ne!(small, root);
}
