//! Symbols of a program: those of its ELF, or of the ELF that an executable was made from.

use std::path::{Path, PathBuf};

use openvm_metal_profile::Symbols;
use openvm_metal_sdk::{
    decode_elf, digest, executable_with, files, guest::without_symbols, GuestElf, SdkError, Traps,
};

use super::{Program, Source};
use crate::{
    error::{CliError, Result},
    table::note,
};

impl Program {
    /// The ELF with names and lines of the program: the one that is given, or the program's own, or one that lies where `build` puts it
    /// beside an executable.
    ///
    /// # Errors
    /// An ELF that cannot be read, or that is another program's.
    pub fn symbols_elf(&self, given: Option<&Path>) -> Result<Option<PathBuf>> {
        Ok(match given {
            Some(path) => {
                if !self.is_made_of(path)? {
                    return Err(CliError::Usage(
                        "--elf: the program was not made of this ELF",
                    ));
                }
                Some(path.to_owned())
            }
            // The ELF that is proved has none: they are in cargo's.
            None => match &self.built {
                Some(built) => Some(built.symbols.clone()),
                None => self.elf_beside().or_else(|| self.elf.clone()),
            },
        })
    }

    /// Names and lines of the program, from the ELF of [`symbols_elf`](Self::symbols_elf). Says what is missing if `tell` is set.
    ///
    /// # Errors
    /// An ELF that cannot be read.
    pub fn symbols(&self, elf: Option<&Path>, tell: bool) -> Result<Symbols> {
        let symbols = match elf {
            Some(path) => {
                Symbols::from_elf(&std::fs::read(path).map_err(|source| CliError::Read {
                    path: path.display().to_string(),
                    source,
                })?)?
            }
            None => Symbols::default(),
        };
        if tell && symbols.is_empty() {
            note(format_args!(
                "{}: no symbols, so functions are named by addresses: `openvm-metal build` keeps them in the guest's ELF, and --elf \
                 FILE names the ELF of an executable",
                self.name
            ));
        } else if tell && !symbols.has_lines() {
            note(format_args!(
                "{}: no line tables, so lines and inlined functions are not known: `openvm-metal build` makes them",
                self.name
            ));
        }
        Ok(symbols)
    }

    /// An error of the SDK, with the function and line of its instruction.
    pub fn at_place(&self, error: SdkError) -> CliError {
        let place = error.pc().and_then(|pc| {
            let elf = self.symbols_elf(None).ok()?;
            self.symbols(elf.as_deref(), false).ok()?.places(pc)
        });
        match place {
            Some(place) => CliError::At {
                error: Box::new(error),
                place,
            },
            None => error.into(),
        }
    }

    /// True if the program's executable is what this ELF gives.
    fn is_made_of(&self, path: &Path) -> Result<bool> {
        // Loaded bytes include the ELF's header, which says where symbols are: an executable may be made of the ELF as it is, or
        // of one without symbols.
        let mut elfs = vec![files::read_elf(path)?];
        let whole = std::fs::read(path).ok();
        if let Some(bytes) = whole.and_then(|bytes| without_symbols(&bytes).ok()) {
            elfs.push(decode_elf(&bytes)?);
        }
        let own = digest(&*self.executable()?);
        let rules = [Traps::End, Traps::AsCargoOpenvm];
        let is_own = |elf: &GuestElf, traps| {
            executable_with(&self.vm_config(), elf.clone(), traps)
                .is_ok_and(|exe| digest(&exe) == own)
        };
        Ok(elfs
            .iter()
            .any(|elf| rules.iter().any(|&traps| is_own(elf, traps))))
    }

    /// The ELF of an executable: `NAME.elf` or `NAME` beside it, or in cargo's folder of the profile that it was built with.
    fn elf_beside(&self) -> Option<PathBuf> {
        let path = self.path.canonicalize().ok()?;
        // TARGET/openvm/PROFILE/NAME.vmexe or .elf, and TARGET/riscv32im-risc0-zkvm-elf/PROFILE/NAME, which has symbols.
        let profile = path.parent()?;
        let mut places = Vec::new();
        if let (Some(target), Some(name)) =
            (profile.parent().and_then(Path::parent), profile.file_name())
        {
            places.push(
                target
                    .join("riscv32im-risc0-zkvm-elf")
                    .join(name)
                    .join(path.file_stem()?),
            );
        }
        if let Source::Exe(_) = &self.source {
            places.extend([path.with_extension("elf"), path.with_extension("")]);
        }
        places
            .into_iter()
            .find(|elf| elf.is_file() && self.is_made_of(elf).unwrap_or(false))
    }
}
