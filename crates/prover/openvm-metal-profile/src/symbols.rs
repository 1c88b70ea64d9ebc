//! `Symbols`: functions, inlined frames and lines of a guest's ELF.

use std::{fmt, sync::Arc};

use addr2line::Context;
use gimli::{EndianArcSlice, RunTimeEndian};
use object::{
    elf::FileHeader32, read::elf::ElfFile, Endianness, Object, ObjectSection, ObjectSymbol,
    SymbolKind,
};
use rustc_hash::FxHashSet;

use crate::ProfileError;

type Reader = EndianArcSlice<RunTimeEndian>;

/// A function of the symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of its first instruction.
    pub start: u32,
    /// Address behind its last instruction.
    pub end: u32,
    /// Name as in the source, without hashes.
    pub name: String,
}

/// One frame of an instruction: a function of the source and a place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    pub function: String,
    /// Path of the source as the ELF names it.
    pub file: Option<String>,
    pub line: Option<u32>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{} ({file}:{line})", self.function),
            _ => f.write_str(&self.function),
        }
    }
}

/// Names and lines of a program's addresses. Empty if the program came without an ELF.
#[derive(Default)]
pub struct Symbols {
    /// Functions in the order of their addresses, none of which overlap.
    functions: Vec<Function>,
    lines: Option<Context<Reader>>,
}

impl Symbols {
    /// Names and lines of an ELF. A stripped one has none.
    ///
    /// # Errors
    /// [`ProfileError::Elf`] if the bytes are not an ELF of 32 bits, or its line tables cannot be read.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, ProfileError> {
        let bad = |error: object::Error| ProfileError::Elf(error.to_string());
        let elf = ElfFile::<FileHeader32<Endianness>>::parse(bytes).map_err(bad)?;
        Ok(Self {
            functions: functions(&elf),
            lines: lines(&elf)?,
        })
    }

    /// True if there are no names.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// True if there are line tables.
    pub fn has_lines(&self) -> bool {
        self.lines.is_some()
    }

    /// The functions, in the order of their addresses.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function of the symbol table that an instruction belongs to.
    pub fn function(&self, pc: u32) -> Option<&Function> {
        let after = self.functions.partition_point(|f| f.start <= pc);
        let function = &self.functions[after.checked_sub(1)?];
        (pc < function.end).then_some(function)
    }

    /// The frames of an instruction: inlined functions first, the function that they were inlined into last. Empty if the
    /// ELF names no function there.
    pub fn frames(&self, pc: u32) -> Vec<Frame> {
        let mut frames = self.inlined(pc).unwrap_or_default();
        match (self.function(pc), frames.last_mut()) {
            // The symbol's name has generic arguments, the line table's may not.
            (Some(function), Some(last)) => last.function.clone_from(&function.name),
            (Some(function), None) => frames.push(Frame {
                function: function.name.clone(),
                ..Frame::default()
            }),
            (None, _) => {}
        }
        frames
    }

    /// The function and the line of an instruction: `crate::f (src/lib.rs:12)`.
    pub fn place(&self, pc: u32) -> Option<String> {
        self.frames(pc).first().map(ToString::to_string)
    }

    /// The function and the line of an instruction, and those that they are inlined into: `crate::f (src/lib.rs:12) in crate::main
    /// (src/main.rs:3)`.
    pub fn places(&self, pc: u32) -> Option<String> {
        let frames: Vec<_> = self.frames(pc).iter().map(ToString::to_string).collect();
        (!frames.is_empty()).then(|| frames.join(" in "))
    }

    fn inlined(&self, pc: u32) -> Option<Vec<Frame>> {
        let lines = self.lines.as_ref()?;
        let mut found = lines.find_frames(u64::from(pc)).skip_all_loads().ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|name| {
                let raw = name.raw_name().ok()?;
                Some(demangled(&raw))
            });
            let place = frame.location;
            frames.push(Frame {
                function: name.unwrap_or_else(|| "?".to_owned()),
                file: place
                    .as_ref()
                    .and_then(|place| place.file.map(str::to_owned)),
                line: place.and_then(|place| place.line),
            });
        }
        Some(frames)
    }
}

