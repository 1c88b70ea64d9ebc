//! Promises of a release about a file, and their violations.

use crate::image::{Image, ImageKind, Source};
use crate::stubs::Stubs;

/// Load commands that a program for macOS needs. A command that is not among them, for example a search path for
/// libraries, is a finding.
const COMMANDS: [&str; 16] = [
    "LC_BUILD_VERSION",
    "LC_CODE_SIGNATURE",
    "LC_DATA_IN_CODE",
    "LC_DYLD_CHAINED_FIXUPS",
    "LC_DYLD_EXPORTS_TRIE",
    "LC_DYLD_INFO_ONLY",
    "LC_DYSYMTAB",
    "LC_FUNCTION_STARTS",
    "LC_ID_DYLIB",
    "LC_LOAD_DYLIB",
    "LC_LOAD_DYLINKER",
    "LC_MAIN",
    "LC_SEGMENT_64",
    "LC_SOURCE_VERSION",
    "LC_SYMTAB",
    "LC_UUID",
];

/// Beginnings of paths in people's own folders, on Linux and on a Mac.
const HOMES: [&str; 3] = ["/home/", "/root/", "/Users/"];

/// Most bytes of a text that a finding shows.
const SHOWN: usize = 120;

/// The promised properties of a file.
#[derive(Clone, Copy, Debug)]
pub struct Promise<'a> {
    /// The system's libraries.
    pub stubs: &'a Stubs,
    /// Oldest macOS that the file must run on, for example `13.0`.
    pub minimum: &'a str,
    /// A Python module: a library whose `Py...` symbols are the interpreter's. Otherwise a program.
    pub python: bool,
    /// Libraries that it must load even if it uses no symbol of them, by the last part of the install name.
    pub needs: &'a [String],
    /// Texts that may not stand in the file: folders of the machine that built it.
    pub forbidden: &'a [String],
}

/// Reasons why a Mac would not load a file, or a release should not hold it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// Code for other processors.
    #[error("processor type {0:#x}, subtype {1}: not Apple silicon")]
    Processor(u32, u32),
    /// A file for something else.
    #[error("{found}, wanted {wanted}")]
    Kind {
        /// Kind of the file.
        found: ImageKind,
        /// Kind that is promised.
        wanted: &'static str,
    },
    /// A program that must be at one address.
    #[error("not position-independent: Apple silicon starts no such program")]
    FixedAddress,
    /// Symbols that are looked up by name alone.
    #[error("symbols are not looked up by library (no two-level namespace)")]
    FlatNamespace,
    /// A load command that none of our files needs.
    #[error("load command {0}, which is not one that a release has")]
    Command(String),
    /// A load command that every file needs.
    #[error("no load command {0}")]
    CommandMissing(&'static str),
    /// Not one platform.
    #[error("built for {0} platforms, wanted one: macOS")]
    Platforms(usize),
    /// Another platform.
    #[error("built for platform {0}, not for macOS (1)")]
    Platform(u32),
    /// Another oldest system.
    #[error("runs on macOS {found} or newer, promised is {wanted}")]
    Minimum {
        /// Value in the file.
        found: String,
        /// Value that is promised.
        wanted: String,
    },
    /// A library of which nothing is known.
    #[error("needs {0}, of which there is no stub")]
    Library(String),
    /// A library that is not loaded.
    #[error("does not load {0}, without which it cannot work")]
    LibraryMissing(String),
    /// A version that no system may have.
    #[error("needs {library} in version {version}; a system may have an older one")]
    LibraryVersion {
        /// The library.
        library: String,
        /// Version that the file asks for.
        version: String,
    },
    /// A symbol that the library is not known to have.
    #[error("needs {symbol} of {library}, which its stub does not have")]
    Symbol {
        /// The symbol.
        symbol: String,
        /// The library.
        library: String,
    },
    /// A symbol of no library.
    #[error("needs {0} from whatever is loaded")]
    Unbound(String),
    /// An undefined symbol that nothing binds.
    #[error("{0} is undefined and bound by no fixup")]
    Undefined(String),
    /// No signature.
    #[error("no signature: Apple silicon starts no such program")]
    Unsigned,
    /// A signature with a certificate, or of unknown kind.
    #[error("the signature is not an ad hoc one")]
    NotAdHoc,
    /// A signature for another content.
    #[error("the signature covers {covered} bytes of {all} in front of it")]
    SignedPart {
        /// Bytes with a hash.
        covered: u64,
        /// Bytes that should have one.
        all: u64,
    },
    /// Something behind the signature.
    #[error("the signature ends at {end}, the file at {file}")]
    SignatureEnd {
        /// End of the signature.
        end: u64,
        /// Size of the file.
        file: u64,
    },
    /// Pages that were changed after signing.
    #[error("{count} pages differ from the signature, the first is {first}")]
    Page {
        /// Number of occurrences.
        count: usize,
        /// Number of the first one.
        first: u32,
    },
    /// A path of the machine that built the file.
    #[error("`{found}` at byte {at}: a folder of the machine that built it")]
    Path {
        /// The text around it.
        found: String,
        /// Offset in the file.
        at: usize,
    },
}

/// Everything about the file that does not keep the promise.
pub fn check(image: &Image, bytes: &[u8], promise: &Promise) -> Vec<Finding> {
    let mut findings = Vec::new();
    header(image, promise, &mut findings);
    system(image, promise, &mut findings);
    symbols(image, promise, &mut findings);
    signature(image, bytes.len() as u64, &mut findings);
    paths(bytes, promise, &mut findings);
    findings
}

