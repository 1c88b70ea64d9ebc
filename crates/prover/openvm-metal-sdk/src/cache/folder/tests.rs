use std::{
    os::unix::fs::{symlink, PermissionsExt as _},
    process::Command,
};

use super::*;

/// The cache folder in which a process of the test is to write.
const CHILD: &str = "OPENVM_METAL_TEST_CACHE_OF_COMMITMENTS";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn key(number: u8) -> Key {
    Key::of("test", [[number].as_slice()])
}

fn names(root: &Path) -> Vec<String> {
    let files = fs::read_dir(root.join(COMMITMENTS)).expect("a folder");
    let mut names: Vec<String> = files
        .map(|file| {
            file.expect("a file")
                .file_name()
                .into_string()
                .expect("text")
        })
        .filter(|name| name != LOCK)
        .collect();
    names.sort();
    names
}

/// An entry that is cut off, changed, of another key, a link, a folder or gone is not taken, and it is written again.
#[test]
fn only_whole_entries_are_taken() {
    let root = folder();
    let cache = Cache::in_folder(root.path());
    assert_eq!(cache.get(&key(1)), None);
    assert!(
        !root.path().join(COMMITMENTS).exists(),
        "a search makes no folder"
    );
    cache.put(&key(1), b"content");
    cache.put(&key(2), b"other content");
    let file = root.path().join(COMMITMENTS).join(key(1).file_name());
    let other = file.with_file_name(key(2).file_name());
    let whole = fs::read(&file).expect("a file");
    let mut changed = whole.clone();
    changed[whole.len() - 1] ^= 1;
    let write = |bytes: &[u8]| fs::write(&file, bytes).expect("written");
    let damages: [&dyn Fn(); 5] = [
        &|| write(&whole[..whole.len() - 1]),
        &|| write(&[]),
        &|| write(&changed),
        &|| {
            fs::copy(&other, &file).expect("copied");
        },
        &|| {
            fs::remove_file(&file).expect("removed");
            symlink("/dev/zero", &file).expect("a link");
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        damage();
        assert_eq!(cache.get(&key(1)), None, "damage {number}");
        cache.put(&key(1), b"content");
        assert_eq!(
            cache.get(&key(1)).as_deref(),
            Some(&b"content"[..]),
            "{number}"
        );
    }
    // In place of a file: nothing is taken, nothing is kept, nothing is left behind.
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("a folder");
    cache.put(&key(1), b"content");
    assert_eq!(cache.get(&key(1)), None);
    assert_eq!(names(root.path()).len(), 2);
    // An entry that others could have written.
    fs::set_permissions(&other, fs::Permissions::from_mode(0o666)).expect("a mode");
    assert_eq!(cache.get(&key(2)), None);
}

/// Folders that others can write, a file in place of a folder, and a link to either are not used; a link to a folder of this user's is.
#[test]
fn untrusted_folders_are_not_used() {
    let root = folder();
    let open = root.path().join("open");
    fs::create_dir(&open).expect("a folder");
    let good = Cache::in_folder(&open);
    good.put(&key(1), b"content");
    assert!(good.get(&key(1)).is_some());
    symlink(&open, root.path().join("link")).expect("a link");
    let linked = Cache::in_folder(&root.path().join("link"));
    assert!(linked.get(&key(1)).is_some());
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("a mode");
    fs::write(root.path().join("file"), "").expect("written");
    for name in ["open", "link", "file"] {
        let cache = Cache::in_folder(&root.path().join(name));
        assert_eq!(cache.get(&key(1)), None, "{name}");
        cache.put(&key(2), b"content");
        assert_eq!(cache.get(&key(2)), None, "{name}");
    }
    assert_eq!(names(&open), [key(1).file_name()]);
    let listed = Cache::list(&open).expect_err("others can write");
    assert!(listed.to_string().contains("0777"), "{listed}");
    assert!(Cache::clear(&open).is_err());
    assert_eq!(names(&open).len(), 1);
}

/// The entries that were not used for longest go first, and files of writers that were killed long ago.
#[test]
fn the_oldest_go_first() {
    let root = folder();
    let size = entry::encode(&key(0), &[7; 100]).len() as u64;
    let cache = Cache::bounded(root.path(), 3 * size);
    let of = |number: u8| root.path().join(COMMITMENTS).join(key(number).file_name());
    for number in 0..3 {
        cache.put(&key(number), &[number; 100]);
        let time = SystemTime::now() - Duration::from_secs(1000 - u64::from(number));
        let file = OpenOptions::new().write(true).open(of(number));
        file.and_then(|file| file.set_modified(time))
            .expect("a time");
    }
    assert!(cache.get(&key(0)).is_some());
    for (name, age) in [("a", 7200), ("b", 60)] {
        let part = of(1).with_extension(format!("{name}.part"));
        let file = File::create(part).expect("made");
        let time = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(time).expect("a time");
    }
    let foreign = root.path().join(COMMITMENTS).join("thesis.part");
    fs::write(&foreign, "").expect("written");
    cache.put(&key(3), &[3; 100]);
    let mut left: Vec<String> = [0, 2, 3].map(|number| key(number).file_name()).into();
    left.push(format!("{}.b.part", key(1).file_name()));
    left.push("thesis.part".into());
    left.sort();
    assert_eq!(names(root.path()), left);
    // What is larger than all together is not kept, and takes the place of nothing.
    cache.put(&key(4), &[4; 600]);
    assert_eq!(names(root.path()), left);
    let listed = Cache::list(root.path()).expect("a list");
    assert_eq!(listed.len(), 4);
    assert_eq!(Cache::clear(root.path()).expect("cleared").len(), 4);
    assert_eq!(names(root.path()), ["thesis.part"]);
    assert_eq!(cache.get(&key(3)), None);
    assert!(Cache::clear(&root.path().join("none"))
        .expect("cleared")
        .is_empty());
}

/// A pipe, a link or a folder in place of the lock is said at once: nobody waits for a pipe's reader, and nothing is made where a link points.
#[test]
fn only_a_regular_file_is_a_lock() {
    let root = folder();
    let cache = Cache::in_folder(root.path());
    cache.put(&key(1), b"content");
    let lock = root.path().join(COMMITMENTS).join(LOCK);
    let name = std::ffi::CString::new(lock.to_str().expect("a name")).expect("no zero");
    let elsewhere = root.path().join("elsewhere");
    let places: [&dyn Fn(); 4] = [
        // SAFETY: the path ends with a zero and lives until the call returns.
        &|| assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0),
        &|| symlink(&elsewhere, &lock).expect("a link"),
        &|| symlink("/dev/null", &lock).expect("a link"),
        &|| fs::create_dir(&lock).expect("a folder"),
    ];
    for (number, place) in places.into_iter().enumerate() {
        fs::remove_file(&lock).expect("removed");
        place();
        let error = Cache::clear(root.path()).expect_err("no lock").to_string();
        assert!(error.contains("no regular file"), "{number}: {error}");
        cache.put(&key(2), b"content");
        assert_eq!(cache.get(&key(2)), None, "{number}");
        assert!(cache.get(&key(1)).is_some() && !elsewhere.exists());
    }
    // A pipe with a reader can be opened, and is no lock either.
    fs::remove_dir(&lock).expect("removed");
    // SAFETY: as above.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let reader = OpenOptions::new().read(true).write(true).open(&lock);
    let error = exclusive(lock.parent().expect("a folder")).expect_err("no lock");
    assert!(error.to_string().contains("no regular file"), "{error}");
    drop(reader.expect("both ends"));
}

