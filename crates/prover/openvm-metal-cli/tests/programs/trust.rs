//! Proofs, keys and baselines of strangers against every `verify` command: what is refused, and by which
//! name.

use std::{fs, path::Path, sync::Arc};

use openvm_circuit::{
    arch::hasher::{poseidon2::vm_poseidon2_hasher, Hasher},
    system::memory::merkle::public_values::PUBLIC_VALUES_AS,
};
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    files,
    parameters::{toy_aggregation, toy_app, TOY_APP_LOG_HEIGHT},
    MetalSdk,
};
use openvm_sdk::F;
use openvm_stark_backend::{
    air_builders::PartitionedAirBuilder,
    keygen::types::MultiStarkVerifyingKey,
    prover::{
        stacked_pcs::stacked_commit, AirProvingContext, ColMajorMatrix, CommittedTraceData,
        DeviceDataTransporter, ProvingContext,
    },
    AirRef, BaseAirWithPublicValues, PartitionedBaseAir, StarkEngine, StarkProtocolConfig,
    SystemParams,
};
use openvm_stark_sdk::config::{
    baby_bear_poseidon2::{BabyBearPoseidon2Config, BabyBearPoseidon2RefEngine, DuplexSponge},
    internal_params_with_100_bits_security,
};
use openvm_verify_stark_host::{
    verify_vm_stark_proof_decoded,
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};
use p3_air::{Air, BaseAir};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::Matrix;
use serde_json::Value;

use crate::support::{command, elf, fails, guest, json, run, succeeds, text, Folder};

/// The AIR of OpenVM's aggregation circuits that has a cached trace, and the one with the execution's
/// public values.
const CONSTRAINT_EVAL_AIR: usize = 3;
const VM_AIR: usize = 1;
/// The place of the final memory's root among the public values of the execution.
const FINAL_ROOT: std::ops::Range<usize> = 20..28;

/// An AIR of one column that is zero. Its public values are free.
struct Free {
    public_values: usize,
    has_cached: bool,
}