fn header(image: &Image, promise: &Promise, findings: &mut Vec<Finding>) {
    if (image.processor, image.processor_subtype) != (Image::ARM64, 0) {
        let (kind, subtype) = (image.processor, image.processor_subtype);
        findings.push(Finding::Processor(kind, subtype));
    }
    let (wanted, right) = if promise.python {
        let right = matches!(image.kind, ImageKind::Library | ImageKind::Bundle);
        ("library or bundle", right)
    } else {
        ("executable", image.kind == ImageKind::Executable)
    };
    if !right {
        let found = image.kind;
        findings.push(Finding::Kind { found, wanted });
    }
    if image.kind == ImageKind::Executable && !image.position_independent {
        findings.push(Finding::FixedAddress);
    }
    if !image.two_level {
        findings.push(Finding::FlatNamespace);
    }
    for command in &image.commands {
        if !COMMANDS.contains(&command.as_str()) {
            findings.push(Finding::Command(command.clone()));
        }
    }
    let mut needed = vec!["LC_SYMTAB", "LC_UUID"];
    if image.kind == ImageKind::Executable {
        needed.extend(["LC_MAIN", "LC_LOAD_DYLINKER"]);
    }
    for name in needed {
        if !image.commands.iter().any(|command| command == name) {
            findings.push(Finding::CommandMissing(name));
        }
    }
}

fn system(image: &Image, promise: &Promise, findings: &mut Vec<Finding>) {
    let [build] = &image.builds[..] else {
        findings.push(Finding::Platforms(image.builds.len()));
        return;
    };
    if build.platform != Image::MACOS {
        findings.push(Finding::Platform(build.platform));
    }
    if numbers(&build.minimum) != numbers(promise.minimum) {
        findings.push(Finding::Minimum {
            found: build.minimum.clone(),
            wanted: promise.minimum.to_owned(),
        });
    }
}

/// The numbers of a version, without zeros at its end.
fn numbers(version: &str) -> Vec<Option<u32>> {
    let mut numbers: Vec<_> = version.split('.').map(|part| part.parse().ok()).collect();
    while numbers.last() == Some(&Some(0)) {
        numbers.pop();
    }
    numbers
}

fn symbols(image: &Image, promise: &Promise, findings: &mut Vec<Finding>) {
    for (library, version) in &image.libraries {
        if image.kind == ImageKind::Library && library.starts_with("@rpath/") {
            // Its own name.
            continue;
        }
        if !promise.stubs.has_library(library) {
            findings.push(Finding::Library(library.clone()));
        } else if numbers(version) > numbers("1") {
            findings.push(Finding::LibraryVersion {
                library: library.clone(),
                version: version.clone(),
            });
        }
    }
    for name in promise.needs {
        let mut loaded = image.libraries.iter();
        if !loaded.any(|(library, _)| library.rsplit('/').next() == Some(name)) {
            findings.push(Finding::LibraryMissing(name.clone()));
        }
    }
    for import in &image.imports {
        let symbol = import.symbol.clone();
        match &import.source {
            Source::Library(library) if promise.stubs.has(library, &symbol) => {}
            Source::Library(library) => findings.push(Finding::Symbol {
                symbol,
                library: library.clone(),
            }),
            Source::Anywhere if promise.python && is_python(&symbol) => {}
            Source::Anywhere | Source::Special(_) => findings.push(Finding::Unbound(symbol)),
        }
    }
    for symbol in &image.undefined {
        if !image.imports.iter().any(|import| import.symbol == *symbol) {
            findings.push(Finding::Undefined(symbol.clone()));
        }
    }
}

/// True for symbols of Python's stable interface.
fn is_python(symbol: &str) -> bool {
    symbol.starts_with("_Py") || symbol.starts_with("__Py")
}

fn signature(image: &Image, size: u64, findings: &mut Vec<Finding>) {
    let Some(signature) = &image.signature else {
        findings.push(Finding::Unsigned);
        return;
    };
    if !signature.ad_hoc {
        findings.push(Finding::NotAdHoc);
    }
    if signature.code_limit != signature.offset {
        findings.push(Finding::SignedPart {
            covered: signature.code_limit,
            all: signature.offset,
        });
    }
    if signature.end != size {
        let end = signature.end;
        findings.push(Finding::SignatureEnd { end, file: size });
    }
    if let Some(&first) = signature.wrong.first() {
        let count = signature.wrong.len();
        findings.push(Finding::Page { count, first });
    }
}

/// One finding for each text that may not be there.
fn paths(bytes: &[u8], promise: &Promise, findings: &mut Vec<Finding>) {
    let given = promise.forbidden.iter().map(String::as_str);
    for text in HOMES.into_iter().chain(given) {
        if text.is_empty() {
            continue;
        }
        let mut windows = bytes.windows(text.len());
        if let Some(at) = windows.position(|window| window == text.as_bytes()) {
            let found = surroundings(bytes, at);
            findings.push(Finding::Path { found, at });
        }
    }
}

/// The printable text around a place.
fn surroundings(bytes: &[u8], at: usize) -> String {
    let printable = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let before = bytes[..at].iter().rev().take(SHOWN / 2);
    let begin = at - before.take_while(printable).count();
    let after = bytes[at..].iter().take(SHOWN).take_while(printable).count();
    String::from_utf8_lossy(&bytes[begin..at + after]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(numbers("13.0.0"), numbers("13"));
        assert!(numbers("13.1") > numbers("13.0"));
        assert!(numbers("9.0") < numbers("13.0"));
        assert_ne!(numbers("x"), numbers("0"));
    }

    #[test]
    fn surroundings_end_at_what_is_not_text() {
        let bytes = b"\x01\x02src at /home/me/x.rs:1\x00other";
        let at = 9;
        assert_eq!(surroundings(bytes, at), "src at /home/me/x.rs:1");
    }
}