/// A kind's folder that is a link may name any folder of this user's, whose files stay.
#[test]
fn nothing_is_cleared_behind_a_link() {
    let (root, other) = (folder(), folder());
    Cache::in_folder(root.path()).put(&key(1), b"content");
    for kind in ["constraint-kernels", "metal-archives", COMMITMENTS] {
        let at = root.path().join(kind);
        let precious = other.path().join(key(1).file_name());
        fs::write(&precious, "content").expect("written");
        if kind == COMMITMENTS {
            fs::remove_dir_all(&at).expect("removed");
        }
        symlink(other.path(), &at).expect("a link");
        let error = Cache::clear(root.path()).expect_err("a link").to_string();
        assert!(
            error.contains("is a link") && error.contains(kind),
            "{error}"
        );
        assert!(precious.exists(), "{kind}");
        if kind != COMMITMENTS {
            let kept = root.path().join(COMMITMENTS).join(key(1).file_name());
            assert!(kept.exists(), "{kind}: all or nothing");
        }
        fs::remove_file(&at).expect("removed");
    }
}

/// Two processes that write the same entry, one of which is killed at any time, leave a whole entry or none.
#[test]
fn a_killed_writer_leaves_no_half_entry() {
    let content = vec![5; 1 << 20];
    if let Some(root) = env::var_os(CHILD) {
        let cache = Cache::in_folder(Path::new(&root));
        loop {
            cache.put(&key(1), &content);
        }
    }
    let root = folder();
    let cache = Cache::in_folder(root.path());
    for _ in 0..3 {
        let test = "cache::folder::tests::a_killed_writer_leaves_no_half_entry";
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", test])
            .env(CHILD, root.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(150) {
            cache.put(&key(1), &content);
            assert!(cache.get(&key(1)).is_some_and(|found| found == content));
        }
        child.kill().expect("killed");
        child.wait().expect("an end");
        assert!(cache.get(&key(1)).is_some_and(|found| found == content));
        cache.put(&key(2), b"the lock is free");
        assert!(cache.get(&key(2)).is_some());
    }
}

#[test]
fn without_a_cache_nothing_is_kept() {
    let cache = Cache::none();
    cache.put(&key(1), b"content");
    assert_eq!(cache.get(&key(1)), None);
}
