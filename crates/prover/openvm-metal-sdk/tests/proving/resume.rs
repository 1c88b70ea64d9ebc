//! A job that is interrupted goes on from the proofs of its segments.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        Mutex,
    },
    thread,
    time::Duration,
};

use openvm_metal_sdk::{Event, Progress, ProveOptions, SdkError};
use openvm_sdk::StdIn;
use openvm_stark_backend::{
    codec::{Decode, Encode},
    p3_field::PrimeCharacteristicRing,
    proof::Proof,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, F};
use sha2::{Digest as _, Sha256};

use crate::{
    guest::{elf, sums},
    setup::{input, sdk},
};

const N: u32 = 900;

/// Notes which segments were proved and found, and cancels after some.
#[derive(Default)]
struct Watch {
    proved: Mutex<BTreeSet<usize>>,
    found: Mutex<BTreeSet<usize>>,
    aside: Mutex<Vec<(String, String)>>,
    cancel: AtomicBool,
    cancel_after: Option<usize>,
}

impl Progress for Watch {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::SegmentProved { segment, .. } => {
                let mut proved = self.proved.lock().unwrap();
                assert!(proved.insert(segment), "segment {segment} was proved twice");
                if self.cancel_after == Some(proved.len()) {
                    self.cancel.store(true, Ordering::Relaxed);
                }
            }
            Event::SegmentResumed { segment, .. } => {
                self.found.lock().unwrap().insert(segment);
            }
            Event::SetAside { file, to, reason } => {
                self.aside.lock().unwrap().push(named(file, to, reason));
            }
            _ => {}
        }
    }
}

/// The name of a file that was set aside, and why.
fn named(file: &Path, to: &Path, reason: &str) -> (String, String) {
    assert!(!file.exists() && to.exists() && file.parent() == to.parent());
    let name = file.file_name().unwrap().to_str().unwrap();
    (name.to_owned(), reason.to_owned())
}

fn run(folder: &Path, watch: &Watch, in_flight: usize, input: StdIn) -> Result<usize, SdkError> {
    let options = ProveOptions::default()
        .with_in_flight(in_flight)
        .with_machines(2)
        .with_progress(watch)
        .with_cancel(&watch.cancel)
        .with_resume(folder);
    let (proof, report) = sdk().prove_app(elf(&sums(N)), input, &options)?;
    sdk().verify_app(elf(&sums(N)), &proof)?;
    assert_eq!(report.resumed, watch.found.lock().unwrap().len());
    Ok(report.segments)
}

fn interrupted(in_flight: usize) {
    let parent = tempfile::tempdir().unwrap();
    let folder = &parent.path().join("job");
    let first = Watch {
        cancel_after: Some(2),
        ..Watch::default()
    };
    let error = run(folder, &first, in_flight, input()).unwrap_err();
    assert!(matches!(error, SdkError::Cancelled), "{error}");
    let done = first.proved.into_inner().unwrap();
    assert!(done.len() >= 2);

    // The first is missing, if it was proved at all: machines run over what is found.
    let _ = fs::remove_file(folder.join("segment-0.proof"));
    let second = Watch::default();
    let segments = run(folder, &second, in_flight, input()).unwrap();
    assert!(segments >= 5, "{segments} segments");
    let found = second.found.into_inner().unwrap();
    let proved = second.proved.into_inner().unwrap();
    assert_eq!(found, done.range(1..).copied().collect());
    assert_eq!(proved.len() + found.len(), segments);

    let third = Watch::default();
    run(folder, &third, in_flight, input()).unwrap();
    assert_eq!(third.found.into_inner().unwrap().len(), segments);
    assert!(third.proved.into_inner().unwrap().is_empty());

    // Another input is another job.
    let other = StdIn::from_bytes(&[4, 3, 2, 1]);
    let error = run(folder, &Watch::default(), in_flight, other).unwrap_err();
    assert!(matches!(error, SdkError::Resume { .. }), "{error}");
    assert!(
        error.to_string().contains("another program, input"),
        "{error}"
    );

    mended(folder, in_flight, segments);
}

/// Replaces the proof in a part's file. The identity stays, and the sum is right.
fn replace(file: &Path, proof: &[u8]) {
    let mut bytes = fs::read(file).unwrap()[..32].to_vec();
    bytes.extend(Sha256::digest(proof));
    bytes.extend(proof);
    fs::write(file, bytes).unwrap();
}

/// The proof in a part's file.
fn proof_in(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap()[64..].to_vec()
}

/// A proof that is whole and does not verify.
fn wrong(proof: &[u8]) -> Vec<u8> {
    let mut proof = Proof::<SC>::decode_from_bytes(proof).unwrap();
    proof.common_main_commit[0] += F::ONE;
    proof.encode_to_vec().unwrap()
}

/// Files of the folder that were set aside for a part.
fn rejected(folder: &Path, part: &str) -> Vec<PathBuf> {
    let start = format!("{part}.rejected-");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let rejected = files.filter(|file| {
        let name = file.file_name().into_string().unwrap();
        name.strip_prefix(&start).is_some_and(|drawn| {
            assert_eq!(drawn.len(), 16, "{name}");
            true
        })
    });
    rejected.map(|file| file.path()).collect()
}

