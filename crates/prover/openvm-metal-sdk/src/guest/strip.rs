//! ELFs without symbols and debug information.
//!
//! The first segment of a guest has the headers of its file, which say where the table of sections is. So an executable with
//! symbols is another program than one without, though no instruction differs. What is proved has none, as linkers leave it with
//! `--strip-all`: the result is that file, byte for byte, for files of rust-lld.

use elf::{
    abi::{PT_LOAD, SHF_ALLOC, SHT_NOBITS, SHT_NULL, SHT_STRTAB, SHT_SYMTAB},
    endian::LittleEndian,
    section::SectionHeader,
    ElfBytes,
};

/// Bytes of a program header and of a section header of a 32-bit ELF.
const PROGRAM_HEADER: usize = 32;
const SECTION_HEADER: usize = 40;

/// Largest alignment of a section that is not loaded.
const MAX_ALIGN: usize = 4096;

/// Returns an ELF without its symbols and debug information.
///
/// # Errors
/// The reason why the bytes are no ELF as rustc's linker makes it for guests.
pub fn without_symbols(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let text = |error: elf::ParseError| error.to_string();
    let elf = ElfBytes::<LittleEndian>::minimal_parse(bytes).map_err(text)?;
    let (sections, names) = elf.section_headers_with_strtab().map_err(text)?;
    let (Some(sections), Some(names)) = (sections, names) else {
        return Err("it has no sections".into());
    };
    let headers: Vec<SectionHeader> = sections.iter().collect();
    let name = |header: &SectionHeader| names.get(header.sh_name as usize).map_err(text);

    // Code and data stay; of the rest only what describes them.
    let names_index = usize::from(elf.ehdr.e_shstrndx);
    let mut kept = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        let is_symbols = matches!(header.sh_type, SHT_SYMTAB | SHT_STRTAB) && index != names_index;
        if !is_symbols && !name(header)?.starts_with(".debug_") {
            kept.push(index);
        }
    }
    let is_loaded = |header: &SectionHeader| header.sh_flags & u64::from(SHF_ALLOC) != 0;
    let in_file = |header: &SectionHeader| match header.sh_type {
        SHT_NOBITS | SHT_NULL => 0,
        _ => header.sh_size,
    };
    let loaded = headers.iter().filter(|header| is_loaded(header));
    let loaded_end = loaded
        .map(|header| header.sh_offset + in_file(header))
        .max();
    let loaded_end = usize::try_from(loaded_end.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut out = bytes.get(..loaded_end).ok_or("it is cut off")?.to_vec();

    let mut table = Vec::new();
    let mut moved = Vec::new();
    let mut new_names = vec![0];
    let mut new_names_index = 0;
    for (new_index, &index) in kept.iter().enumerate() {
        let header = &headers[index];
        let mut place = (header.sh_offset, header.sh_size);
        let at = new_names.len();
        if header.sh_type != SHT_NULL {
            new_names.extend(name(header)?.as_bytes());
            new_names.push(0);
        }
        if !is_loaded(header) && header.sh_type != SHT_NULL {
            let align = usize::try_from(header.sh_addralign.max(1)).unwrap_or(usize::MAX);
            if align > MAX_ALIGN {
                return Err(format!("a section is aligned to {align} bytes"));
            }
            out.resize(out.len().next_multiple_of(align), 0);
            place.0 = out.len() as u64;
            if index == names_index {
                new_names_index = new_index;
                // Its name is the last: linkers put this section behind all others without symbols.
                place.1 = new_names.len() as u64;
                out.extend(&new_names);
            } else {
                let (start, end) = (header.sh_offset, header.sh_offset + in_file(header));
                let range = start as usize..end as usize;
                moved.push((range.clone(), place.0));
                out.extend(bytes.get(range).ok_or("it is cut off")?);
            }
        }
        let link = kept.iter().position(|&old| old == header.sh_link as usize);
        let name = if header.sh_type == SHT_NULL { 0 } else { at };
        table.extend(
            [
                name as u64,
                u64::from(header.sh_type),
                header.sh_flags,
                header.sh_addr,
                place.0,
                place.1,
                link.unwrap_or(0) as u64,
                u64::from(header.sh_info),
                header.sh_addralign,
                header.sh_entsize,
            ]
            .map(|word| (word as u32).to_le_bytes())
            .concat(),
        );
    }
    out.resize(out.len().next_multiple_of(4), 0);
    let table_at = out.len();
    out.extend(table);

    let mut put = |at: usize, value: &[u8]| -> Result<(), String> {
        let place = out.get_mut(at..at + value.len()).ok_or("it is cut off")?;
        place.copy_from_slice(value);
        Ok(())
    };
    put(32, &(table_at as u32).to_le_bytes())?;
    put(48, &(kept.len() as u16).to_le_bytes())?;
    put(50, &(new_names_index as u16).to_le_bytes())?;
    for (index, segment) in elf.segments().into_iter().flatten().enumerate() {
        let start = usize::try_from(segment.p_offset).unwrap_or(usize::MAX);
        let new = moved
            .iter()
            .find(|(range, _)| segment.p_type != PT_LOAD && range.start == start);
        if let Some((_, offset)) = new {
            let at = elf.ehdr.e_phoff as usize + index * PROGRAM_HEADER + 4;
            put(at, &(*offset as u32).to_le_bytes())?;
        }
    }
    debug_assert_eq!(out.len(), table_at + kept.len() * SECTION_HEADER);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn example() -> Vec<u8> {
        let path = "/../../../examples/guests/fibonacci/fibonacci.elf";
        let path = format!("{}{path}", env!("CARGO_MANIFEST_DIR"));
        fs::read(path).expect("the example")
    }

    /// The linker took the symbols away already: nothing moves.
    #[test]
    fn files_without_symbols_stay() {
        let bytes = example();
        assert!(without_symbols(&bytes).expect("an ELF") == bytes);
    }

    /// Files that are cut off, or have any byte of their headers changed, are errors or ELFs.
    #[test]
    fn damaged_files_are_errors() {
        let bytes = example();
        for length in (0..200).chain([bytes.len() / 2, bytes.len() - 300, bytes.len() - 1]) {
            without_symbols(&bytes[..length]).expect_err("cut off");
        }
        let headers = (0..276).chain(bytes.len() - 7 * SECTION_HEADER..bytes.len());
        for at in headers {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = without_symbols(&damaged);
            }
        }
    }
}
