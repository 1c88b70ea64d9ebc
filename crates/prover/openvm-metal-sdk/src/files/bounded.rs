//! Reading of files that have a limit.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::error::SdkError;

/// Reads a file of at most `most` bytes, or a pipe. More are not read, of devices without an end, as `/dev/zero`.
///
/// # Errors
/// [`SdkError::File`], which names the file as `what`.
pub fn read_bounded(path: &Path, what: &'static str, most: u64) -> Result<Vec<u8>, SdkError> {
    let bad = |reason: String| SdkError::File {
        path: path.to_owned(),
        what,
        reason,
    };
    let read = || -> io::Result<Option<Vec<u8>>> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        if size > most {
            return Ok(None);
        }
        // The file may grow meanwhile, and pipes have no size.
        let mut bytes = Vec::with_capacity(size as usize);
        file.take(most + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    };
    match read() {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(bad(format!(
            "it has more than {most} bytes, the most that are read"
        ))),
        Err(error) => Err(bad(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn files_up_to_the_limit() {
        let path = env::temp_dir().join(format!("openvm-metal-bounded-{}", process::id()));
        fs::write(&path, [7; 100]).expect("written");
        assert_eq!(read_bounded(&path, "a key", 100).expect("read"), [7; 100]);
        let error = read_bounded(&path, "a key", 99).expect_err("too large");
        let text = error.to_string();
        assert!(
            text.contains("a key") && text.contains("99 bytes"),
            "{text}"
        );
        fs::remove_file(&path).expect("removed");
        let error = read_bounded(&path, "a key", 100).expect_err("no file");
        assert!(error.to_string().contains("No such file"), "{error}");
        let error = read_bounded(&env::temp_dir(), "a key", 1 << 20).expect_err("a folder");
        assert!(matches!(error, SdkError::File { .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_without_an_end() {
        use std::{io::Write, os::fd::AsRawFd, thread};

        let error = read_bounded(Path::new("/dev/zero"), "a proof", 1 << 20).expect_err("no end");
        assert!(error.to_string().contains("1048576 bytes"), "{error}");

        let (reader, mut writer) = io::pipe().expect("a pipe");
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let write = thread::spawn(move || while writer.write_all(&[1; 4096]).is_ok() {});
        let error = read_bounded(Path::new(&path), "a proof", 1 << 20).expect_err("no end");
        assert!(error.to_string().contains("1048576 bytes"), "{error}");
        drop(reader);
        write.join().expect("the writer ends with its reader");

        let (reader, mut writer) = io::pipe().expect("a pipe");
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        writer.write_all(b"ends").expect("written");
        drop(writer);
        assert_eq!(
            read_bounded(Path::new(&path), "a value", 4).expect("read"),
            b"ends"
        );
    }
}
