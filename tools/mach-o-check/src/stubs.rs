//! Exports of the system's libraries: text stubs as a linker reads them, in version 5 of the format, which is JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Errors of stubs.
#[derive(Debug, thiserror::Error)]
pub enum StubError {
    /// A file or folder that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
    /// A file that is no stub.
    #[error("{} is no text stub of version 5: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A folder without stubs.
    #[error("there is no .tbd file under {}", .0.display())]
    Empty(PathBuf),
}

/// Symbols of libraries, by install name.
#[derive(Clone, Debug, Default)]
pub struct Stubs {
    libraries: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Deserialize)]
struct File {
    tapi_tbd_version: u32,
    main_library: Library,
}

#[derive(Deserialize)]
struct Library {
    install_names: Vec<InstallName>,
    #[serde(default)]
    exported_symbols: Vec<Exports>,
}

#[derive(Deserialize)]
struct InstallName {
    name: String,
}

#[derive(Deserialize)]
struct Exports {
    #[serde(default)]
    text: Names,
    #[serde(default)]
    data: Names,
}

#[derive(Default, Deserialize)]
struct Names {
    #[serde(default)]
    global: Vec<String>,
    #[serde(default)]
    thread_local: Vec<String>,
}

impl Stubs {
    /// Reads every `.tbd` file below a folder.
    ///
    /// # Errors
    /// [`StubError`] if there is none, or one cannot be read.
    pub fn read(folder: &Path) -> Result<Self, StubError> {
        let mut stubs = Self::default();
        stubs.add(folder)?;
        if stubs.libraries.is_empty() {
            return Err(StubError::Empty(folder.to_owned()));
        }
        Ok(stubs)
    }

    fn add(&mut self, folder: &Path) -> Result<(), StubError> {
        let unreadable = |source| StubError::Read {
            path: folder.to_owned(),
            source,
        };
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                self.add(&path)?;
            } else if path.extension().is_some_and(|e| e == "tbd") {
                let text = std::fs::read_to_string(&path).map_err(|source| StubError::Read {
                    path: path.clone(),
                    source,
                })?;
                let parsed = self.parse(&text);
                parsed.map_err(|reason| StubError::Format { path, reason })?;
            }
        }
        Ok(())
    }

    /// Adds the library of one stub file.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(&mut self, text: &str) -> Result<(), String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.tapi_tbd_version != 5 {
            return Err(format!("it is of version {}", file.tapi_tbd_version));
        }
        let symbols: BTreeSet<String> = file
            .main_library
            .exported_symbols
            .into_iter()
            .flat_map(|exports| [exports.text, exports.data])
            .flat_map(|names| names.global.into_iter().chain(names.thread_local))
            .collect();
        let [install] = &file.main_library.install_names[..] else {
            return Err("it names not exactly one library".into());
        };
        let known = self.libraries.entry(install.name.clone()).or_default();
        known.extend(symbols);
        Ok(())
    }

    /// True if there is a stub of this library.
    pub fn has_library(&self, install_name: &str) -> bool {
        self.libraries.contains_key(install_name)
    }

    /// True if the library has the symbol.
    pub fn has(&self, install_name: &str, symbol: &str) -> bool {
        let library = self.libraries.get(install_name);
        library.is_some_and(|symbols| symbols.contains(symbol))
    }

    /// All symbols with the library that has them.
    pub fn symbols(&self) -> impl Iterator<Item = (&str, &str)> {
        self.libraries.iter().flat_map(|(library, symbols)| {
            symbols
                .iter()
                .map(move |symbol| (library.as_str(), symbol.as_str()))
        })
    }
}
