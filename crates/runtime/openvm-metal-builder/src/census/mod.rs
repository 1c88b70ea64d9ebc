//! Constructs that Apple's compiler accepts, checked on machines without it.
//!
//! A unit is parsed by clang as C++14 with nothing but Apple's library declared (`flat-parse`), the tree is checked for
//! constructs that Metal does not have (`rules`) and for control flow that its GPUs treat otherwise (`flow`), and each of its
//! constructs, as a normalised key, must be one that public code or the specification proves (`census`). See `docs/reference/census.md`.

mod ast;
mod clang;
mod flow;
mod index;
mod keys;
mod proofs;
mod report;
mod rules;
mod source;
mod spaces;
mod types;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread,
};

use serde::Deserialize as _;

use self::{ast::Node, index::Index, source::Source};
pub use self::{
    keys::Place,
    proofs::{Proof, Proofs},
    report::{Broken, Key, Report, REMEDY},
};
use crate::{
    builder::units,
    cache,
    compiler::Compiler,
    error::{BuildError, Finding},
    lexer::Tokens,
    lint, scan, scope, target_apple,
    toolchain::Toolchain,
};

/// Constructs of one unit.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// The constructs, each with the place where it stands first; not all of them if the unit does not parse.
    pub keys: BTreeMap<String, Place>,
    /// Rules that it breaks, but for missing proofs.
    pub findings: Vec<Finding>,
}

impl Unit {
    /// Adds findings of the tokens, but for what the tree said of the same line.
    fn add(&mut self, of_tokens: Vec<Finding>) {
        let name = |f: &Finding| Path::new(&f.file).file_name().map(ToOwned::to_owned);
        let same =
            |a: &Finding, b: &Finding| (a.rule, a.line, name(a)) == (b.rule, b.line, name(b));
        let said = |f: &Finding| self.findings.iter().any(|known| same(known, f));
        let other: Vec<Finding> = of_tokens.into_iter().filter(|f| !said(f)).collect();
        self.findings.extend(other);
    }
}

/// Stack of the thread that reads a tree: long expressions are deep.
const STACK: usize = 256 << 20;

/// True if units can be parsed with this compiler: only clang prints its tree.
pub fn available(compiler: &Compiler) -> bool {
    compiler.is_clang()
}