/// Files of a finished job that hold no proof of their segment are named, set aside and made again with the same bytes.
fn mended(folder: &Path, in_flight: usize, segments: usize) {
    let file = |index: usize| folder.join(format!("segment-{index}.proof"));
    let whole: Vec<Vec<u8>> = (0..segments).map(|i| fs::read(file(i)).unwrap()).collect();
    let proofs: Vec<Vec<u8>> = (0..segments).map(|i| proof_in(&file(i))).collect();
    let last = segments - 1;
    // These are refused for these reasons; of others those that may be, which depends on the order in which they are looked at.
    let check = |expected: &[(usize, &str)], may: &[usize]| {
        let count = |index| rejected(folder, &format!("segment-{index}.proof")).len();
        let before: Vec<usize> = (0..segments).map(count).collect();
        let watch = Watch::default();
        run(folder, &watch, in_flight, input()).unwrap();
        let aside: BTreeMap<String, String> =
            watch.aside.into_inner().unwrap().into_iter().collect();
        for index in 0..segments {
            let reason = aside.get(&format!("segment-{index}.proof"));
            match expected.iter().find(|(expected, _)| *expected == index) {
                Some((_, why)) => {
                    assert!(
                        reason.is_some_and(|reason| reason.contains(why)),
                        "{aside:?}"
                    );
                }
                None => assert!(reason.is_none() || may.contains(&index), "{aside:?}"),
            }
            let is_refused = reason.is_some();
            assert_eq!(watch.proved.lock().unwrap().contains(&index), is_refused);
            assert_eq!(count(index), before[index] + usize::from(is_refused));
            assert!(
                fs::read(file(index)).unwrap() == whole[index],
                "segment {index}"
            );
        }
    };
    check(&[], &[]);

    fs::write(file(0), &whole[0][..40]).unwrap();
    let mut changed = whole[1].clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(file(1), changed).unwrap();
    replace(&file(2), &wrong(&proofs[2]));
    fs::remove_file(file(3)).unwrap();
    fs::create_dir(file(3)).unwrap();
    check(
        &[
            (0, "is cut off"),
            (1, "is damaged"),
            (2, "is not accepted: "),
            (3, "no regular file"),
        ],
        &[],
    );

    // Proofs of other segments, one under its own identity and one under that of the segment; a pipe that nobody writes to; a file
    // without end.
    fs::write(file(0), &whole[1]).unwrap();
    replace(&file(1), b"no proof");
    fs::remove_file(file(2)).unwrap();
    #[cfg(unix)]
    pipe(&file(2));
    #[cfg(not(unix))]
    fs::create_dir(file(2)).unwrap();
    let large = File::options().write(true).open(file(3)).unwrap();
    large.set_len(1 << 40).unwrap();
    replace(&file(last), &proofs[1]);
    check(
        &[
            (0, "is of another task"),
            (1, "holds no proof"),
            (2, "no regular file"),
            (3, "more than 268435456 bytes"),
            (last, "does not "),
        ],
        &[last - 1],
    );

    // Neighbours that do not join: nobody knows which of two is wrong.
    replace(&file(1), &proofs[2]);
    check(&[(1, "does not join segment ")], &[0, 2]);

    // The last segment of the same program with another input joins the one before it. It does not end where this execution does.
    let other = StdIn::from_bytes(&[4, 3, 2, 1]);
    let options = ProveOptions::default().with_in_flight(1);
    let (other, _) = sdk().prove_app(elf(&sums(N)), other, &options).unwrap();
    replace(
        &file(last),
        &other.per_segment[last].encode_to_vec().unwrap(),
    );
    check(&[(last, "does not end where the execution does")], &[]);
    check(&[], &[]);
}

#[cfg(unix)]
fn pipe(path: &Path) {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a string that ends with a zero and lives until the call returns.
    let made = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    assert_eq!(made, 0);
}

#[test]
fn an_interrupted_pipeline_goes_on() {
    interrupted(3);
}

#[test]
fn an_interrupted_job_on_one_thread_goes_on() {
    interrupted(1);
}

/// Notes which nodes were proved and found, by layer and number, and cancels after some.
#[derive(Default)]
struct WatchNodes {
    proved: Mutex<BTreeSet<(String, usize)>>,
    found: Mutex<BTreeSet<(String, usize)>>,
    aside: Mutex<Vec<(String, String)>>,
    cancel: AtomicBool,
    cancel_after: Option<usize>,
}

impl Progress for WatchNodes {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::NodeProved { layer, node, .. } => {
                let mut proved = self.proved.lock().unwrap();
                proved.insert((layer.to_owned(), node));
                if self.cancel_after == Some(proved.len()) {
                    self.cancel.store(true, Ordering::Relaxed);
                }
            }
            Event::NodeResumed { layer, node, .. } => {
                self.found.lock().unwrap().insert((layer.to_owned(), node));
            }
            Event::SetAside { file, to, reason } => {
                self.aside.lock().unwrap().push(named(file, to, reason));
            }
            _ => {}
        }
    }
}

