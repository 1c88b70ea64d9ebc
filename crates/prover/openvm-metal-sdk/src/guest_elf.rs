//! ELFs of guests: their segments are checked before OpenVM's decoder takes them.
//!
//! OpenVM's decoder makes an entry of a map for each word that a program header names, and lays the words
//! of executable segments side by side without those that are not in the file. So an ELF of a few bytes
//! could take all memory, and code could come to lie at another address. Here segments must lie in
//! the guest's memory and in the file, each for itself; zeros behind the bytes of the file get no
//! entries, as memory is zero without them.

use elf::{
    abi::{EI_CLASS, EI_DATA, ELFCLASS64, ELFDATA2MSB, ELFMAGIC, PF_X, PT_LOAD},
    endian::LittleEndian,
    segment::ProgramHeader,
    ElfBytes,
};
use openvm_transpiler::{elf::Elf, openvm_platform::memory::MEM_SIZE};

use crate::error::{guard, SdkError, Stage};

/// Most bytes of an ELF: twice those of a guest's memory, as it has symbols, too.
pub(crate) const MAX_ELF: u64 = 2 * MEM_SIZE as u64;

/// Most program headers of an ELF, as in OpenVM's decoder.
const MAX_HEADERS: usize = 256;

/// Bytes of the file header and of each program header of a 32-bit ELF.
const FILE_HEADER: usize = 52;
const PROGRAM_HEADER: usize = 32;

/// Decodes the ELF of a guest.
///
/// # Errors
/// [`SdkError::Elf`] if it is none, or its segments do not fit the guest's memory or the file.
pub fn decode_elf(bytes: &[u8]) -> Result<Elf, SdkError> {
    let segments = segments(bytes).map_err(SdkError::Elf)?;
    let bytes = with_headers(bytes, &segments);
    guard(Stage::Transpile, || Elf::decode(&bytes, MEM_SIZE as u32))?
        .map_err(|error| SdkError::Elf(error.to_string()))
}

/// The segments that are loaded from the file, in the order of their addresses.
fn segments(bytes: &[u8]) -> Result<Vec<ProgramHeader>, String> {
    // The parser's errors name offsets.
    if !bytes.starts_with(&ELFMAGIC) {
        return Err("it is no ELF".into());
    }
    match bytes.get(EI_CLASS..=EI_DATA) {
        Some([ELFCLASS64, _]) => return Err("it is a 64-bit ELF".into()),
        Some([_, ELFDATA2MSB]) => return Err("it is a big-endian ELF".into()),
        _ => {}
    }
    let elf = ElfBytes::<LittleEndian>::minimal_parse(bytes)
        .map_err(|error| format!("its headers are damaged, or it is cut off ({error})"))?;
    if bytes.len() as u64 > MAX_ELF {
        return Err(format!("it has more than {MAX_ELF} bytes"));
    }
    let headers = elf.segments().ok_or("it has no program headers")?;
    if headers.len() > MAX_HEADERS {
        return Err(format!("it has more than {MAX_HEADERS} program headers"));
    }
    let mut segments: Vec<_> = headers.iter().filter(|s| s.p_type == PT_LOAD).collect();
    segments.sort_by_key(|segment| segment.p_vaddr);
    check(&segments, bytes.len() as u64)?;
    segments.retain(|segment| segment.p_filesz > 0);
    Ok(segments)
}

/// Checks segments in the order of their addresses, which are 32-bit numbers.
fn check(segments: &[ProgramHeader], file_bytes: u64) -> Result<(), String> {
    let words_end = |start: u64, bytes: u64| (start + bytes).next_multiple_of(4);
    let (mut end, mut code_end, mut loaded) = (0, None, 0);
    for segment in segments {
        let (start, size, in_file) = (segment.p_vaddr, segment.p_memsz, segment.p_filesz);
        let bad = |reason: &str| Err(format!("its segment at {start:#x} {reason}"));
        if !start.is_multiple_of(4) {
            return bad("does not begin at a multiple of 4");
        }
        if in_file > size {
            return bad("has more bytes in the file than in memory");
        }
        if segment.p_offset + in_file > file_bytes {
            return bad("goes on behind the end of the file, which is cut off");
        }
        if start + size > MEM_SIZE as u64 {
            return bad(&format!(
                "ends at {:#x}, outside the guest's memory of {MEM_SIZE:#x} bytes",
                start + size
            ));
        }
        if size > 0 && start < end {
            return bad("overlaps the one before");
        }
        end = words_end(start, size).max(end);
        loaded += in_file;
        if segment.p_flags & PF_X != 0 && in_file > 0 {
            if code_end.is_some_and(|code_end| code_end != start) {
                return bad("is code and does not begin where the code before ends in the file");
            }
            code_end = Some(words_end(start, in_file));
        }
    }
    // Segments that share their bytes in the file make a large program of a small file.
    if loaded > file_bytes {
        return Err("its segments share bytes of the file".into());
    }
    Ok(())
}

/// The file behind headers of these segments alone, which end with their last word in the file.
fn with_headers(file: &[u8], segments: &[ProgramHeader]) -> Vec<u8> {
    let headers = FILE_HEADER + PROGRAM_HEADER * segments.len();
    let mut bytes = Vec::with_capacity(headers + file.len());
    bytes.extend(&file[..FILE_HEADER]);
    let mut half = |at: usize, x: u16| bytes[at..at + 2].copy_from_slice(&x.to_le_bytes());
    half(42, PROGRAM_HEADER as u16);
    half(44, segments.len() as u16);
    // The number of section headers and the one of their names.
    half(48, 0);
    half(50, 0);
    let mut word = |at: usize, x: u32| bytes[at..at + 4].copy_from_slice(&x.to_le_bytes());
    word(28, FILE_HEADER as u32);
    // Where section headers are.
    word(32, 0);
    for segment in segments {
        let offset = segment.p_offset + headers as u64;
        let size = segment.p_filesz.next_multiple_of(4);
        let (start, in_file) = (segment.p_vaddr as u32, segment.p_filesz as u32);
        // `check` has bounded the sizes by the guest's memory.
        for x in [
            PT_LOAD,
            offset as u32,
            start,
            start,
            in_file,
            size as u32,
            segment.p_flags,
            4,
        ] {
            bytes.extend(x.to_le_bytes());
        }
    }
    bytes.extend(file);
    bytes
}
