//! The two files of a report: written anew after each change, so that they are there whatever happens.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use openvm_metal_sdk::files::write_whole;

use super::data::Report;
use super::markdown;
use crate::error::{CliError, Result};
use crate::file;

/// Files of a report.
pub struct Files {
    markdown: PathBuf,
    json: PathBuf,
    /// The first error after the start, for example of a full disk.
    error: Option<CliError>,
}

impl Files {
    /// `STEM.md` and `STEM.json`. Makes sure that both can be written; what stands there stays for now.
    ///
    /// # Errors
    /// [`CliError::Write`] for the file that cannot be.
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
        for path in [&files.markdown, &files.json] {
            file::probe(path)?;
        }
        Ok(files)
    }

    /// Name of the file for people.
    pub fn markdown(&self) -> String {
        self.markdown.display().to_string()
    }

    /// Name of the file for programs.
    pub fn json(&self) -> String {
        self.json.display().to_string()
    }

    /// Writes both files.
    pub fn update(&mut self, report: &Report) {
        if let Err(error) = self.write(report) {
            self.error.get_or_insert(error);
        }
    }

    /// The error that kept a report from being written, if there was one.
    pub fn error(&mut self) -> Option<CliError> {
        self.error.take()
    }

    fn write(&self, report: &Report) -> Result<()> {
        let json_name = self.json.file_name().unwrap_or_default().to_string_lossy();
        let text = markdown::render(report, &json_name);
        let json = serde_json::to_string_pretty(report)?;
        for (path, text) in [(&self.markdown, text), (&self.json, json)] {
            // Readers see the old file or the new one, after a power cut too.
            write_whole(path, text.as_bytes()).map_err(|source| CliError::Write {
                path: path.display().to_string(),
                source,
            })?;
        }
        Ok(())
    }
}