impl<T> BaseAir<T> for Free {
    fn width(&self) -> usize {
        1 + usize::from(self.has_cached)
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for Free {
    fn num_public_values(&self) -> usize {
        self.public_values
    }
}
impl<T: Field> PartitionedBaseAir<T> for Free {
    fn cached_main_widths(&self) -> Vec<usize> {
        vec![1; usize::from(self.has_cached)]
    }

    fn common_main_width(&self) -> usize {
        1
    }
}
impl<AB: PartitionedAirBuilder> Air<AB> for Free {
    fn eval(&self, builder: &mut AB) {
        let row = builder.common_main().row_slice(0).map(|row| row.to_vec());
        if let Some(zero) = row.and_then(|row| row.first().cloned()) {
            builder.assert_zero(zero);
        }
    }
}

/// A key of a circuit that constrains nothing, and a proof under it that claims an execution of the
/// program of `honest` that revealed `revealed`.
fn forge(
    honest: &VmStarkProof,
    baseline: &VerificationBaseline,
    params: SystemParams,
    revealed: &[u8; 32],
) -> (
    MultiStarkVerifyingKey<BabyBearPoseidon2Config>,
    VmStarkProof,
) {
    let mut proof = honest.clone();
    let hasher = vm_poseidon2_hasher::<F>();
    let values = &mut proof.user_pvs_proof;
    values.public_values = revealed.iter().map(|&byte| F::from_u8(byte)).collect();
    values.public_values_commit = hasher.merkle_root(&values.public_values);
    // The public values lie at the start of their address space.
    let height = (values.public_values.len() / 8).ilog2();
    let index = baseline
        .memory_dimensions
        .label_to_index((PUBLIC_VALUES_AS, 0))
        >> height;
    let mut root = values.public_values_commit;
    for (level, sibling) in values.proof.iter().enumerate() {
        root = match index >> level & 1 {
            1 => hasher.compress(sibling, &root),
            _ => hasher.compress(&root, sibling),
        };
    }
    let mut public_values = honest.inner.public_values[..=CONSTRAINT_EVAL_AIR].to_vec();
    public_values[VM_AIR][FINAL_ROOT].copy_from_slice(&root);

    let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params);
    let (rows, params) = (1 << engine.params().l_skip, engine.params().clone());
    let airs: Vec<AirRef<BabyBearPoseidon2Config>> = public_values
        .iter()
        .enumerate()
        .map(|(index, values)| {
            let (public_values, has_cached) = (values.len(), index == CONSTRAINT_EVAL_AIR);
            let air = Free {
                public_values,
                has_cached,
            };
            Arc::new(air) as AirRef<_>
        })
        .collect();
    let (pk, vk) = engine.keygen(&airs);
    let zeros = || ColMajorMatrix::new(F::zero_vec(rows), 1);
    let traces = public_values
        .into_iter()
        .enumerate()
        .map(|(index, values)| {
            let cached = (index == CONSTRAINT_EVAL_AIR).then(|| {
                let (_, data) = stacked_commit(
                    engine.config().hasher(),
                    params.l_skip,
                    params.n_stack,
                    params.log_blowup,
                    params.k_whir(),
                    &[&zeros()],
                )
                .expect("a column fits");
                CommittedTraceData {
                    commitment: baseline.internal_recursive_vk_commit.cached_commit,
                    trace: zeros(),
                    data: Arc::new(data),
                }
            });
            let cached = cached.into_iter().collect();
            (index, AirProvingContext::new(cached, zeros(), values))
        });
    let ctx = ProvingContext::new(traces.collect());
    let device = engine.device();
    let ctx = device.transport_proving_ctx_to_device(&ctx);
    let inner = engine.prove(&device.transport_pk_to_device(&pk), ctx);
    proof.inner = inner.expect("traces of zeros");
    (vk, proof)
}

/// Parameters of the internal circuits without a query, so that nobody looks at what was committed.
fn without_queries() -> SystemParams {
    let mut params = toy_aggregation(17).internal;
    for round in &mut params.whir.rounds {
        round.num_queries = 0;
    }
    params
}

fn data(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    data.join(name).display().to_string()
}

/// The honest files: a proof with default parameters, its key as `setup` writes it, its baseline and its
/// commitments as `commit` writes them.
struct Honest {
    proof: String,
    bundle: String,
    agg_vk: String,
    baseline: String,
    commit: String,
}

impl Honest {
    fn new(folder: &Folder) -> Self {
        let agg_vk = folder.file("agg.vk");
        let bundle = data("fibonacci.stark.vk");
        let key = files::read_stark_vk(Path::new(&bundle)).expect("a key");
        files::write_agg_vk(Path::new(&agg_vk), &key.mvk).expect("written");
        Self {
            proof: data("fibonacci.stark.proof"),
            bundle,
            agg_vk,
            baseline: data("fibonacci.baseline.json"),
            commit: data("fibonacci.commit.json"),
        }
    }

    fn key(&self) -> VmStarkVerifyingKey {
        files::read_stark_vk(Path::new(&self.bundle)).expect("a key")
    }

    fn by_baseline<'a>(
        &'a self,
        proof: &'a str,
        agg_vk: &'a str,
        baseline: &'a str,
    ) -> [&'a str; 7] {
        [
            "verify",
            "stark",
            proof,
            "--agg-vk",
            agg_vk,
            "--baseline",
            baseline,
        ]
    }
}

fn write_json(path: &str, value: &Value) {
    fs::write(path, value.to_string()).expect("written");
}

fn read_json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// Another hash of the right form.
fn other_hash(value: &Value) -> Value {
    let text = value.as_str().expect("a hash");
    let mut bytes = text.as_bytes().to_vec();
    let last = bytes.len() - 1;
    bytes[last] = if bytes[last] == b'0' { b'1' } else { b'0' };
    String::from_utf8(bytes).expect("text").into()
}

