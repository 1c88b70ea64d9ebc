//! Texts that are kept in a folder: one that was cut or damaged since is made again.

use openvm_metal_builder::hash;
use openvm_metal_common::{TrustedFolder, UntrustedPath};

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