/// Parses and checks one unit, given as the text that Apple's compiler gets.
///
/// # Errors
/// [`BuildError::Tool`] if clang cannot be run or its tree cannot be read. What is wrong with the unit is in [`Unit::findings`].
pub fn unit(compiler: &Compiler, apple: &Tokens) -> Result<Unit, BuildError> {
    let source = Source::new(apple);
    let parsed = clang::parse(compiler, source.text.clone(), true)?;
    let read = || -> Result<Unit, BuildError> {
        // After some errors there is no tree.
        if parsed.json.is_empty() {
            let findings = parsed.findings.clone();
            return Ok(Unit {
                findings,
                ..Unit::default()
            });
        }
        let mut json = serde_json::Deserializer::from_str(&parsed.json);
        json.disable_recursion_limit();
        let mut root = Node::deserialize(&mut json).map_err(|e| BuildError::Tool {
            tool: compiler.program.clone(),
            message: format!("its syntax tree cannot be read: {e}"),
        })?;
        let index = Index::new(&root, &source);
        let mut findings = rules::check(&root, &source, &index);
        findings.extend(
            parsed
                .findings
                .iter()
                .filter(|f| !is_shared(f, &source))
                .cloned(),
        );
        let keys = keys::keys(&root, &source, &index);
        flow::name_objects(&mut root, &source, &index);
        findings.extend(rules::flow(&root, &source, &index));
        Ok(Unit { keys, findings })
    };
    thread::scope(|s| {
        let worker = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(s, read);
        let worker = worker.map_err(|e| BuildError::io("a thread for clang's tree", e))?;
        match worker.join() {
            Ok(unit) => unit,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// True for a warning about the value of a threadgroup variable, which another thread may have set.
fn is_shared(f: &Finding, s: &Source<'_>) -> bool {
    let name = f
        .message
        .strip_prefix("variable '")
        .and_then(|rest| rest.split('\'').next());
    let t = s.t;
    f.rule == clang::UNDEFINED
        && name.is_some_and(|name| {
            (0..t.len())
                .any(|i| t.at(i) == name && t.at(scope::statement_start(t, i)) == "threadgroup")
        })
}

/// A source to check.
#[derive(Clone, Debug)]
pub enum Input {
    /// A `.metal` file.
    File {
        /// Folder for its includes, besides its own folder.
        root: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// Text as Apple's compiler gets it, made at run time.
    Text {
        /// Stands for the file in reports.
        name: String,
        /// The text, with no macros but those of Apple's library.
        text: String,
    },
}

impl Input {
    /// All `.metal` files in and below `root`.
    ///
    /// # Errors
    /// [`BuildError::Io`] if a folder cannot be read.
    pub fn folder(root: &Path) -> Result<Vec<Self>, BuildError> {
        let mut files = Vec::new();
        units::metal_files(root, &mut files)?;
        files.sort();
        let input = |file| Self::File {
            root: root.to_path_buf(),
            file,
        };
        Ok(files.into_iter().map(input).collect())
    }

    fn name(&self) -> String {
        match self {
            Self::File { root, file } => file
                .strip_prefix(root)
                .unwrap_or(file)
                .display()
                .to_string(),
            Self::Text { name, .. } => name.clone(),
        }
    }
}

/// Checks units with every rule of the lint, the rules here and the census, several units at a time.
///
/// # Errors
/// What keeps a unit from being read at all, such as a folder that cannot be written. What is wrong with a unit is in
/// [`Report::findings`].
pub fn check(tools: &Toolchain, inputs: &[Input]) -> Result<Report, BuildError> {
    report(tools, inputs, false)
}

/// Does the work of [`check`] with the keys of units that do not parse wholly: for files that Apple's compiler is known to accept.
///
/// # Errors
/// As [`check`].
pub fn check_all(tools: &Toolchain, inputs: &[Input]) -> Result<Report, BuildError> {
    report(tools, inputs, true)
}

fn report(tools: &Toolchain, inputs: &[Input], all: bool) -> Result<Report, BuildError> {
    let results = cache::parallel(inputs.len(), |i| one(tools, &inputs[i]));
    let units: Vec<Unit> = results.into_iter().collect::<Result<_, _>>()?;
    let names: Vec<String> = inputs.iter().map(Input::name).collect();
    let named = names.iter().map(String::as_str).zip(&units);
    Ok(Report::new(named, &Proofs::built_in(), all))
}

fn one(tools: &Toolchain, input: &Input) -> Result<Unit, BuildError> {
    let (root, file) = match input {
        Input::File { root, file } => (root, file),
        Input::Text { text, .. } => {
            let t = Tokens::new(text.clone());
            let mut unit = unit(tools.compiler(), &t)?;
            unit.add(lint::tokens(&t, &scan::scan(&t)));
            return Ok(unit);
        }
    };
    let read = tools
        .lint(root, file)
        .and_then(|l| Ok((l, tools.apple_text(root, file)?)));
    let (findings, text) = match read {
        Ok(found) => found,
        // A file that cannot even be preprocessed.
        Err(BuildError::Compile { messages, .. }) => {
            let findings = clang::findings(&messages);
            return Ok(Unit {
                findings,
                ..Unit::default()
            });
        }
        Err(e) => return Err(e),
    };
    let apple = Tokens::new(target_apple::embedded(&text.tokens));
    let mut unit = unit(tools.compiler(), &apple)?;
    // The tree and the tokens may say the same.
    let said = |f: &Finding| {
        unit.findings
            .iter()
            .any(|u| u.rule == f.rule && u.line == f.line)
    };
    let other: Vec<Finding> = findings.into_iter().filter(|f| !said(f)).collect();
    unit.findings.extend(other);
    Ok(unit)
}
