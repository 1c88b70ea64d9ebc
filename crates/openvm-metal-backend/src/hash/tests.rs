use openvm_metal_common::{CommandStream, Device, MetalBuffer, MetalContext};
use openvm_stark_backend::prover::{stacked_pcs::MerkleTree, ColMajorMatrix};
use openvm_stark_backend::StarkProtocolConfig;
use p3_field::ExtensionField;
use rand::{distr::StandardUniform, prelude::Distribution, rngs::StdRng, Rng, SeedableRng};

use super::*;
use crate::{kernels, matrix::MetalMatrix, prelude::*};

fn stream() -> CommandStream {
    let device = Device::from_env().unwrap();
    MetalContext::shared_on(device, &[&kernels::LIBRARY])
        .unwrap()
        .stream()
}

fn check<T: MerkleCell + ExtensionField<F>>(log_height: usize, width: usize, rows_per_query: usize)
where
    StandardUniform: Distribution<T>,
{
    let s = stream();
    let mut rng = StdRng::seed_from_u64((log_height * 100 + width) as u64);
    let cells: Vec<T> = (0..width << log_height).map(|_| rng.random()).collect();
    let config =
        SC::default_from_params(openvm_stark_backend::test_utils::default_test_params_small());
    let matrix = ColMajorMatrix::new(cells.clone(), width);
    let expected = MerkleTree::new(config.hasher(), matrix, rows_per_query).unwrap();
    let what = format!("2^{log_height} x {width}, {rows_per_query} rows in a leaf");

    let buffer = MetalBuffer::from_host(&s, &cells).unwrap();
    let matrix = MetalMatrix::from_buffer(buffer, 1 << log_height, width);
    let (tree, root) = MerkleTreeMetal::new(&s, matrix, rows_per_query).unwrap();
    assert_eq!(root, expected.root().unwrap(), "{what}");
    assert_eq!(
        tree.digest_layers_to_host(&s).unwrap(),
        *expected.digest_layers(),
        "{what}"
    );
    assert_eq!(tree.proof_depth(), expected.proof_depth());

    let stride = tree.query_stride();
    let indices: Vec<usize> = (0..7).map(|_| rng.random_range(0..stride)).collect();
    let opened = tree.open(&s, &indices).unwrap();
    for (i, &index) in indices.iter().enumerate() {
        assert_eq!(
            opened.rows[i],
            expected.get_opened_rows(index).unwrap(),
            "{what}"
        );
        assert_eq!(
            opened.siblings[i],
            expected.query_merkle_proof(index).unwrap(),
            "{what}"
        );
    }
    assert!(tree.open(&s, &[stride]).is_err());
}

#[test]
fn trees_equal_the_reference() {
    for (log_height, width, rows) in [
        (0, 1, 1),
        (4, 3, 2),
        (5, 8, 4),
        (6, 17, 16),
        (9, 1, 8),
        (10, 33, 16),
        (10, 9, 32),
        (11, 2, 1),
    ] {
        check::<F>(log_height, width, rows);
        check::<EF>(log_height, width, rows);
    }
}

#[test]
fn bad_shapes_are_refused() {
    let s = stream();
    let matrix = |height: usize| {
        MetalMatrix::<F>::from_buffer(MetalBuffer::zeroed(&s, height).unwrap(), height, 1)
    };
    assert!(MerkleTreeMetal::new(&s, matrix(0), 1).is_err());
    assert!(MerkleTreeMetal::new(&s, matrix(12), 1).is_err());
    assert!(MerkleTreeMetal::new(&s, matrix(8), 3).is_err());
    assert!(MerkleTreeMetal::new(&s, matrix(8), 16).is_err());
}
