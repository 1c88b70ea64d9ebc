//! Faults that a cache meets: other systems, damage, folders that cannot be used, several writers.

use std::io;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::trusted_folder::{NoCache, UntrustedPath};

/// A folder that goes with the test.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for the test"))
    }

    fn open(&self, build: &str) -> Archives {
        Archives::open(self.0.path(), &system(build)).expect("usable")
    }
}

fn system(build: &str) -> System {
    System {
        device: "Apple M2 Max".into(),
        build: build.into(),
    }
}

fn key(text: &str) -> Key {
    Key::of([text.as_bytes(), b"Metal 3.0"])
}

fn save(archives: &Archives, text: &str) {
    archives.save(key(text), "hash/merkle", |path| {
        fs::write(path, format!("code of {text}")).map_err(|e| e.to_string())
    });
}

#[test]
fn cold_and_warm() {
    let scratch = Scratch::new();
    let cold = scratch.open("24B83");
    assert_eq!(cold.find(key("a")), None);
    save(&cold, "a");
    let report = cold.report();
    assert_eq!(
        (report.found, report.saved, report.notes.len()),
        (Some(0), 1, 0)
    );

    let warm = scratch.open("24B83");
    let path = warm.find(key("a")).expect("saved before");
    assert_eq!(fs::read(&path).expect("a file"), b"code of a");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    assert!(
        name.starts_with("hash_merkle-") && name.ends_with(".archive"),
        "{name}"
    );
    warm.count_found();
    assert_eq!(warm.report().found, Some(1));
    // Another text, and the same text with other options.
    assert_eq!(warm.find(key("b")), None);
    assert_eq!(warm.find(Key::of([b"a".as_slice(), b"Metal 3.1"])), None);
    assert_ne!(
        Key::of([b"ab".as_slice(), b"c"]),
        Key::of([b"a".as_slice(), b"bc"])
    );
}

#[test]
fn archives_of_another_system_go() {
    let scratch = Scratch::new();
    save(&scratch.open("24A335"), "a");
    let other_device = System {
        device: "Apple M2".into(),
        build: "24A335".into(),
    };
    let other = Archives::open(scratch.0.path(), &other_device).expect("usable");
    save(&other, "a");

    let new = scratch.open("24B83");
    assert_eq!(new.find(key("a")), None);
    let notes = new.report().notes;
    assert_eq!(
        notes,
        ["archives of system 24A335 removed, this is system 24B83"]
    );
    save(&new, "a");
    assert!(scratch.open("24B83").find(key("a")).is_some());
    assert!(scratch.open("24B83").report().notes.is_empty());
    // Those of another device stay.
    let other = Archives::open(scratch.0.path(), &other_device).expect("usable");
    assert!(other.find(key("a")).is_some());
}

#[test]
fn damaged_archives_are_replaced() {
    type Damage = fn(&Path);
    let damages: [Damage; 3] = [
        |path| fs::write(path, b"code").expect("truncated"),
        |path| fs::write(path, b"").expect("emptied"),
        |path| fs::write(path, b"Code of a").expect("changed"),
    ];
    for damage in damages {
        let scratch = Scratch::new();
        save(&scratch.open("24B83"), "a");
        let path = scratch.open("24B83").find(key("a")).expect("whole");
        damage(&path);
        let archives = scratch.open("24B83");
        assert_eq!(archives.find(key("a")), None);
        let notes = archives.report().notes;
        assert!(
            notes[0].contains("hash_merkle") && notes[0].contains("damaged"),
            "{notes:?}"
        );
        assert!(!path.exists());
        save(&archives, "a");
        assert!(scratch.open("24B83").find(key("a")).is_some());
    }
}

#[test]
fn what_metal_refuses_is_replaced() {
    let scratch = Scratch::new();
    save(&scratch.open("24B83"), "a");
    let archives = scratch.open("24B83");
    let path = archives.find(key("a")).expect("whole");
    archives.reject(&path, "Invalid file");
    assert!(!path.exists());
    assert!(archives.report().notes[0].ends_with("is not used: Invalid file"));
}

#[test]
fn a_folder_that_cannot_be_written() {
    let scratch = Scratch::new();
    let file = scratch.0.path().join("file");
    fs::write(&file, b"").expect("a file");
    let refused = Archives::open(&file.join("cache"), &system("24B83"));
    let problem = refused.err().expect("a file is no folder");
    let reason = problem.to_string();
    assert!(
        reason.contains("file/cache/metal-archives cannot be used"),
        "{reason}"
    );
    let CacheProblem::Untrusted(UntrustedPath::Io { path, error }) = problem else {
        panic!("{reason}");
    };
    assert_eq!(path, file.join("cache/metal-archives"));
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
}

