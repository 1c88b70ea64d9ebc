use openvm_metal_backend::{
    hash::MerkleTreeMetal,
    openings::whir::{prove_whir, WhirCommit},
    prelude::{EF, F, SC},
    KeptCodewords, MetalMatrix, MetalProverConfig,
};
use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::{
    proof::WhirProof,
    prover::{whir::prove_whir_opening, MatrixDimensions},
    FiatShamirTranscript, StarkProtocolConfig, SystemParams, WhirConfig,
};
use rand::{rngs::StdRng, Rng, SeedableRng};

use crate::{
    commits::{random_shape, Commit, Shape},
    contexts,
    params::{Small, SMALL},
    transcript::{prover_config, SmallestWitness},
};

fn tree(s: &CommandStream, commit: &Commit) -> MerkleTreeMetal<F> {
    let codewords = commit.data.tree.backing_matrix();
    let buffer = MetalBuffer::from_host(s, &codewords.values).expect("upload");
    let matrix = MetalMatrix::from_buffer(buffer, codewords.height(), codewords.width());
    let (tree, root) =
        MerkleTreeMetal::<_, SC>::new(s, matrix, commit.data.tree.rows_per_query()).expect("tree");
    assert_eq!(root, commit.data.commit().expect("root"));
    tree
}

/// Checks with the parameters' work, with none for variables, and with so much that the device searches.
fn check(seed: u64, mut params: SystemParams, shapes: &[Shape], gate: usize) {
    check_params(seed, params.clone(), shapes, gate);
    params.whir.folding_pow_bits = 0;
    check_params(seed, params.clone(), shapes, gate);
    params.whir.folding_pow_bits = 8;
    params.whir.query_phase_pow_bits = 8;
    check_params(seed, params, shapes, gate);
}

/// Proves with the reference, and with host gates 0, `gate` and "everything" on each device.
fn check_params(seed: u64, params: SystemParams, shapes: &[Shape], gate: usize) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let config = SC::default_from_params(params.clone());
    let commits: Vec<Commit> = shapes
        .iter()
        .map(|s| Commit::random(rng, &config, s))
        .collect();
    let mut sponge = SmallestWitness::new(seed + 1);
    let u: Vec<EF> = (0..params.log_stacked_height())
        .map(|_| sponge.sample_ext())
        .collect();

    let mats: Vec<_> = commits
        .iter()
        .map(|c| (&c.data.matrix, &c.data.tree))
        .collect();
    let mut transcript = SmallestWitness::new(seed);
    let expected = prove_whir_opening::<SC, _>(
        &mut transcript,
        config.hasher(),
        params.l_skip,
        params.log_blowup,
        &params.whir,
        &mats,
        &u,
    )
    .expect("reference");
    let next: EF = transcript.sample_ext();

    for ctx in contexts() {
        let s = ctx.stream();
        for gate in [0, gate, 30] {
            let ranges: Vec<_> = commits.iter().map(|c| c.ranges(rng, &s)).collect();
            let trees: Vec<_> = commits.iter().map(|c| tree(&s, c)).collect();
            let views: Vec<WhirCommit<'_>> = commits
                .iter()
                .zip(ranges.iter().zip(&trees))
                .map(|(c, (ranges, tree))| WhirCommit {
                    ranges,
                    width: c.data.layout.width(),
                    tree,
                    kept: KeptCodewords::All,
                })
                .collect();
            let config = prover_config(Some(gate));
            let transcript = SmallestWitness::new(seed);
            let (proof, found) = prove(&s, &config, transcript, &params, &views, &u);
            let what = format!(
                "seed {seed}, gate {gate}, {:?}, {shapes:?}",
                ctx.info().kind
            );
            let polys = proof
                .whir_sumcheck_polys
                .iter()
                .zip(&expected.whir_sumcheck_polys);
            for (i, (ours, theirs)) in polys.enumerate() {
                assert_eq!(ours, theirs, "sumcheck round {i}: {what}");
            }
            assert_eq!(proof.codeword_commits, expected.codeword_commits, "{what}");
            assert_eq!(proof.ood_values, expected.ood_values, "{what}");
            assert_eq!(proof.final_poly, expected.final_poly, "{what}");
            assert!(proof == expected, "{what}");
            assert_eq!(found, next, "{what}");
        }
    }
}

