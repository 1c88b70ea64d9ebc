//! Poseidon2 over the scalar field of BN254, Merkle trees and witnesses against the reference's hasher and transcript.

use openvm_metal_common::{DeviceElem, Grid, MetalBuffer, MetalError, MetalSlice, MetalSliceMut};
use openvm_stark_backend::{
    hasher::MerkleHasher,
    prover::{stacked_pcs::MerkleTree, ColMajorMatrix},
    FiatShamirTranscript, StarkProtocolConfig,
};
use openvm_stark_sdk::config::{
    baby_bear_bn254_poseidon2::{
        default_transcript, BabyBearBn254Poseidon2Config as SC, Digest, Transcript,
    },
    bn254_poseidon2::{
        default_bn254_poseidon2_width2_constants, default_bn254_poseidon2_width3_constants,
        Poseidon2Bn254Constants,
    },
};
use p3_bn254::Bn254;
use p3_field::{ExtensionField, Field, PrimeCharacteristicRing, PrimeField32};

use super::{compare, hash::table, refused, Check, CheckEnv, CheckFailure};
use crate::{
    bn254::{grind_smallest, integer, Bn254Node},
    kernels,
    params::{MerkleAbsorbParams, MerkleLeafParams, MerkleSubtreeParams},
    prelude::{EF, F},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "bn254",
        name: "round_constants",
        run: round_constants,
    },
    Check {
        group: "bn254",
        name: "conversions",
        run: conversions,
    },
    Check {
        group: "bn254",
        name: "nodes",
        run: nodes,
    },
    Check {
        group: "bn254",
        name: "trees_base",
        run: trees_base,
    },
    Check {
        group: "bn254",
        name: "trees_ext",
        run: trees_ext,
    },
    Check {
        group: "bn254",
        name: "absorbed",
        run: absorbed,
    },
    Check {
        group: "bn254",
        name: "smallest_witness",
        run: smallest_witness,
    },
    Check {
        group: "bn254",
        name: "bad_requests",
        run: bad_requests,
    },
];

const HEADER: &str = include_str!("../../metal/bn254/constants.h");

fn hasher() -> <SC as StarkProtocolConfig>::Hasher {
    let params = super::prover::params(2, 4, 0);
    SC::default_from_params(params).hasher().clone()
}

/// Limbs of 29 bits of the Montgomery form with R = 2^261.
fn limbs(x: Bn254) -> [u32; 9] {
    let words = Bn254Node::from(x * Bn254::from_u32(32)).0;
    std::array::from_fn(|i| {
        let (word, low) = (29 * i / 32, 29 * i % 32);
        let next = words.get(word + 1).copied().unwrap_or_default();
        let bits = u64::from(words[word]) | u64::from(next) << 32;
        (bits >> low) as u32 & ((1 << 29) - 1)
    })
}

/// The tables of the kernels are the constants of the reference, in the order in which S-boxes take them.
fn round_constants(_: &mut CheckEnv) -> Result<(), CheckFailure> {
    fn words<const WIDTH: usize>(c: &Poseidon2Bn254Constants<WIDTH>) -> Vec<u32> {
        let first = c.initial_external_rc().iter().flatten();
        let last = c.terminal_external_rc().iter().flatten();
        let all = first.chain(c.internal_rc()).chain(last);
        all.flat_map(|&x| limbs(x)).collect()
    }
    let expected = words(default_bn254_poseidon2_width3_constants());
    compare(|| "BN_RC3".to_owned(), &table(HEADER, "BN_RC3"), &expected)?;
    let expected = words(default_bn254_poseidon2_width2_constants());
    compare(|| "BN_RC2".to_owned(), &table(HEADER, "BN_RC2"), &expected)
}

/// A random element; some are the ends of the field, or have all bits of limbs of 29, 32 or 52 bits in memory or in a kernel.
fn element(env: &mut CheckEnv) -> Bn254 {
    let bits = [0, 28, 29, 31, 32, 52, 58, 104, 208, 224, 232, 252, 253];
    let x = match env.rng.below(8) {
        0 => [Bn254::ZERO, Bn254::ONE, Bn254::NEG_ONE, Bn254::TWO][env.rng.below(4)],
        1 | 2 => Bn254::TWO.exp_u64(bits[env.rng.below(bits.len())]) - Bn254::ONE,
        _ => Bn254::new(std::array::from_fn(|_| env.rng.bits())),
    };
    let x = if env.rng.below(2) == 0 { x } else { -x };
    // What kernels see is this word itself, or its product with a power of two.
    let scale = [0, 256, 260, 261][env.rng.below(4)];
    x * Bn254::TWO.exp_u64(scale).inverse()
}

