//! Contents of a Mach-O file.

use std::fmt;

use object::macho::{self, MachHeader64};
use object::read::macho::{LoadCommandVariant, MachHeader as _, MachOFile64};
use object::{Endianness, ImportFlags, NameOrOrdinal, Object as _};

use crate::error::ImageError;
use crate::signature::{self, Signature};

/// Purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A program.
    Executable,
    /// A library with a name of its own, to be linked with.
    Library,
    /// A library without a name, to be loaded at run time.
    Bundle,
    /// Something else: the `filetype` of its header.
    Other(u32),
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executable => f.write_str("executable"),
            Self::Library => f.write_str("library"),
            Self::Bundle => f.write_str("bundle"),
            Self::Other(kind) => write!(f, "file of type {kind}"),
        }
    }
}

/// Place where the loader looks for a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In the library of this install name.
    Library(String),
    /// In whatever is loaded.
    Anywhere,
    /// In the program that loads the file, or another special place: its ordinal.
    Special(i32),
}

/// A symbol that the loader has to find.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// Name with the leading underscore of C.
    pub symbol: String,
    /// Place of the symbol.
    pub source: Source,
    /// The file can be loaded without it.
    pub weak: bool,
}

/// Facts that were read off a file.
#[derive(Clone, Debug)]
pub struct Image {
    /// Purpose of the file.
    pub kind: ImageKind,
    /// `cputype` of the header; [`Image::ARM64`] on Apple silicon.
    pub processor: u32,
    /// `cpusubtype` without its flags; 0 runs on every processor of the type.
    pub processor_subtype: u32,
    /// The code may be loaded anywhere.
    pub position_independent: bool,
    /// Symbols are looked up by library, not by name alone.
    pub two_level: bool,
    /// Names of all load commands, in order.
    pub commands: Vec<String>,
    /// Platform, oldest system and SDK of each `LC_BUILD_VERSION`.
    pub builds: Vec<Build>,
    /// Install names of the libraries it needs, with the version of their interface that it asks for.
    pub libraries: Vec<(String, String)>,
    /// The symbols that the loader binds.
    pub imports: Vec<Import>,
    /// Undefined symbols of the symbol table, as `nm -u` shows them.
    pub undefined: Vec<String>,
    /// The signature, if there is one.
    pub signature: Option<Signature>,
}

/// An `LC_BUILD_VERSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// `PLATFORM_...`; 1 is macOS.
    pub platform: u32,
    /// Oldest system, for example `13.0.0`.
    pub minimum: String,
    /// SDK whose rules the system applies.
    pub sdk: String,
}

impl Image {
    /// `CPU_TYPE_ARM64`.
    pub const ARM64: u32 = macho::CPU_TYPE_ARM64.0;
    /// `PLATFORM_MACOS`.
    pub const MACOS: u32 = macho::PLATFORM_MACOS.0;

    /// Reads a file.
    ///
    /// # Errors
    /// [`ImageError`] if any part that a check looks at is missing, cut short or out of range.
    pub fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        let header = MachHeader64::<Endianness>::parse(bytes, 0)?;
        let endian = header.endian()?;
        let file = MachOFile64::<Endianness>::parse(bytes)?;
        let flags = header.flags(endian);
        let mut image = Self {
            kind: match header.filetype(endian) {
                macho::MH_EXECUTE => ImageKind::Executable,
                macho::MH_DYLIB => ImageKind::Library,
                macho::MH_BUNDLE => ImageKind::Bundle,
                other => ImageKind::Other(other.0),
            },
            processor: header.cputype(endian).0,
            processor_subtype: header.cpusubtype(endian).0 & !macho::CPU_SUBTYPE_MASK,
            position_independent: flags.contains(macho::MH_PIE),
            two_level: flags.contains(macho::MH_TWOLEVEL),
            commands: Vec::new(),
            builds: Vec::new(),
            libraries: Vec::new(),
            imports: imports(&file)?,
            undefined: undefined(&file, endian)?,
            signature: None,
        };
        let mut commands = header.load_commands(endian, bytes, 0)?;
        while let Some(command) = commands.next()? {
            let name = command.cmd().name();
            let other = || format!("load command {:#x}", command.cmd().0);
            image.commands.push(name.map_or_else(other, str::to_owned));
            match command.variant()? {
                LoadCommandVariant::Segment64(segment, _) => {
                    segment_inside(segment, endian, bytes)?;
                }
                LoadCommandVariant::BuildVersion(build, _) => image.builds.push(Build {
                    platform: build.platform.get(endian).0,
                    minimum: build.minos.get(endian).to_string(),
                    sdk: build.sdk.get(endian).to_string(),
                }),
                LoadCommandVariant::LinkeditData(data)
                    if command.cmd() == macho::LC_CODE_SIGNATURE =>
                {
                    image.signature = Some(signature::read(data, endian, bytes)?);
                }
                _ => {
                    if let Some(library) = command.dylib()? {
                        let name = command.string(endian, library.dylib.name)?;
                        let version = library.dylib.compatibility_version.get(endian);
                        let name = text(name, "library name")?;
                        image.libraries.push((name, version.to_string()));
                    }
                }
            }
        }
        Ok(image)
    }
}

/// A segment's bytes lie in the file.
fn segment_inside(
    segment: &macho::SegmentCommand64<Endianness>,
    endian: Endianness,
    bytes: &[u8],
) -> Result<(), ImageError> {
    let (start, size) = (segment.fileoff.get(endian), segment.filesize.get(endian));
    match start.checked_add(size) {
        Some(end) if end <= bytes.len() as u64 => Ok(()),
        _ => Err(ImageError::Unreadable(format!(
            "a segment of {size} bytes at {start} in a file of {}",
            bytes.len()
        ))),
    }
}

fn text(bytes: &[u8], what: &'static str) -> Result<String, ImageError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ImageError::Text { what })?;
    Ok(text.to_owned())
}

fn imports(file: &MachOFile64<'_, Endianness>) -> Result<Vec<Import>, ImageError> {
    let mut all = Vec::new();
    for import in file.imports()? {
        let import = import?;
        let NameOrOrdinal::Name(name) = import.name() else {
            continue;
        };
        let special = match import.flags() {
            ImportFlags::MachOBind { dylib, .. } if dylib.0 <= 0 => Some(dylib.0),
            _ => None,
        };
        let source = match special {
            // BIND_SPECIAL_DYLIB_FLAT_LOOKUP
            Some(-2) => Source::Anywhere,
            Some(ordinal) => Source::Special(ordinal),
            None if import.library().is_empty() => Source::Anywhere,
            None => Source::Library(text(import.library(), "library name")?),
        };
        all.push(Import {
            symbol: text(name, "symbol name")?,
            source,
            weak: import.is_weak(),
        });
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn undefined(
    file: &MachOFile64<'_, Endianness>,
    endian: Endianness,
) -> Result<Vec<String>, ImageError> {
    use object::read::macho::Nlist as _;
    let table = file.macho_symbol_table();
    let names = table.iter().filter(|symbol| symbol.is_undefined());
    let names = names.map(|symbol| text(symbol.name(endian, table.strings())?, "symbol name"));
    let mut names = names.collect::<Result<Vec<_>, ImageError>>()?;
    names.sort();
    names.dedup();
    Ok(names)
}
