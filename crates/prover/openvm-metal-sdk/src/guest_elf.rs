//! ELFs of guests.
//!
//! OpenVM's decoder makes the entries of a map one after the other, for each word that a program header names, and lays the words of
//! executable segments side by side without those that are not in the file. So an ELF of a few bytes could take all memory, code could
//! come to lie at another address, and large programs take long to read.
//!
//! Here segments must lie in the guest's memory and in the file, each for itself. Zeros behind the bytes of the file get no entries, as
//! memory is zero without them, and an executable segment without bytes in the file is no code. All entries are made at once.

use std::{fmt, sync::Arc};

use elf::{
    abi::{EI_CLASS, EI_DATA, ELFCLASS64, ELFDATA2MSB, ELFMAGIC, EM_RISCV, ET_EXEC, PF_X, PT_LOAD},
    endian::LittleEndian,
    segment::ProgramHeader,
    ElfBytes,
};
use openvm_circuit::arch::instructions::{
    exe::SparseMemoryImage, program::MAX_ALLOWED_PC, riscv::RV32_MEMORY_AS,
};
use openvm_transpiler::openvm_platform::memory::MEM_SIZE;

use crate::error::SdkError;

/// Most bytes of an ELF: twice those of a guest's memory, as it has symbols, too.
pub(crate) const MAX_ELF: u64 = 2 * MEM_SIZE as u64;

// Code lies in the guest's memory, so that program counters reach it.
const _: () = assert!(MEM_SIZE <= MAX_ALLOWED_PC as usize + 1);

/// Most program headers of an ELF, as in OpenVM's decoder.
const MAX_HEADERS: usize = 256;

/// Code and initial memory of a guest, from its ELF. A clone shares them.
#[derive(Clone)]
pub struct GuestElf {
    code: Arc<[u32]>,
    pc_base: u32,
    pc_start: u32,
    /// Addresses and bytes of segments, in order; both are whole words.
    segments: Arc<[(u32, Vec<u8>)]>,
}

impl GuestElf {
    /// Words of the code, from [`Self::pc_base`] on.
    pub fn code(&self) -> &[u32] {
        &self.code
    }

    /// Address of the first word of the code; [`u32::MAX`] without code.
    pub fn pc_base(&self) -> u32 {
        self.pc_base
    }

    /// Address at which the guest starts.
    pub fn pc_start(&self) -> u32 {
        self.pc_start
    }

    /// Initial memory, without zeros behind a segment.
    pub(crate) fn memory(&self) -> SparseMemoryImage {
        let count = self.segments.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut entries = Vec::with_capacity(count);
        for (start, bytes) in self.segments.iter() {
            let bytes = (*start..).zip(bytes);
            entries.extend(bytes.map(|(address, byte)| ((RV32_MEMORY_AS, address), *byte)));
        }
        // The standard library builds the map of sorted entries at once.
        entries.into_iter().collect()
    }
}

impl fmt::Debug for GuestElf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = self.segments.iter();
        let sizes = segments.map(|(start, bytes)| (start, bytes.len()));
        f.debug_struct("GuestElf")
            .field("pc_base", &self.pc_base)
            .field("pc_start", &self.pc_start)
            .field("words", &self.code.len())
            .field("segments", &sizes.collect::<Vec<_>>())
            .finish()
    }
}

/// Decodes the ELF of a guest.
///
/// # Errors
/// [`SdkError::Elf`] if it is none, or its segments do not fit the guest's memory or the file.
pub fn decode_elf(bytes: &[u8]) -> Result<GuestElf, SdkError> {
    decode(bytes).map_err(SdkError::Elf)
}

fn decode(file: &[u8]) -> Result<GuestElf, String> {
    let (pc_start, headers) = segments(file)?;
    let (mut code, mut pc_base) = (Vec::new(), u32::MAX);
    let mut loaded = Vec::with_capacity(headers.len());
    for segment in &headers {
        // `check` has bounded addresses and sizes by the guest's memory and the file.
        let (start, offset) = (segment.p_vaddr as u32, segment.p_offset as usize);
        let size = segment.p_filesz as usize;
        let mut bytes = Vec::with_capacity(size.next_multiple_of(4));
        bytes.extend_from_slice(&file[offset..offset + size]);
        bytes.resize(size.next_multiple_of(4), 0);
        if segment.p_flags & PF_X != 0 {
            pc_base = pc_base.min(start);
            let (words, _) = bytes.as_chunks::<4>();
            code.extend(words.iter().map(|word| u32::from_le_bytes(*word)));
        }
        loaded.push((start, bytes));
    }
    Ok(GuestElf {
        code: code.into(),
        pc_base,
        pc_start,
        segments: loaded.into(),
    })
}

/// The address at which the guest starts, and the segments that are loaded from the file in the order of their addresses.
fn segments(bytes: &[u8]) -> Result<(u32, Vec<ProgramHeader>), String> {
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
    let (machine, entry) = (elf.ehdr.e_machine, elf.ehdr.e_entry);
    if machine != EM_RISCV {
        return Err(format!(
            "it is for another processor than RISC-V (machine {machine})"
        ));
    }
    if elf.ehdr.e_type != ET_EXEC {
        return Err(
            "it is a library, an object file or position-independent: link it as a static executable"
                .into(),
        );
    }
    if entry >= MEM_SIZE as u64 {
        return Err(format!(
            "it starts at {entry:#x}, outside the guest's memory of {MEM_SIZE:#x} bytes"
        ));
    }
    if !entry.is_multiple_of(4) {
        return Err(format!(
            "it starts at {entry:#x}, which is no multiple of 4"
        ));
    }
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
    Ok((entry as u32, segments))
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
