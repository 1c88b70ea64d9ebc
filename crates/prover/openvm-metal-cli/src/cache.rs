//! `openvm-metal cache`: what earlier processes left in the cache folder.

use std::{path::PathBuf, time::SystemTime};

use clap::{Args, Subcommand};
use openvm_metal_sdk::{Cache, CacheEntry, CacheKind, SdkError};
use serde::Serialize;

use crate::{error::Result, table};

#[derive(Subcommand, Debug)]
pub enum CacheCommand {
    /// List the entries by kind: number, size, age.
    List(ListArgs),
    /// Remove all entries. They are made again when they are needed.
    Clear(ListArgs),
}

#[derive(Args, Debug)]
pub struct ListArgs {
    /// Print one JSON object, with every file, instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    folder: PathBuf,
    bytes: u64,
    entries: Vec<CacheEntry>,
}

impl Listing {
    fn new(folder: PathBuf, entries: Vec<CacheEntry>) -> Self {
        Self {
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
            folder,
            entries,
        }
    }
}

/// Runs `openvm-metal cache`.
///
/// # Errors
/// A cache that the environment turns off or that other users can write to, and a file that cannot be removed.
pub fn run(command: &CacheCommand) -> Result<()> {
    let folder = Cache::user_folder().map_err(SdkError::from)?;
    match command {
        CacheCommand::List(args) => {
            let entries = Cache::list(&folder).map_err(SdkError::from)?;
            list(args, &Listing::new(folder, entries))
        }
        CacheCommand::Clear(args) => {
            let entries = Cache::clear(&folder).map_err(SdkError::from)?;
            let listing = Listing::new(folder, entries);
            if args.json {
                return table::json(&listing);
            }
            let (folder, count) = (listing.folder.display(), listing.entries.len());
            let mib = mib(listing.bytes);
            table::line(format!("{folder}: {count} files removed, {mib} MiB"))
        }
    }
}

fn list(args: &ListArgs, listing: &Listing) -> Result<()> {
    if args.json {
        return table::json(listing);
    }
    let header = ["kind", "files", "MiB", "last used", "oldest"];
    let mut table = table::table(&header, &[1, 2, 3, 4]);
    for kind in CacheKind::ALL {
        let entries = listing.entries.iter().filter(|entry| entry.kind == kind);
        let times: Vec<SystemTime> = entries.clone().map(|entry| entry.used).collect();
        let age = |time: Option<&SystemTime>| time.map_or("-".into(), |&time| age(time));
        table.add_row([
            kind.name().to_owned(),
            times.len().to_string(),
            mib(entries.map(|entry| entry.bytes).sum()),
            age(times.iter().max()),
            age(times.iter().min()),
        ]);
    }
    table::line(table)?;
    let (folder, mib) = (listing.folder.display(), mib(listing.bytes));
    table::line(format!("{folder}: {mib} MiB"))
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// The time since then, in the largest unit that it fills.
fn age(time: SystemTime) -> String {
    let seconds = time.elapsed().map_or(0, |since| since.as_secs());
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let of = |seconds| age(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(
            [of(59), of(60), of(7300), of(86_400 * 40)],
            ["59 s", "1 min", "2 h", "40 d"]
        );
        let future = SystemTime::now() + Duration::from_secs(100);
        assert_eq!(age(future), "0 s");
    }
}