/// An element and its word in memory stand for each other, and so does its integer.
fn conversions(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for _ in 0..200 {
        let x = element(env);
        compare(
            || "from memory".to_owned(),
            &[Bn254::from(Bn254Node::from(x))],
            &[x],
        )?;
        let limbs = integer(x);
        let limb = |i: usize| u64::from(limbs[2 * i]) | u64::from(limbs[2 * i + 1]) << 32;
        let back = Bn254::new(std::array::from_fn(limb));
        compare(|| "from an integer".to_owned(), &[back], &[x])?;
    }
    Ok(())
}

fn to_nodes(digests: &[Digest]) -> Vec<Bn254Node> {
    digests.iter().map(|&[x]| x.into()).collect()
}

/// Nodes whose first two S-boxes take extremes, in trees of any size that are computed a few layers at a time.
fn nodes(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let hasher = hasher();
    let constants = default_bn254_poseidon2_width2_constants();
    let [first, second] = constants.initial_external_rc()[0];
    let third = Bn254::from_u32(3).inverse();
    for (log_leaves, block) in [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 1),
        (4, 3),
        (6, 6),
        (7, 4),
        (9, 8),
    ] {
        if env.conformance() && log_leaves > 7 {
            continue;
        }
        let mut layer: Vec<Digest> = Vec::new();
        while layer.len() < 1 << log_leaves {
            let (x, y) = (element(env) - first, element(env) - second);
            let pair = [(x.double() - y) * third, (y.double() - x) * third];
            layer.extend(pair.map(|x| [x]));
        }
        layer.truncate(1 << log_leaves);
        let mut expected = layer.clone();
        while layer.len() > 1 {
            let pairs = layer.chunks_exact(2);
            layer = pairs.map(|p| hasher.compress(p[0], p[1])).collect();
            expected.extend(&layer);
        }
        let expected = to_nodes(&expected);
        let mut host = vec![Bn254Node::default(); expected.len()];
        host[..1 << log_leaves].copy_from_slice(&expected[..1 << log_leaves]);
        let mut tree = MetalBuffer::from_host(env.s, &host)?;
        upper_layers(env, &mut tree, log_leaves, block)?;
        let what = || format!("2^{log_leaves} nodes, {block} layers at a time");
        compare(what, &tree.to_host(env.s)?, &expected)?;
    }
    Ok(())
}

/// The layers above the first `2^log_nodes` nodes, up to `most` of them in a dispatch, for blocks that have one layer more if that leaves one.
fn upper_layers(
    env: &CheckEnv,
    tree: &mut MetalBuffer<Bn254Node>,
    mut log_nodes: u32,
    most: u32,
) -> Result<(), MetalError> {
    let mut first = 0;
    while log_nodes > 0 {
        let levels = log_nodes.min(most);
        let log_block = log_nodes.min(levels + 1);
        let p = MerkleSubtreeParams {
            first,
            log_nodes,
            levels,
            log_block,
            unused: 0,
        };
        let threads = (1u32 << (log_block - 1)).min(256);
        let grid = Grid::groups(1 << (log_nodes - log_block), threads);
        kernels::bn254_subtree(env.s, grid, &mut *tree, &p)?;
        first += 2 * ((1 << log_nodes) - (1u64 << (log_nodes - levels)));
        log_nodes -= levels;
    }
    Ok(())
}