/// The proof, and what the transcript samples next.
fn prove<TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    config: &MetalProverConfig,
    mut transcript: TS,
    params: &SystemParams,
    views: &[WhirCommit<'_>],
    u: &[EF],
) -> (WhirProof<SC>, EF) {
    let (l_skip, log_blowup) = (params.l_skip, params.log_blowup);
    let whir = &params.whir;
    let proof = prove_whir(
        s,
        config,
        &mut transcript,
        l_skip,
        log_blowup,
        whir,
        views,
        u,
    );
    (proof.expect("proof"), transcript.sample_ext())
}

#[test]
fn random_layouts_equal_the_reference() {
    for (i, small) in SMALL.iter().enumerate() {
        let seed = 1000 + i as u64;
        let rng = &mut StdRng::seed_from_u64(!seed);
        let params = small.params();
        let shapes: Vec<Shape> = (0..rng.random_range(1..=3))
            .map(|_| random_shape(rng, &params))
            .collect();
        check(seed, params, &shapes, 5);
    }
}

#[test]
fn degenerate_parameters_equal_the_reference() {
    let small = |l_skip, n_stack, k_whir, log_blowup| {
        let small = Small {
            l_skip,
            n_stack,
            k_whir,
            log_blowup,
            log_final_poly_len: 0,
            ..SMALL[0]
        };
        small.params()
    };
    // Without a skip domain, without hypercube variables, one round, folds larger and smaller than the
    // skip domain.
    check(1, small(0, 6, 2, 1), &[vec![(6, 2), (3, 3), (0, 5)]], 3);
    check(2, small(4, 0, 2, 1), &[vec![(4, 2), (2, 3), (0, 5)]], 3);
    check(3, small(2, 2, 4, 2), &[vec![(0, 1)], vec![(4, 1)]], 3);
    check(4, small(4, 3, 1, 4), &[vec![(7, 3)]], 3);
    check(5, small(1, 8, 3, 3), &[vec![(7, 1)], vec![(0, 1)]], 3);
}

/// A tree over another number of rows than the parameters say.
#[test]
fn trees_of_another_size_are_refused() {
    let params = SMALL[0].params();
    let config = SC::default_from_params(params.clone());
    let rng = &mut StdRng::seed_from_u64(10);
    let commit = Commit::random(rng, &config, &vec![(6, 3)]);
    let s = contexts()[0].stream();
    let (ranges, tree) = (commit.ranges(rng, &s), tree(&s, &commit));
    let views = [WhirCommit {
        ranges: &ranges,
        width: commit.data.layout.width(),
        tree: &tree,
        kept: KeptCodewords::All,
    }];
    let prove = |log_blowup: usize, k: usize| {
        let u = vec![EF::default(); params.log_stacked_height()];
        let whir = WhirConfig {
            k,
            ..params.whir.clone()
        };
        let config = prover_config(Some(0));
        let mut transcript = SmallestWitness::new(1);
        let l_skip = params.l_skip;
        let proof = prove_whir(
            &s,
            &config,
            &mut transcript,
            l_skip,
            log_blowup,
            &whir,
            &views,
            &u,
        );
        proof.err().map(|error| error.to_string())
    };
    let (log_blowup, k) = (params.log_blowup, params.whir.k);
    assert_eq!(prove(log_blowup, k), None);
    for (log_blowup, k) in [(log_blowup + 1, k), (log_blowup, k - 1)] {
        let text = prove(log_blowup, k).expect("an error");
        assert!(text.contains("a committed tree has"), "{text}");
    }
}