/// Archives that another user could have written are not found, whichever way they came.
#[cfg(unix)]
#[test]
fn archives_of_other_users() {
    let scratch = Scratch::new();
    let root = scratch.0.path().join("files");
    save(
        &Archives::open(&root, &system("24B83")).expect("usable"),
        "a",
    );
    let loads = |folder: &Path| {
        // The folder that is taken over is that of all archives.
        let scratch = Scratch::new();
        let link = scratch.0.path().join("metal-archives");
        std::os::unix::fs::symlink(folder, link).expect("a link");
        let archives = Archives::open(scratch.0.path(), &system("24B83"));
        archives.is_ok_and(|archives| archives.find(key("a")).is_some())
    };
    crate::takeover::refuses_all(scratch.0.path(), &root.join("metal-archives"), loads);
}

#[test]
fn a_disk_that_becomes_full() {
    let scratch = Scratch::new();
    let archives = scratch.open("24B83");
    for unit in ["a", "b", "c"] {
        archives.save(key(unit), unit, |path| {
            fs::write(path, b"half").map_err(|e| e.to_string())?;
            Err("No space left on device".into())
        });
    }
    let report = archives.report();
    assert_eq!(report.saved, 0);
    assert_eq!(
        report.notes,
        ["archives are not saved: No space left on device"]
    );
    let folder = PathBuf::from(report.folder.expect("a folder"));
    assert_eq!(fs::read_dir(folder).expect("there").count(), 0);
    // A writer that writes nothing.
    let archives = scratch.open("24B83");
    archives.save(key("a"), "a", |_| Ok(()));
    assert_eq!(
        (archives.report().saved, archives.report().notes.len()),
        (0, 1)
    );
}

#[test]
fn several_writers_of_one_unit() {
    let scratch = Scratch::new();
    let open: Vec<Archives> = (0..4).map(|_| scratch.open("24B83")).collect();
    std::thread::scope(|scope| {
        for archives in &open {
            scope.spawn(move || {
                for round in 0..50 {
                    archives.save(key("a"), "a", |path| {
                        fs::write(path, format!("code {}", round % 3)).map_err(|e| e.to_string())
                    });
                }
            });
        }
    });
    for archives in &open {
        let report = archives.report();
        assert_eq!((report.saved, report.notes.len()), (50, 0));
    }
    let archives = scratch.open("24B83");
    let path = archives.find(key("a")).expect("a whole one");
    assert!(fs::read(path).expect("a file").starts_with(b"code "));
}

#[test]
fn old_archives_make_room() {
    let scratch = Scratch::new();
    let archives = scratch.open("24B83");
    for text in ["a", "b", "c"] {
        save(&archives, text);
    }
    let long_ago = SystemTime::now() - Duration::from_secs(86_400);
    let path = scratch.open("24B83").find(key("b")).expect("saved");
    let file = fs::File::open(&path).expect("ours");
    file.set_modified(long_ago).expect("ours");
    let one = fs::metadata(&path).expect("ours").len();
    let cut = Archives::with_limit(scratch.0.path(), &system("24B83"), 2 * one).expect("usable");
    assert!(cut.find(key("a")).is_some() && cut.find(key("c")).is_some());
    assert_eq!(cut.find(key("b")), None);
    assert!(!path.exists());
}

#[test]
fn what_is_not_ours_stays() {
    let scratch = Scratch::new();
    let folder = scratch.open("24B83").report().folder.expect("a folder");
    let folder = Path::new(&folder);
    let foreign = [
        "notes.txt",
        "a-0-0.archive",
        "x-00000000000000000000000000000000-0000000000000000000000000000000g.archive",
    ];
    for name in foreign {
        fs::write(folder.join(name), b"").expect("ours");
    }
    let (new, old) = (folder.join("temporary-1-0"), folder.join("temporary-2-0"));
    for path in [&new, &old] {
        fs::write(path, b"").expect("ours");
    }
    let hours = SystemTime::now() - Duration::from_secs(7200);
    fs::File::open(&old)
        .and_then(|f| f.set_modified(hours))
        .expect("ours");
    scratch.open("24B83");
    assert!(foreign.iter().all(|name| folder.join(name).exists()));
    assert!(new.exists() && !old.exists());
}

#[test]
fn problems_name_what_to_do() {
    let checked = CacheProblem::CheckedKernels.to_string();
    assert!(checked.contains("MTL_SHADER_VALIDATION"), "{checked}");
    let variable = "OPENVM_METAL_CACHE";
    let off = CacheProblem::from(NoCache::Off { variable });
    assert_eq!(off.to_string(), "OPENVM_METAL_CACHE=0");
}