/// A name as in the source, without a hash at its end.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// Functions without overlaps. Where several symbols name an address, one that has a size is taken, and of these the last by name.
fn functions(elf: &ElfFile<'_, FileHeader32<Endianness>>) -> Vec<Function> {
    let code: FxHashSet<_> = elf
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text)
        .map(|section| section.index())
        .collect();
    let is_code = |symbol: &object::read::elf::ElfSymbol<'_, '_, FileHeader32<Endianness>>| {
        symbol
            .section_index()
            .is_some_and(|index| code.contains(&index))
    };
    let mut found: Vec<(u32, u32, &str)> = elf
        .symbols()
        .filter(|symbol| {
            let named = matches!(symbol.kind(), SymbolKind::Text)
                || symbol.kind() == SymbolKind::Label
                || symbol.kind() == SymbolKind::Unknown;
            named && is_code(symbol)
        })
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            // Assemblers mark places by such names.
            if name.is_empty() || name.starts_with('$') || name.starts_with(".L") {
                return None;
            }
            let start = u32::try_from(symbol.address()).ok()?;
            Some((start, u32::try_from(symbol.size()).ok()?, name))
        })
        .collect();
    found.sort_unstable_by_key(|&(start, size, name)| (start, size > 0, name));
    let ends: Vec<u32> = elf
        .sections()
        .filter(|section| code.contains(&section.index()))
        .filter_map(|section| u32::try_from(section.address() + section.size()).ok())
        .collect();
    let mut functions: Vec<Function> = Vec::new();
    for (start, size, name) in found {
        if size == 0
            && functions
                .last()
                .is_some_and(|last| last.end > start && last.start < start)
        {
            // A label within a function.
            continue;
        }
        if let Some(last) = functions.last_mut() {
            if last.start == start {
                functions.pop();
            } else {
                last.end = last.end.min(start);
            }
        }
        let end_of_section = ends.iter().copied().filter(|&end| end > start).min();
        let end = match size {
            0 => end_of_section.unwrap_or(start),
            size => start.saturating_add(size),
        };
        functions.push(Function {
            start,
            end,
            name: demangled(name),
        });
    }
    functions
}

fn lines(
    elf: &ElfFile<'_, FileHeader32<Endianness>>,
) -> Result<Option<Context<Reader>>, ProfileError> {
    if elf.section_by_name(".debug_line").is_none() {
        return Ok(None);
    }
    let bad = |error: gimli::Error| ProfileError::Elf(format!("its line tables: {error}"));
    let dwarf = gimli::Dwarf::load(|id| {
        let data = elf
            .section_by_name(id.name())
            .and_then(|section| section.data().ok())
            .unwrap_or_default();
        Ok(Reader::new(Arc::from(data), RunTimeEndian::Little))
    })
    .map_err(bad)?;
    Context::from_dwarf(dwarf).map(Some).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELF: &[u8] = include_bytes!("../tests/data/costs.elf");

    /// A table that names neighbours' functions, loses inlined frames, or keeps hashes in names.
    #[test]
    fn functions_and_inlined_frames_of_a_guest() {
        let symbols = Symbols::from_elf(ELF).expect("an ELF");
        assert!(symbols.has_lines());
        for pair in symbols.functions().windows(2) {
            assert!(pair[0].end <= pair[1].start, "{pair:?}");
        }
        let sums = symbols.functions().iter().find(|f| f.name == "costs::sums");
        let sums = sums.expect("a function");
        assert_eq!(symbols.function(sums.start), Some(sums));
        assert_ne!(symbols.function(sums.end), Some(sums));
        // The loop of the inlined function is in it.
        let inlined = (sums.start..sums.end)
            .step_by(4)
            .map(|pc| symbols.frames(pc))
            .find(|frames| frames.len() == 2)
            .expect("an inlined frame");
        assert_eq!(inlined[0].function, "costs::added");
        assert_eq!(inlined[1].function, "costs::sums");
        let file = inlined[0].file.as_deref().expect("a file");
        assert!(
            file.ends_with("src/main.rs") && file.starts_with("/guest"),
            "{file}"
        );
    }

    #[test]
    fn files_without_symbols() {
        let error = Symbols::from_elf(b"no ELF").err().expect("an error");
        assert!(matches!(error, ProfileError::Elf(_)), "{error}");
        let symbols = Symbols::default();
        assert!(symbols.is_empty() && !symbols.has_lines());
        assert_eq!(symbols.frames(0x20_0800), []);
        assert_eq!(symbols.place(0x20_0800), None);
    }

    /// Damaged tables are errors or fewer names, and no panic.
    #[test]
    fn damaged_elfs_do_not_panic() {
        for seed in 0..300_usize {
            let mut bytes = ELF.to_vec();
            for change in 0..4 {
                let place = (seed * 7919 + change * 104_729) % bytes.len();
                bytes[place] ^= 1 << (seed % 8);
            }
            if seed % 5 == 0 {
                bytes.truncate(seed * 131 % ELF.len());
            }
            let Ok(symbols) = Symbols::from_elf(&bytes) else {
                continue;
            };
            for pc in (0x20_0800..0x20_2000).step_by(4) {
                symbols.frames(pc);
            }
        }
    }
}