#[test]
fn verify_prints_the_statement() {
    let folder = Folder::new();
    let honest = Honest::new(&folder);
    let commit = read_json(&honest.commit);
    let by_files = honest.by_baseline(&honest.proof, &honest.agg_vk, &honest.baseline);
    let said = succeeds(&by_files);
    for part in [
        "the proof is valid, public values 0x4b60c05cc74d590b",
        "security         100.0 bits\n",
        commit["app_exe_commit"].as_str().expect("a hash"),
        commit["app_vm_commit"].as_str().expect("a hash"),
        "compared with",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    // The name of a file makes no line of its own.
    let name = folder.file("b.json\nsecurity         200.0 bits");
    fs::copy(&honest.baseline, &name).expect("copied");
    let said = succeeds(&honest.by_baseline(&honest.proof, &honest.agg_vk, &name));
    let line = "b.json\u{fffd}security         200.0 bits\n";
    assert!(
        said.ends_with(line) && !said.contains("\nsecurity         200"),
        "{said}"
    );
    // A key that came with the proof says nothing of the program, unless that is compared.
    let by_bundle = ["verify", "stark", &honest.proof, "--vk", &honest.bundle];
    fails(&by_bundle, 1, "unknown origin");
    let said = succeeds(&[&by_bundle[..], &["--trust-vk"]].concat());
    for part in [
        "nothing: is this your program?",
        "100.1 bits in the last circuit",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let report = json(&[&by_bundle[..], &["--commit", &honest.commit, "--json"]].concat());
    assert_eq!(report["valid"], true);
    assert_eq!(report["is_of_all_circuits"], true);
    assert_eq!(
        report["security_bits"].as_f64().map(f64::floor),
        Some(100.0)
    );
    assert_eq!(report["app_exe_commit"], commit["app_exe_commit"]);
    assert_eq!(report["app_vm_commit"], commit["app_vm_commit"]);
    assert_eq!(report["compared_with"], honest.commit);
}

/// `verify stark` with a forged key: the proof of no execution that OpenVM's verifier accepts.
#[test]
fn forged_keys_are_refused() {
    let folder = Folder::new();
    let honest = Honest::new(&folder);
    let (proof, key) = (
        files::read_proof(Path::new(&honest.proof)).expect("a proof"),
        honest.key(),
    );
    let baseline = &key.baseline;
    let revealed = b"any values, of no execution at a";
    let (vk, forged) = forge(&proof, baseline, without_queries(), revealed);
    let bundle = VmStarkVerifyingKey {
        mvk: vk.clone(),
        baseline: baseline.clone(),
    };
    verify_vm_stark_proof_decoded(&bundle, &forged).expect("OpenVM's verifier believes its key");

    let file = |name: &str| folder.file(name);
    let write_key = |name: &str, vk: &MultiStarkVerifyingKey<_>| {
        files::write_agg_vk(Path::new(&file(name)), vk).expect("written");
        file(name)
    };
    let evil_proof = file("evil.stark.proof");
    files::write_proof(Path::new(&evil_proof), &forged).expect("written");
    let evil_vk = write_key("evil.agg.vk", &vk);
    let not_the_baselines = "not the key that the baseline names";
    let changed = "contents do not match its hash";
    // Rounds without a query are no encoding that is read, whatever the key.
    let unread = "not usable as a proof";
    fails(
        &honest.by_baseline(&evil_proof, &evil_vk, &honest.baseline),
        1,
        unread,
    );
    fails(
        &honest.by_baseline(&evil_proof, &honest.agg_vk, &honest.baseline),
        1,
        unread,
    );
    let insecure = honest.by_baseline(&honest.proof, &evil_vk, &honest.baseline);
    fails(&insecure, 1, "bits of security");
    fails(
        &[&insecure[..], &["--allow-insecure", "--trust-vk"]].concat(),
        1,
        not_the_baselines,
    );

    // The same with parameters of 100 bits: nothing but the hash tells it from OpenVM's circuit.
    let params = internal_params_with_100_bits_security();
    let (strong, _) =
        BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params).keygen(&[Arc::new(Free {
            public_values: 0,
            has_cached: false,
        }) as AirRef<_>]);
    let strong = strong.get_vk();
    let strong_vk = write_key("strong.agg.vk", &strong);
    fails(
        &honest.by_baseline(&honest.proof, &strong_vk, &honest.baseline),
        1,
        not_the_baselines,
    );

    // The honest hash on other contents, and contents with another hash.
    let mut renamed = vk.clone();
    renamed.pre_hash = key.mvk.pre_hash;
    fails(
        &honest.by_baseline(
            &honest.proof,
            &write_key("renamed", &renamed),
            &honest.baseline,
        ),
        1,
        changed,
    );
    let mut weakened = key.mvk.clone();
    weakened.inner.params.whir.rounds[0].num_queries = 1;
    fails(
        &honest.by_baseline(
            &honest.proof,
            &write_key("weakened", &weakened),
            &honest.baseline,
        ),
        1,
        changed,
    );
    let mut rehashed = key.mvk.clone();
    rehashed.pre_hash[0] += F::ONE;
    fails(
        &honest.by_baseline(
            &honest.proof,
            &write_key("rehashed", &rehashed),
            &honest.baseline,
        ),
        1,
        changed,
    );

    // As a bundle, in which nothing is honest.
    let write_bundle = |name: &str, bundle: &VmStarkVerifyingKey| {
        files::write_stark_vk(Path::new(&file(name)), bundle).expect("written");
        file(name)
    };
    let by_bundle = |bundle: &str, options: &[&str], message: &str| {
        let args = ["verify", "stark", &honest.proof, "--vk", bundle];
        fails(&[&args[..], options].concat(), 1, message);
    };
    let evil = write_bundle("evil.stark.vk", &bundle);
    by_bundle(&evil, &[], "bits of security");
    by_bundle(&evil, &["--allow-insecure"], "unknown origin");
    let commit = ["--allow-insecure", "--commit", &honest.commit];
    by_bundle(&evil, &commit, not_the_baselines);
    let mut own = bundle.clone();
    own.baseline.internal_recursive_vk_commit.vk_pre_hash = vk.pre_hash;
    let own = write_bundle("own.stark.vk", &own);
    by_bundle(&own, &["--allow-insecure"], "unknown origin");
    let mut strong_own = bundle.clone();
    strong_own.mvk = strong.clone();
    strong_own.baseline.internal_recursive_vk_commit.vk_pre_hash = strong.pre_hash;
    let strong_own = write_bundle("strong.stark.vk", &strong_own);
    by_bundle(&strong_own, &[], "unknown origin");
    // OpenVM's key over constraints of a stranger.
    let mut child = key.clone();
    child.baseline.internal_recursive_vk_commit.cached_commit[0] += F::ONE;
    let child = write_bundle("child.stark.vk", &child);
    by_bundle(&child, &["--commit", &honest.commit], "unknown origin");
    // Another place for the public values: the final registers, unused memory, a part of them.
    for (space, address, values) in [(1, 28, 32), (2, 27, 32), (4, 25, 32), (3, 26, 16)] {
        let mut moved = key.clone();
        moved.baseline.memory_dimensions.addr_space_height = space;
        moved.baseline.memory_dimensions.address_height = address;
        moved.baseline.num_user_pvs = values;
        let moved = write_bundle("moved.stark.vk", &moved);
        by_bundle(&moved, &["--commit", &honest.commit], "unknown origin");
    }
    // The forged proof under the honest key.
    fails(
        &["verify", "stark", &evil_proof, "--vk", &honest.bundle],
        1,
        unread,
    );
}

/// Each commitment of a baseline is compared.
#[test]
fn baselines_of_something_else_are_refused() {
    let folder = Folder::new();
    let honest = Honest::new(&folder);
    let original = read_json(&honest.baseline);
    let changed = folder.file("changed.json");
    let mut cases = vec![("/app_exe_commit".to_owned(), "the proof is not accepted")];
    for circuit in ["app", "leaf", "internal_for_leaf", "internal_recursive"] {
        for part in ["cached_commit", "vk_pre_hash"] {
            let message = match (circuit, part) {
                ("internal_recursive", "vk_pre_hash") => "not the key that the baseline names",
                _ => "the proof is not accepted",
            };
            cases.push((format!("/{circuit}_vk_commit/{part}"), message));
        }
    }
    for (place, message) in cases {
        let mut json = original.clone();
        let value = json.pointer_mut(&place).expect("a part of the baseline");
        *value = other_hash(value);
        write_json(&changed, &json);
        let args = honest.by_baseline(&honest.proof, &honest.agg_vk, &changed);
        fails(&args, 1, message);
    }
    for (place, number) in [
        ("/num_user_pvs", 64),
        ("/memory_dimensions/address_height", 25),
    ] {
        let mut json = original.clone();
        *json.pointer_mut(place).expect("a part of the baseline") = number.into();
        write_json(&changed, &json);
        let args = honest.by_baseline(&honest.proof, &honest.agg_vk, &changed);
        fails(&args, 1, "the proof is not accepted");
    }
    // A baseline, or commitments, of circuits without security below the last one.
    for (file, option) in [
        (&honest.baseline, "--baseline"),
        (&honest.commit, "--commit"),
    ] {
        let mut json = read_json(file);
        json["security_bits"] = 5.2.into();
        write_json(&changed, &json);
        let args = match option {
            "--commit" => [
                "verify",
                "stark",
                &honest.proof,
                "--vk",
                &honest.bundle,
                "--commit",
                &changed,
            ],
            _ => honest.by_baseline(&honest.proof, &honest.agg_vk, &changed),
        };
        fails(&args, 1, "bits of security");
        let said = succeeds(&[&args[..], &["--allow-insecure"]].concat());
        assert!(said.contains("5.2 bits, so it can be FORGED"), "{said}");
    }
    // The commitments of another program, and of another virtual machine.
    for (part, message) in [
        ("app_exe_commit", "the program is"),
        ("app_vm_commit", "the virtual machine is"),
    ] {
        let mut json = read_json(&honest.commit);
        json[part] = other_hash(&json[part]);
        write_json(&changed, &json);
        let args = [
            "verify",
            "stark",
            &honest.proof,
            "--vk",
            &honest.bundle,
            "--commit",
            &changed,
        ];
        fails(&args, 1, message);
    }
    // Other public values.
    let proof = Path::new(&honest.proof);
    let mut other = files::read_proof(proof).expect("a proof");
    other.user_pvs_proof.public_values[0] += F::ONE;
    let path = folder.file("other.proof");
    files::write_proof(Path::new(&path), &other).expect("written");
    let args = honest.by_baseline(&path, &honest.agg_vk, &honest.baseline);
    fails(&args, 1, "the proof is not accepted");
    other.user_pvs_proof.public_values[0] += F::from_u32(256);
    files::write_proof(Path::new(&path), &other).expect("written");
    fails(
        &honest.by_baseline(&path, &honest.agg_vk, &honest.baseline),
        1,
        "not accepted",
    );
    let mut json = read_json(&honest.proof);
    json["version"] = "v99.0-evil".into();
    write_json(&path, &json);
    fails(
        &honest.by_baseline(&path, &honest.agg_vk, &honest.baseline),
        1,
        "version",
    );
}

/// Parameters without security are refused by `prove` and `verify`, and marked wherever they go.
#[test]
fn insecure_parameters_need_consent() {
    let folder = Folder::new();
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let copy = folder.file("fibonacci.elf");
    fs::copy(&program, &copy).expect("copied");
    // A stranger's guest whose configuration asks for one query a round.
    let mut config = openvm_sdk::config::AppConfig::new(
        openvm_sdk_config::SdkVmConfig::riscv32(),
        openvm_metal_sdk::parameters::toy_app(21),
    );
    for round in &mut config.system_params.whir.rounds {
        round.num_queries = 1;
    }
    let weak = toml::to_string(&config).expect("TOML");
    fs::write(folder.file("openvm.toml"), weak).expect("written");
    let prove = ["prove", "app", &copy, "--input", &input, "--device", "cpu"];
    let output = run(&prove);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("openvm.toml has [system_params]"), "{said}");
    assert!(said.contains("bits of security, at least 80"), "{said}");
    for command in ["keygen", "commit", "setup"] {
        let out = folder.file("weak-keys");
        let args = [command, &copy, "--device", "cpu", "--out", &out];
        fails(&args, 1, "bits of security, at least 80");
        assert!(!Path::new(&out).join("app.pk").exists());
    }

    let mut weak = crate::support::command(&prove);
    let output = weak
        .args(["--allow-insecure"])
        .current_dir(&folder.0)
        .output()
        .expect("the binary runs");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("WITHOUT SECURITY"), "{said}");
    assert!(said.contains("--trust-vk --allow-insecure"), "{said}");
    let (proof, vk) = ("fibonacci.insecure.app.proof", "fibonacci.insecure.app.vk");
    let (proof, vk) = (folder.file(proof), folder.file(vk));
    let verify = ["verify", "app", &proof, "--vk", &vk];
    fails(&verify, 1, "unknown origin");
    fails(
        &[&verify[..], &["--allow-insecure"]].concat(),
        1,
        "unknown origin",
    );
    fails(
        &[&verify[..], &["--trust-vk"]].concat(),
        1,
        "bits of security",
    );
    let said = succeeds(&[&verify[..], &["--trust-vk", "--allow-insecure"]].concat());
    assert!(said.contains("FORGED"), "{said}");
    // The commitment of the program is that of default parameters: it says nothing of queries.
    let commit = data("fibonacci.commit.json");
    let own = [&verify[..], &["--trust-vk", "--commit", &commit]].concat();
    fails(&own, 1, "bits of security");
    // The default baseline names another key.
    let baseline = data("fibonacci.baseline.json");
    let by_baseline = [&verify[..], &["--baseline", &baseline]].concat();
    fails(&by_baseline, 1, "not the key that the baseline names");
    fails(
        &[&by_baseline[..], &["--allow-insecure"]].concat(),
        1,
        "not the key",
    );
}

