//! Files of KZG parameters: those that are made equal halo2's, and what is damaged or of another kind is refused.

use std::{fs, path::Path};

use halo2_base::halo2_proofs::{
    halo2curves::bn256::{Bn256, Fr},
    poly::{
        commitment::{Params as _, ParamsProver as _},
        kzg::commitment::ParamsKZG,
    },
    SerdeFormat,
};
use openvm_metal_evm::{EvmError, Origin, ParamsFolder};
use rand_chacha::{rand_core::SeedableRng as _, ChaCha20Rng};

/// More rows than a thread reads or makes at once.
const K: u32 = 15;

/// halo2's own parameters of a secret, in a file of the ceremony's name.
fn write_as_ceremony(folder: &Path, k: u32, seed: [u8; 32]) {
    let params = ParamsKZG::<Bn256>::setup(k, ChaCha20Rng::from_seed(seed));
    let mut bytes = Vec::new();
    params
        .write_custom(&mut bytes, SerdeFormat::RawBytes)
        .expect("bytes");
    fs::write(folder.join(format!("kzg_bn254_{k}.srs")), bytes).expect("a file");
}

/// Catches a table, a power or a Lagrange scalar that is wrong, more rows than a thread makes at once, and another layout.
#[test]
fn unsafe_parameters_are_halo2s() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = ParamsFolder::new(folder.path(), Origin::UnsafeTest);
    for k in [1, 5, K] {
        let made = ours.read(k).expect("parameters");
        let expected = ParamsKZG::<Bn256>::setup(k, ChaCha20Rng::from_seed([0; 32]));
        assert_eq!(made.get_g(), expected.get_g(), "2^{k} rows");
        assert_eq!(made.s_g2(), expected.s_g2());
        let mut bytes = Vec::new();
        expected
            .write_custom(&mut bytes, SerdeFormat::RawBytes)
            .expect("bytes");
        assert_eq!(
            fs::read(ours.path(k)).expect("the file"),
            bytes,
            "2^{k} rows"
        );
    }
    let name = ours.path(K);
    assert!(
        name.to_string_lossy().ends_with("unsafe-test.srs"),
        "{name:?}"
    );
}

/// Catches a reading that mixes the bases up: a polynomial has one commitment in both.
#[test]
fn parameters_of_a_ceremony_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    write_as_ceremony(folder.path(), K, [7; 32]);
    let ceremony = ParamsFolder::new(folder.path(), Origin::Ceremony);
    ceremony.check(K).expect("plausible");
    let read = ceremony.read(K).expect("parameters");
    let expected = ParamsKZG::<Bn256>::setup(K, ChaCha20Rng::from_seed([7; 32]));
    assert_eq!(read.k(), K);
    assert_eq!(read.get_g(), expected.get_g());
    let values: Vec<Fr> = (0..1 << K).map(Fr::from).collect();
    let commit = |params: &ParamsKZG<Bn256>| {
        let domain = halo2_base::halo2_proofs::poly::EvaluationDomain::<Fr>::new(2, K);
        let mut poly = domain.empty_lagrange();
        poly.copy_from_slice(&values);
        params.commit_lagrange(&poly, Default::default())
    };
    assert_eq!(commit(&read), commit(&expected));
}

/// Catches a file that is refused in the middle of work, or not at all.
#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let ceremony = ParamsFolder::new(folder.path(), Origin::Ceremony);
    let missing = ceremony.check(K).expect_err("there is no file");
    assert!(
        matches!(missing, EvmError::MissingParams { k: K, .. }),
        "{missing}"
    );

    // The secret that everybody knows, under the name of a ceremony's parameters.
    write_as_ceremony(folder.path(), K, [0; 32]);
    for refused in [ceremony.check(K).map(drop), ceremony.read(K).map(drop)] {
        let refused = refused.expect_err("a public secret");
        assert!(
            matches!(refused, EvmError::PublicSecret { .. }),
            "{refused}"
        );
    }

    write_as_ceremony(folder.path(), K, [9; 32]);
    let path = ceremony.path(K);
    let good = fs::read(&path).expect("the file");
    let first = 4;
    let (points, end) = (64usize << K, good.len());
    let cases: [(&str, Vec<u8>, bool); 7] = [
        ("cut", good[..end - 1].to_vec(), true),
        ("longer", [&good[..], &[0]].concat(), true),
        (
            "another k",
            [&5u32.to_le_bytes(), &good[4..]].concat(),
            true,
        ),
        ("another second point", changed(&good, first + 64 + 3), true),
        ("another secret", changed(&good, end - 10), true),
        ("a damaged point", changed(&good, first + points - 5), false),
        (
            "a damaged point of the Lagrange basis",
            changed(&good, first + 2 * points - 5),
            false,
        ),
    ];
    for (name, bytes, before_work) in cases {
        fs::write(&path, bytes).expect("a file");
        assert_eq!(ceremony.check(K).is_err(), before_work, "{name}");
        let refused = ceremony.read(K).expect_err(name);
        assert!(
            matches!(refused, EvmError::Params { .. }),
            "{name}: {refused}"
        );
    }

    // Two files of different secrets.
    fs::write(&path, &good).expect("a file");
    write_as_ceremony(folder.path(), 5, [8; 32]);
    let refused = ceremony.check_both([K, 5]).expect_err("two secrets");
    assert!(matches!(refused, EvmError::OtherParams { .. }), "{refused}");
    write_as_ceremony(folder.path(), 5, [9; 32]);
    ceremony.check_both([K, 5]).expect("one secret");

    // Parameters of a ceremony under the name of unsafe ones say nothing wrong, but the name does.
    let unsafe_ones = ParamsFolder::new(folder.path(), Origin::UnsafeTest);
    fs::write(unsafe_ones.path(K), good).expect("a file");
    assert!(unsafe_ones.check(K).is_err());
}

fn changed(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}
