//! Trusted and untrusted files and folders, and the text of each reason.

use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

#[test]
fn files_of_other_users_are_not_read() {
    let scratch = TrustedFolder::temporary().expect("a folder");
    let files = scratch.path().join("files");
    fs::create_dir(&files).expect("ours");
    fs::write(files.join("code"), "code").expect("ours");
    // By the folder that is opened, or made, and by the path of the file alone, as before loading.
    crate::takeover::refuses_all(scratch.path(), &files, |folder| {
        let read = |folder: TrustedFolder| {
            let text = folder.read_text("code").is_ok_and(|text| text.is_some());
            assert_eq!(text, folder.file("code").is_ok_and(|path| path.is_some()));
            text
        };
        let opened = TrustedFolder::open(folder).is_ok_and(|folder| folder.is_some_and(read));
        assert_eq!(opened, TrustedFolder::create(folder).is_ok_and(read));
        assert_eq!(opened, trusted_file(&folder.join("code")).is_ok());
        assert_eq!(opened, super::read(&folder.join("code")).is_ok());
        opened
    });
}

#[test]
fn a_link_to_a_file_of_another_user() {
    let scratch = TrustedFolder::temporary().expect("a folder");
    let (code, link) = (scratch.path().join("code"), scratch.path().join("link"));
    fs::write(&code, "code").expect("ours");
    symlink(&code, &link).expect("a link");
    // Links are followed to what this user owns.
    assert_eq!(scratch.file("link").expect("ours"), Some(code.clone()));
    if let Err(error) = chown(&code, Some(crate::takeover::OTHER), None) {
        eprintln!("not tried, only root can give files away: {error}");
        return;
    }
    let refused = scratch.read("link").expect_err("of another user");
    let UntrustedPath::Owner {
        wanted,
        path,
        owner,
        ..
    } = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!(
        (wanted, path, *owner),
        (&code, &code, crate::takeover::OTHER)
    );
    let reason = refused.to_string();
    assert!(reason.contains("belongs to user 65534"), "{reason}");
    assert!(reason.contains("chown"), "{reason}");
}

#[test]
fn folders_are_made_private_and_not_below_others() {
    let scratch = TrustedFolder::temporary().expect("a folder");
    assert_eq!(mode(scratch.path()), 0o700);
    let folder = TrustedFolder::create(&scratch.path().join("a/b")).expect("made");
    assert_eq!(mode(folder.path()), 0o700);
    assert_eq!(mode(&scratch.path().join("a")), 0o700);
    // Below a folder with the sticky bit others can only make their own.
    set_mode(&scratch.path().join("a"), 0o1777);
    let folder = TrustedFolder::create(&scratch.path().join("a/sticky")).expect("made");
    assert_eq!(mode(folder.path()), 0o700);
    // Nothing is made below a folder that others can write.
    set_mode(&scratch.path().join("a"), 0o775);
    let refused = TrustedFolder::create(&scratch.path().join("a/c/d")).expect_err("open");
    assert!(!scratch.path().join("a/c").exists());
    let UntrustedPath::Writable { path, mode, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!((path, *mode), (&scratch.path().join("a"), 0o775));
    let reason = refused.to_string();
    assert!(
        reason.contains("(mode 0775)") && reason.contains("chmod go-w"),
        "{reason}"
    );
}

#[test]
fn what_is_written_is_whole_private_and_read_again() {
    let scratch = TrustedFolder::temporary().expect("a folder");
    assert!(scratch.read("code").expect("nothing").is_none());
    assert!(scratch.file("code").expect("nothing").is_none());
    for content in ["code", "other code"] {
        scratch.write("code", content.as_bytes()).expect("room");
        let text = scratch.read_text("code").expect("ours");
        assert_eq!(text.as_deref(), Some(content));
    }
    assert_eq!(mode(&scratch.path().join("code")), 0o600);
    assert_eq!(fs::read_dir(scratch.path()).expect("ours").count(), 1);
}

#[test]
fn other_things_than_files_and_folders() {
    let scratch = TrustedFolder::temporary().expect("a folder");
    scratch.write("file", b"").expect("room");
    let refused = TrustedFolder::open(&scratch.path().join("file")).expect_err("a file");
    assert!(
        matches!(
            refused,
            UntrustedPath::Kind {
                expected: "folder",
                ..
            }
        ),
        "{refused}"
    );
    scratch.subfolder("folder").expect("made");
    let refused = scratch.read("folder").expect_err("a folder");
    assert!(
        matches!(
            refused,
            UntrustedPath::Kind {
                expected: "file",
                ..
            }
        ),
        "{refused}"
    );
    let refused = TrustedFolder::create(&scratch.path().join("file/below")).expect_err("a file");
    assert!(
        refused.to_string().contains("file/below cannot be used"),
        "{refused}"
    );
}

#[test]
fn temporary_folders_go_with_their_last_user() {
    let folder = TrustedFolder::temporary().expect("a folder");
    let path = folder.path().to_path_buf();
    let below = folder.subfolder("below").expect("made");
    assert!(folder.is_temporary() && below.is_temporary());
    drop(folder);
    assert!(path.is_dir());
    drop(below);
    assert!(!path.exists());
}

#[test]
fn which_folder() {
    const NAME: &str = "CACHE";
    let home = || Some(PathBuf::from("/users/ada/.cache/x"));
    let of = |value: Option<&str>, home| cache_folder(NAME, value.map(Into::into), home);
    assert_eq!(of(None, home()), Ok("/users/ada/.cache/x".into()));
    assert_eq!(of(Some(""), home()), Ok("/users/ada/.cache/x".into()));
    assert_eq!(of(Some("/c"), None), Ok("/c".into()));
    assert_eq!(of(Some("0"), home()), Err(NoCache::Off { variable: NAME }));
    assert_eq!(of(None, None), Err(NoCache::NoHome { variable: NAME }));
    let reasons = [of(Some("0"), home()), of(None, None)].map(|none| none.expect_err("no cache"));
    assert_eq!(reasons[0].to_string(), "CACHE=0");
    assert!(reasons[1]
        .to_string()
        .contains("no home folder; CACHE names"));
}
