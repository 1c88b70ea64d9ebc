//! The signature that Apple silicon demands of every program: hashes of its pages, here without a certificate.

use object::macho;
use object::read::macho::CodeDirectory;
use object::{BigEndian, Endianness};
use sha2::{Digest, Sha256};

use crate::error::ImageError;

/// A code signature, and the result of its verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name of the program.
    pub identifier: String,
    /// Signed by nobody: there is a hash of the content, and no certificate.
    pub ad_hoc: bool,
    /// Bytes that are signed: all in front of the signature, if it is right.
    pub code_limit: u64,
    /// Offset of the signature in the file, in bytes.
    pub offset: u64,
    /// End of the signature; the end of the file, if it is right.
    pub end: u64,
    /// Pages with a hash.
    pub pages: u32,
    /// Numbers of the pages whose content has another hash.
    pub wrong: Vec<u32>,
}

/// Reads the signature of `file` and computes the hashes again.
pub(crate) fn read(
    command: &macho::LinkeditDataCommand<Endianness>,
    endian: Endianness,
    file: &[u8],
) -> Result<Signature, ImageError> {
    let unreadable = |what: &str| ImageError::Unreadable(format!("signature: {what}"));
    let blobs = command.code_signature(endian, file)?.blobs();
    let mut directory = None;
    for blob in blobs {
        if let Some(found) = blob?.code_directory()? {
            directory = Some(found);
        }
    }
    let directory = directory.ok_or_else(|| unreadable("no code directory"))?;
    let header = directory.header();
    if header.hash_type != macho::CS_HASHTYPE_SHA256 || header.hash_size != 32 {
        return Err(unreadable("hashes are not SHA-256"));
    }
    let page = match header.page_size {
        size @ 10..=20 => 1usize << size,
        _ => return Err(unreadable("page size")),
    };
    let code = usize::try_from(directory.code_limit())
        .ok()
        .and_then(|limit| file.get(..limit))
        .ok_or_else(|| unreadable("more bytes are signed than there are"))?;
    let pages = header.n_code_slots.get(BigEndian);
    if code.len().div_ceil(page) != pages as usize {
        return Err(unreadable("number of pages"));
    }
    let identifier = String::from_utf8(directory.ident()?.to_vec());
    let (offset, size) = (command.dataoff.get(endian), command.datasize.get(endian));
    Ok(Signature {
        identifier: identifier.map_err(|_| ImageError::Text {
            what: "name in the signature",
        })?,
        ad_hoc: header.flags.get(BigEndian).contains(macho::CS_ADHOC),
        code_limit: directory.code_limit(),
        offset: offset.into(),
        end: u64::from(offset) + u64::from(size),
        pages,
        wrong: wrong_pages(&directory, code, page)?,
    })
}

fn wrong_pages(
    directory: &CodeDirectory<'_>,
    code: &[u8],
    page: usize,
) -> Result<Vec<u32>, ImageError> {
    let mut wrong = Vec::new();
    for (number, content) in (0..).zip(code.chunks(page)) {
        if Sha256::digest(content).as_slice() != directory.code_hash(number)? {
            wrong.push(number);
        }
    }
    Ok(wrong)
}