/// An aggregation that is interrupted goes on from the nodes that it has proved.
#[test]
fn an_interrupted_aggregation_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let prove = |watch: &WatchNodes| {
        let options = ProveOptions::default()
            .with_progress(watch)
            .with_cancel(&watch.cancel)
            .with_resume(folder.path());
        sdk().prove(elf(&sums(300)), input(), &options)
    };
    let first = WatchNodes {
        cancel_after: Some(2),
        ..WatchNodes::default()
    };
    let error = prove(&first).err().expect("it was cancelled");
    assert!(matches!(error, SdkError::Cancelled), "{error}");
    let done = first.proved.into_inner().unwrap();
    assert!(done.len() >= 2, "{done:?}");

    let second = WatchNodes::default();
    let whole = prove(&second).unwrap();
    assert_eq!(second.found.into_inner().unwrap(), done);
    let proved = second.proved.into_inner().unwrap();
    assert!(!proved.is_empty() && proved.is_disjoint(&done));

    let third = WatchNodes::default();
    let again = prove(&third).unwrap();
    assert!(third.proved.into_inner().unwrap().is_empty());
    assert_eq!(third.found.into_inner().unwrap(), &done | &proved);
    assert_eq!(again.proof.inner, whole.proof.inner);

    // A node over other proofs is none of this job, and is replaced.
    let file = |name: &str| folder.path().join(name);
    let leaf = file("aggregated-1-0.proof");
    let bytes = fs::read(&leaf).unwrap();
    fs::copy(file("aggregated-2-0.proof"), &leaf).unwrap();
    let fourth = WatchNodes::default();
    assert_eq!(prove(&fourth).unwrap().proof.inner, whole.proof.inner);
    let proved = fourth.proved.into_inner().unwrap();
    assert_eq!(proved, BTreeSet::from([("leaf".to_owned(), 0)]));
    assert_eq!(fs::read(&leaf).unwrap(), bytes);
    assert!(rejected(folder.path(), "aggregated-1-0.proof").is_empty());

    // A file that holds no proof of its node, and that of a segment, is set aside: cut, damaged, a proof that does not verify, a valid
    // proof of something else.
    let wrong_segment = wrong(&proof_in(&file("segment-0.proof")));
    replace(&file("segment-0.proof"), &wrong_segment);
    fs::write(&leaf, &bytes[..bytes.len() - 1]).unwrap();
    fs::write(file("aggregated-2-0.proof"), [0; 10]).unwrap();
    let third = file("aggregated-3-0.proof");
    replace(&third, &wrong(&proof_in(&third)));
    replace(&file("aggregated-4-0.proof"), &bytes[64..]);
    let fifth = WatchNodes::default();
    assert_eq!(prove(&fifth).unwrap().proof.inner, whole.proof.inner);
    let mut aside = fifth.aside.into_inner().unwrap();
    aside.sort();
    let expected = [
        ("aggregated-1-0.proof", "is damaged"),
        ("aggregated-2-0.proof", "is cut off"),
        ("aggregated-3-0.proof", "is not accepted: "),
        ("aggregated-4-0.proof", "is not accepted: "),
        ("segment-0.proof", "is not accepted: "),
    ];
    assert_eq!(aside.len(), expected.len(), "{aside:?}");
    for ((name, reason), (file, why)) in aside.iter().zip(expected) {
        assert!(name == file && reason.contains(why), "{aside:?}");
        assert_eq!(rejected(folder.path(), file).len(), 1);
    }
    assert_eq!(fs::read(&leaf).unwrap(), bytes);
    let sixth = WatchNodes::default();
    assert_eq!(prove(&sixth).unwrap().proof.inner, whole.proof.inner);
    assert!(sixth.aside.into_inner().unwrap().is_empty());
    assert!(sixth.proved.into_inner().unwrap().is_empty());
}

const FOLDER: &str = "OPENVM_METAL_TEST_RESUME";

/// A process that is killed in the middle of a proof leaves whole files.
#[test]
fn a_killed_process_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "resume::until_killed", "--ignored"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let first = folder.path().join("segment-0.proof");
    while !first.exists() {
        assert!(
            process.try_wait().unwrap().is_none(),
            "it ended before it was killed"
        );
        thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();

    let watch = Watch::default();
    let segments = run(folder.path(), &watch, 3, input()).unwrap();
    let (proved, found) = (
        watch.proved.into_inner().unwrap(),
        watch.found.into_inner().unwrap(),
    );
    assert!(found.contains(&0));
    assert_eq!(proved.len() + found.len(), segments);
}

#[test]
#[ignore = "a_killed_process_loses_nothing starts and kills it"]
fn until_killed() {
    let folder = std::env::var_os(FOLDER).expect("the folder is given");
    run(Path::new(&folder), &Watch::default(), 3, input()).unwrap();
}