/// Cells whose rows are hashed.
trait Cell: DeviceElem + ExtensionField<F> {
    fn leaves(
        env: &CheckEnv,
        grid: Grid,
        matrix: MetalSlice<'_, Self>,
        nodes: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError>;
}
impl Cell for F {
    fn leaves(
        env: &CheckEnv,
        grid: Grid,
        matrix: MetalSlice<'_, Self>,
        nodes: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_leaves_base(env.s, grid, matrix, nodes, p)
    }
}
impl Cell for EF {
    fn leaves(
        env: &CheckEnv,
        grid: Grid,
        matrix: MetalSlice<'_, Self>,
        nodes: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_leaves_ext(env.s, grid, matrix, nodes, p)
    }
}

fn trees_base(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for width in 0..41 {
        let log_height = (width as u32 * 5) % 7;
        let log_rows = (width as u32 * 3) % (log_height + 1);
        tree(env, |env, n| env.rng.fs(n), width, log_height, log_rows)?;
    }
    tree(env, |env, n| env.rng.fs(n), 17, 10, 6)
}

fn trees_ext(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for width in 0..11 {
        let log_height = (width as u32 * 5) % 7;
        let log_rows = (width as u32 * 3) % (log_height + 1);
        tree(env, |env, n| env.rng.efs(n), width, log_height, log_rows)?;
    }
    tree(env, |env, n| env.rng.efs(n), 3, 9, 5)
}

/// A tree of `2^log_rows` rows a leaf, of which the leaf kernel combines any number.
fn tree<T: Cell>(
    env: &mut CheckEnv,
    cells: impl Fn(&mut CheckEnv, usize) -> Vec<T>,
    width: usize,
    log_height: u32,
    log_rows: u32,
) -> Result<(), CheckFailure> {
    let what = format!("2^{log_height} x {width}, 2^{log_rows} rows in a leaf");
    let log_stride = log_height - log_rows;
    let host = cells(env, width << log_height);
    let matrix = MetalBuffer::from_host(env.s, &host)?;
    let expected = leaves_and_layers(&host, width, 1 << log_height, 1 << log_rows);
    for fold in 0..=log_rows.min(4) {
        // Sixteen lanes must not straddle leaves.
        let mut left = log_rows - fold;
        if log_stride < 4 && left > 0 && (fold > 0 || left > 4) {
            continue;
        }
        let p = |log_fold: u32, log_left: u32| MerkleLeafParams {
            height: 1 << log_height,
            threads: 1 << (log_stride + log_left),
            width: width as u32,
            log_stride,
            log_fold,
        };
        let params = p(fold, left);
        let mut layers = MetalBuffer::uninit(env.s.context(), (2 << log_stride) - 1)?;
        let mut below = MetalBuffer::uninit(env.s.context(), params.threads as usize)?;
        let grid = Grid::threads(params.threads as usize);
        T::leaves(env, grid, matrix.as_slice(), below.as_slice_mut(), &params)?;
        loop {
            let log_fold = left.min(if left > 4 { 3 } else { 4 });
            left -= log_fold;
            let params = p(log_fold, left);
            let grid = Grid::threads(params.threads as usize);
            if left == 0 {
                let layer = layers.slice_mut(0..1 << log_stride);
                kernels::bn254_fold(env.s, grid, &below, layer, &params)?;
                break;
            }
            let mut above = MetalBuffer::uninit(env.s.context(), params.threads as usize)?;
            kernels::bn254_fold(env.s, grid, &below, &mut above, &params)?;
            below = above;
        }
        upper_layers(env, &mut layers, log_stride, 3)?;
        let what = || format!("{what}, 2^{fold} by a thread");
        compare(what, &layers.to_host(env.s)?, &expected)?;
    }
    Ok(())
}

/// The layers of the reference's tree, lowest first.
fn leaves_and_layers<T: ExtensionField<F>>(
    cells: &[T],
    width: usize,
    height: usize,
    rows: usize,
) -> Vec<Bn254Node> {
    let hasher = hasher();
    if width == 0 {
        // The reference's matrices have a column at least: the digest of a row without cells is zero.
        let mut layer = vec![hasher.hash_slice(&[]); height];
        while layer.len() > height / rows {
            layer = halves(&hasher, &layer);
        }
        let mut all = layer.clone();
        while layer.len() > 1 {
            layer = halves(&hasher, &layer);
            all.extend(&layer);
        }
        return to_nodes(&all);
    }
    let matrix = ColMajorMatrix::new(cells.to_vec(), width);
    let tree = MerkleTree::new(&hasher, matrix, rows);
    to_nodes(
        &tree
            .expect("a height that is a power of two")
            .digest_layers()
            .concat(),
    )
}

fn halves(hasher: &<SC as StarkProtocolConfig>::Hasher, layer: &[Digest]) -> Vec<Digest> {
    let pairs = layer.chunks_exact(2);
    pairs.map(|p| hasher.compress(p[0], p[1])).collect()
}

/// Rows of which any number of columns are absorbed first, in one part or two, have the same nodes.
fn absorbed(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let (height, log_rows, log_stride) = (1usize << 5, 2, 3);
    for width in [25, 31, 32, 33, 40, 41, 48, 57, 64, 73] {
        let (host, matrix) = env.base(width * height)?;
        let expected = leaves_and_layers(&host, width, height, 1 << log_rows);
        for done in (16..=width - 9).step_by(16) {
            for part in (0..done).step_by(16) {
                let mut states = MetalBuffer::uninit(env.s.context(), height)?;
                let parts = [(0, part), (part, done)];
                for (from, to) in parts.into_iter().filter(|(from, to)| from < to) {
                    let p = MerkleAbsorbParams {
                        height: height as u64,
                        rows: height as u32,
                        width: (to - from) as u32,
                        resumes: u32::from(from > 0),
                    };
                    let columns = matrix.slice(from * height..to * height);
                    kernels::bn254_absorb(env.s, Grid::threads(height), columns, &mut states, &p)?;
                }
                let p = MerkleLeafParams {
                    height: height as u64,
                    threads: 1 << log_stride,
                    width: (width - done) as u32,
                    log_stride,
                    log_fold: log_rows,
                };
                let mut nodes = MetalBuffer::uninit(env.s.context(), 1 << log_stride)?;
                let columns = matrix.slice(done * height..);
                let grid = Grid::threads(1 << log_stride);
                kernels::bn254_leaves_resumed(env.s, grid, columns, &states, &mut nodes, &p)?;
                let what = || format!("{width} columns, {part} and then {done} absorbed");
                compare(what, &nodes.to_host(env.s)?, &expected[..1 << log_stride])?;
            }
        }
    }
    Ok(())
}

fn accepts(transcript: &Transcript, bits: usize, witness: F) -> bool {
    FiatShamirTranscript::<SC>::check_witness(&mut transcript.clone(), bits, witness)
}

/// Every number of cells that wait and every place in the rate, after observations, digests and samples.
fn smallest_witness(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let bits_list: &[usize] = if env.conformance() { &[4] } else { &[1, 6, 9] };
    for &bits in bits_list {
        for observed in 0..25 {
            let mut transcript = default_transcript();
            if observed % 5 == 1 {
                FiatShamirTranscript::<SC>::observe_commit(&mut transcript, [element(env)]);
            }
            for _ in 0..observed {
                FiatShamirTranscript::<SC>::observe(&mut transcript, env.rng.f());
            }
            if observed % 7 == 6 {
                let _: F = FiatShamirTranscript::<SC>::sample(&mut transcript);
            }
            let witness = grind_smallest(env.s, &transcript, bits)?;
            let waiting = transcript.observe_buf().len();
            let place = transcript.absorb_idx();
            let what = || format!("{bits} bits, {waiting} cells wait for word {place}");
            let expected = (0..F::ORDER_U32)
                .map(F::from_u32)
                .find(|&w| accepts(&transcript, bits, w));
            compare(what, &[Some(witness)], &[expected])?;
        }
    }
    Ok(())
}

fn bad_requests(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let transcript = default_transcript();
    refused("31 bits", grind_smallest(env.s, &transcript, 31))?;
    compare(
        || "0 bits".to_owned(),
        &[grind_smallest(env.s, &transcript, 0)?],
        &[F::ZERO],
    )?;
    let matrix = MetalBuffer::<F>::zeroed(env.s, 16)?;
    let states = MetalBuffer::<Bn254Node>::zeroed(env.s, 2)?;
    let mut nodes = MetalBuffer::<Bn254Node>::zeroed(env.s, 2)?;
    let p = MerkleLeafParams {
        height: 2,
        threads: 2,
        width: 8,
        log_stride: 1,
        log_fold: 0,
    };
    refused(
        "8 columns after others",
        kernels::bn254_leaves_resumed(env.s, Grid::threads(2), &matrix, &states, &mut nodes, &p),
    )
}
