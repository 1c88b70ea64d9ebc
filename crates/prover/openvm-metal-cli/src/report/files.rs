//! The two files of a report, written anew after each change: they are whole whatever happens.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use openvm_metal_sdk::files::write_whole;

use super::data::Report;
use super::markdown;
use crate::error::{CliError, Result};
use crate::file;

/// Files of a report.
pub struct Files {
    /// The file for people.
    pub markdown: PathBuf,
    /// The file for programs.
    pub json: PathBuf,
    /// The first error after the start, for example of a full disk.
    pub error: Option<CliError>,
}

impl Files {
    /// `STEM.md` and `STEM.json`, which are not touched yet.
    ///
    /// # Errors
    /// [`CliError::Write`] for a file that cannot be written.
    pub fn new(stem: &Path) -> Result<Self> {
        let name = |extension: &str| {
            let mut name = OsString::from(stem);
            name.push(extension);
            PathBuf::from(name)
        };
        let files = Self {
            markdown: name(".md"),
            json: name(".json"),
            error: None,
        };
        file::probe(&files.markdown)?;
        file::probe(&files.json)?;
        Ok(files)
    }

    /// Writes both files, each in one step; keeps the first error.
    pub fn update(&mut self, report: &Report) {
        if let Err(error) = self.write(report) {
            self.error.get_or_insert(error);
        }
    }

    fn write(&self, report: &Report) -> Result<()> {
        let json_name = self.json.file_name().unwrap_or_default().to_string_lossy();
        let text = markdown::render(report, &json_name);
        let json = serde_json::to_string_pretty(report)?;
        for (path, text) in [(&self.markdown, text), (&self.json, json)] {
            write_whole(path, text.as_bytes()).map_err(|source| CliError::Write {
                path: path.display().to_string(),
                source,
            })?;
        }
        Ok(())
    }
}
