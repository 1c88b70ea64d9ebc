//! Compiled code that is kept in a folder: a file that was cut or damaged since is made again.
//!
//! Code that is loaded is mapped: a file shorter than its header says ends the process with a bus error.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use openvm_metal_builder::hash;
use openvm_metal_common::{TrustedFolder, UntrustedPath};

/// Grain of file systems' times.
const GRAIN: Duration = Duration::from_secs(2);

/// Hash of a file's bytes.
fn sum(bytes: &[u8]) -> String {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    hash(&[&text])
}

/// True if a library of the folder has the bytes that it was made with. The hash of a library that was made since `began` is
/// noted; an older one without a note could have been cut.
pub fn is_whole(folder: &TrustedFolder, library: &Path, began: SystemTime) -> bool {
    let Some(name) = library.file_name().and_then(|name| name.to_str()) else {
        return true;
    };
    let bytes = match folder.read(name) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return false,
        // The loader says why it is not trusted.
        Err(_) => return true,
    };
    let (found, note) = (sum(&bytes), format!("{name}.sum"));
    if let Ok(Some(noted)) = folder.read_text(&note) {
        return noted == found;
    }
    let made = fs::metadata(library).and_then(|about| about.modified());
    if made.is_ok_and(|made| made + GRAIN < began) {
        return false;
    }
    // A folder that cannot be written is no error: the file is made again next time.
    let _ = folder.write(&note, found.as_bytes());
    true
}

/// Forgets a library and the objects that libraries of the folder were linked from, so that they are compiled again.
pub fn forget(folder: &Path, library: Option<&Path>) {
    for ending in library.iter().flat_map(|_| ["", ".key", ".sum"]) {
        let mut name = library.map_or_else(Default::default, |path| path.as_os_str().to_owned());
        name.push(ending);
        // One that is not there is forgotten.
        let _ = fs::remove_file(name);
    }
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.to_string_lossy().ends_with(".o.key") {
            let _ = fs::remove_file(path);
        }
    }
}

/// The content of a text file of the folder; `None` if it is not there, or is damaged so that it is no text.
///
/// # Errors
/// The reason why it cannot be read, or is not trusted.
pub fn text(folder: &TrustedFolder, name: &str) -> Result<Option<String>, UntrustedPath> {
    let bytes = folder.read(name)?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// PTX with a first line that names its hash.
pub fn with_sum(ptx: &str) -> String {
    format!("// {}\n{ptx}", hash(&[ptx]))
}

/// The PTX of [`with_sum`], unless it was cut or changed.
pub fn without_sum(kept: &str) -> Option<&str> {
    let (first, ptx) = kept.split_once('\n')?;
    (first.strip_prefix("// ")? == hash(&[ptx])).then_some(ptx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_and_changed_files_are_noticed() {
        let folder = TrustedFolder::temporary().expect("a folder");
        let library = folder.path().join("unit.so");
        let key = folder.path().join("unit.so.key");
        let object = folder.path().join("unit-s.o.key");
        let bytes = [0x7f, b'E', 0xff, 0x80, 0xc3, 0x28];
        for write in [&library, &key, &object] {
            fs::write(write, bytes).expect("written");
        }
        let began = SystemTime::now();
        let later = began + Duration::from_secs(60);
        assert!(
            !is_whole(&folder, &library, later),
            "made before, and not noted"
        );
        assert!(is_whole(&folder, &library, began), "noted");
        assert!(is_whole(&folder, &library, later), "as noted");
        for changed in [&bytes[..3], &[0x7f, b'E', 0xff, 0x81, 0xc3, 0x28], &[]] {
            fs::write(&library, changed).expect("written");
            assert!(!is_whole(&folder, &library, began), "{changed:?}");
        }
        forget(folder.path(), Some(&library));
        assert!(!library.exists() && !key.exists() && !object.exists());
        assert!(!is_whole(&folder, &library, began), "it is gone");
    }

    #[test]
    fn a_damaged_text_is_none() {
        let folder = TrustedFolder::temporary().expect("a folder");
        for (bytes, found) in [(&b"text"[..], Some("text")), (b"te\xfft", None)] {
            folder.write("unit.ptx", bytes).expect("written");
            let text = text(&folder, "unit.ptx").expect("no error");
            assert_eq!(text.as_deref(), found);
        }
        assert!(text(&folder, "none.ptx").expect("no error").is_none());
    }

    #[test]
    fn cut_ptx_is_noticed() {
        let kept = with_sum(".version 8.0\nret;\n");
        assert_eq!(without_sum(&kept), Some(".version 8.0\nret;\n"));
        for cut in 0..kept.len() {
            assert_eq!(without_sum(&kept[..cut]), None, "{cut}");
        }
    }
}