/// `verify app` with keys of strangers.
#[test]
fn application_keys_of_strangers() {
    let folder = Folder::new();
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let file = |name: &str| folder.file(name);
    let (proof, vk, keys) = (file("proof"), file("vk"), file("keys"));
    let report = json(&[
        "prove", "app", &program, "--input", &input, "--toy", "--device", "cpu", "--proof", &proof,
        "--vk", &vk, "--json",
    ]);
    assert!(report["security_bits"].as_f64() < Some(80.0), "{report}");
    let report = json(&[
        "commit", &program, "--toy", "--device", "cpu", "--out", &keys, "--json",
    ]);
    assert!(report["security_bits"].as_f64() < Some(80.0), "{report}");
    let baseline = format!("{keys}/fibonacci.insecure.baseline.json");
    let json_of = read_json(&baseline);
    assert!(json_of["security_bits"].as_f64() < Some(80.0), "{json_of}");
    let commit = format!("{keys}/fibonacci.insecure.commit.json");

    let verify = ["verify", "app", &proof, "--vk", &vk, "--allow-insecure"];
    let with = |options: &[&str]| {
        [&verify[..], options]
            .concat()
            .into_iter()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let refused = |options: &[&str], message: &str| {
        let args = with(options);
        fails(
            &args.iter().map(String::as_str).collect::<Vec<_>>(),
            1,
            message,
        );
    };
    let said = succeeds(&[&verify[..], &["--baseline", &baseline, "--commit", &commit]].concat());
    assert!(
        said.contains(
            read_json(&commit)["app_vm_commit"]
                .as_str()
                .expect("a hash")
        ),
        "{said}"
    );
    refused(&[], "unknown origin");
    refused(&["--commit", &commit], "unknown origin");
    // The parts that were compared are said: the key alone does not fix the virtual machine.
    for (options, parts, shown) in [
        (&["--baseline", &baseline][..], 2, "baseline.json\n"),
        (
            &["--trust-vk", "--commit", &commit],
            1,
            "commit.json (the program alone)\n",
        ),
        (&["--trust-vk"], 0, "compared with    nothing"),
    ] {
        let args = [&verify[..], options].concat();
        let said = succeeds(&args);
        assert!(said.contains(shown), "{said}");
        let report = json(&[&args[..], &["--json"]].concat());
        let found = report["compared"].as_array().map(Vec::len);
        assert_eq!(found, Some(parts), "{report}");
    }
    // A verdict that nobody reads is the same verdict.
    for (last, status) in [("--trust-vk", 0), ("--json", 1)] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut verify = command(&[&verify[..], &[last]].concat());
        let output = verify.stdout(writer).output().expect("the binary runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert_eq!(said.is_empty(), status == 0, "{said}");
    }

    let changed = file("changed.json");
    for (place, message) in [
        (
            "/app_vk_commit/vk_pre_hash",
            "not the key that the baseline names",
        ),
        ("/app_exe_commit", "it is of the executable"),
    ] {
        let mut json = read_json(&baseline);
        let value = json.pointer_mut(place).expect("a part");
        *value = other_hash(value);
        write_json(&changed, &json);
        refused(&["--baseline", &changed], message);
    }
    let mut json = read_json(&baseline);
    json["expected_def_hook_commit"] = json["app_exe_commit"].clone();
    write_json(&changed, &json);
    refused(
        &["--baseline", &changed],
        "the baseline is of a machine with deferral circuits",
    );
    for (place, number) in [
        ("/num_user_pvs", 64),
        ("/memory_dimensions/address_height", 25),
    ] {
        let mut json = read_json(&baseline);
        *json.pointer_mut(place).expect("a part") = number.into();
        write_json(&changed, &json);
        refused(&["--baseline", &changed], "is not the baseline's");
    }
    let mut json = read_json(&commit);
    json["app_vm_commit"] = other_hash(&json["app_vm_commit"]);
    write_json(&changed, &json);
    refused(
        &["--baseline", &baseline, "--commit", &changed],
        "the virtual machine is",
    );
    // Another memory in the key than the baseline's, and other contents than its hash's.
    let mut key = files::read_app_vk(Path::new(&vk)).expect("a key");
    key.num_user_pvs = 64;
    let other_vk = file("other.vk");
    files::write_app_vk(Path::new(&other_vk), &key).expect("written");
    let other = [
        "verify",
        "app",
        &proof,
        "--vk",
        &other_vk,
        "--allow-insecure",
    ];
    fails(
        &[&other[..], &["--baseline", &baseline]].concat(),
        1,
        "is not the baseline's",
    );
    let mut key = files::read_app_vk(Path::new(&vk)).expect("a key");
    key.vk.inner.params.logup.pow_bits += 1;
    files::write_app_vk(Path::new(&other_vk), &key).expect("written");
    fails(
        &[&other[..], &["--trust-vk"]].concat(),
        1,
        "contents do not match its hash",
    );
}

/// Application proofs of machines with deferral circuits, whose guests may claim any result of a circuit: none is made, and none is valid.
#[test]
fn deferred_computations_are_no_application_proofs() {
    let folder = Folder::new();
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let file = |name: &str| folder.file(name);
    let (proof, vk, keys, config) = (file("proof"), file("vk"), file("keys"), file("config.toml"));
    let commit = format!("0x{:064x}", 7);
    let text = format!(
        "[app_vm_config.rv32i]\n[app_vm_config.rv32m]\n[app_vm_config.io]\n[app_vm_config.deferral]\n\
         circuits = [{{ def_type = {{ Other = \"x\" }}, commit = \"{commit}\" }}]\n"
    );
    fs::write(&config, &text).expect("written");
    let common = [&program, "--config", &config, "--toy", "--device", "cpu"];
    for (command, more) in [
        (&["keygen"][..], &["--app-only", "--out", &keys][..]),
        (&["commit"], &["--out", &keys]),
        (&["setup"], &["--out", &keys]),
        (&["prove", "app"], &["--input", &input, "--proof", &proof]),
        (&["prove", "stark"], &["--input", &input, "--proof", &proof]),
    ] {
        fails(
            &[command, &common, more].concat(),
            1,
            "not supported: programs with deferral circuits",
        );
        assert!(!Path::new(&proof).exists(), "{command:?}");
    }
    // A key that another program made, and any proof.
    let parsed = files::config_from_text(&text).expect("a configuration");
    let sdk = MetalSdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .config_text(parsed)
        .app_params(toy_app(TOY_APP_LOG_HEIGHT))
        .build();
    let key = sdk.and_then(|sdk| sdk.app_vk()).expect("a key");
    files::write_app_vk(Path::new(&vk), &key).expect("written");
    succeeds(&[
        "prove",
        "app",
        &program,
        "--input",
        &input,
        "--toy",
        "--device",
        "cpu",
        "--proof",
        &proof,
        "--vk",
        &file("own.vk"),
    ]);
    let verify = ["verify", "app", &proof, "--vk", &vk, "--trust-vk"];
    fails(
        &[&verify[..], &["--allow-insecure"]].concat(),
        1,
        "verifying key is of a machine with deferral circuits, and an application proof says nothing",
    );
}

/// `verify circuit`.
#[test]
fn circuit_keys_of_strangers() {
    let folder = Folder::new();
    let file = |name: &str| folder.file(name);
    let (proof, vk) = (file("proof"), file("vk"));
    let report = json(&[
        "circuit",
        "fibonacci",
        "--log-stacked",
        "14",
        "--device",
        "cpu",
        "--out",
        &proof,
        "--vk",
        &vk,
        "--json",
    ]);
    let hash = report["vk_hash"].as_str().expect("a hash");
    let verify = ["verify", "circuit", &proof, &vk];
    fails(&verify, 1, "unknown origin");
    let said = succeeds(&[&verify[..], &["--vk-hash", hash]].concat());
    assert!(said.contains(hash) && said.contains("bits"), "{said}");
    succeeds(&[&verify[..], &["--trust-vk"]].concat());
    let other = other_hash(&report["vk_hash"]);
    let other = ["--vk-hash", other.as_str().expect("a hash"), "--trust-vk"];
    fails(&[&verify[..], &other].concat(), 1, "expected is");

    let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(without_queries());
    let air = Free {
        public_values: 3,
        has_cached: false,
    };
    let (_, weak) = engine.keygen(&[Arc::new(air) as AirRef<_>]);
    let weak_vk = file("weak.vk");
    files::write_circuit_vk(Path::new(&weak_vk), &weak).expect("written");
    let weak = ["verify", "circuit", &proof, &weak_vk];
    fails(
        &[&weak[..], &["--trust-vk"]].concat(),
        1,
        "bits of security",
    );
    fails(
        &[&weak[..], &["--trust-vk", "--allow-insecure"]].concat(),
        1,
        "not valid",
    );
    let mut changed = files::read_circuit_vk(Path::new(&vk)).expect("a key");
    changed.inner.params.logup.pow_bits = 0;
    files::write_circuit_vk(Path::new(&weak_vk), &changed).expect("written");
    fails(
        &[&weak[..], &["--trust-vk"]].concat(),
        1,
        "contents do not match its hash",
    );
}
