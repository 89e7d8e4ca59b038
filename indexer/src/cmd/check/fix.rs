//! What `--fix` does: every change that needs no guess, shown, with what it replaced kept.
//!
//! A killed run loses nothing. New text is written beside the old under a hidden name, the old is kept under another
//! hidden name, then the new one takes its place in one step. A name is never given to what would replace another file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use wakashu_archive::ContentHash;
use wakashu_storage::{TemporaryFile, folder_of};

use crate::begun::rename_without_replacing;
use crate::problem::{Edit, Fix, Problem, printable, printable_path};
use crate::report::Report;
use crate::walk::{encoding, syntax};
use crate::words::json::Encoding;
use crate::words::{Remark, talk};

/// Makes the changes that `problems` name and tells each of them. Returns how many were made or, on a dry run, would be.
pub(super) fn apply(collection: &Path, problems: &[Problem], dry_run: bool, report: &Report) -> usize {
    let mut rewrites: BTreeMap<&Path, (ContentHash, Vec<Edit>)> = BTreeMap::new();
    let mut renames: Vec<(&Path, &str)> = Vec::new();
    for problem in problems {
        match problem.fix.as_deref() {
            Some(Fix::Rewrite { path, before, edits }) => {
                let (_, all) = rewrites.entry(path).or_insert_with(|| (*before, Vec::new()));
                all.extend(edits.iter().cloned());
            }
            Some(Fix::Rename { from, to }) => renames.push((from.as_path(), to.as_str())),
            None => {}
        }
    }
    let mut made = 0;
    for (path, (before, edits)) in rewrites {
        let told = rewrite(collection, path, before, &edits, dry_run, report);
        made += usize::from(done(&told, path, report));
    }
    // The deepest first: the paths of what is inside a directory name the directory as it was.
    renames.sort_by_key(|(from, _)| std::cmp::Reverse(from.components().count()));
    for (from, to) in renames {
        let told = rename(collection, from, to, dry_run, report);
        made += usize::from(done(&told, from, report));
    }
    made
}

fn done(told: &Result<(), Remark>, path: &Path, report: &Report) -> bool {
    if let Err(reason) = told {
        let reason = reason.said(report.language());
        report.remark(&talk::not_fixed(&printable_path(path), reason));
    }
    told.is_ok()
}

fn rename(collection: &Path, from: &Path, to: &str, dry_run: bool, report: &Report) -> Result<(), Remark> {
    let target = from.with_file_name(to);
    let (old, new) = (collection.join(from), collection.join(&target));
    if new.symlink_metadata().is_ok() && !is_same(&old, &new) {
        return Err(talk::name_is_taken(to));
    }
    report.remark(&talk::renamed(&printable_path(from), &printable_path(&target)));
    if dry_run {
        return Ok(());
    }
    rename_without_replacing(&old, &new).map_err(|error| failed(&error))
}

/// Tells whether two names are one file, as where letter case does not count.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn rewrite(
    collection: &Path,
    path: &Path,
    before: ContentHash,
    edits: &[Edit],
    dry_run: bool,
    report: &Report,
) -> Result<(), Remark> {
    let file = collection.join(path);
    let bytes = fs::read(&file).map_err(|error| failed(&error))?;
    if ContentHash::of(&bytes) != before {
        return Err(talk::changed_meanwhile());
    }
    let Some((text, encoding)) = encoding::decode_for_fix(&bytes) else {
        return Err(talk::changed_meanwhile());
    };
    let after = syntax::edited(&text, edits);
    report.remark(&talk::rewritten(&printable_path(path), encoding.map(Encoding::name)));
    let difference = difference(&text, &after);
    if !difference.is_empty() {
        report.note(difference.trim_end());
    }
    if dry_run {
        return Ok(());
    }
    let mark: &[u8] = if bytes.starts_with(b"\xef\xbb\xbf") { b"\xef\xbb\xbf" } else { b"" };
    let kept = replace(&file, &bytes, &[mark, after.as_bytes()].concat()).map_err(|error| failed(&error))?;
    report.remark(&talk::kept_as(&printable_path(&path.with_file_name(kept))));
    Ok(())
}

/// Puts `new` in the place of `file`, whose bytes are `old`, and returns the hidden name under which they are kept.
fn replace(file: &Path, old: &[u8], new: &[u8]) -> io::Result<OsString> {
    let folder = folder_of(file);
    let kept = keep(file, old)?;
    let mut written = TemporaryFile::create_in(folder)?;
    written.write_all(new)?;
    if let Ok(metadata) = fs::metadata(file) {
        let _ = fs::set_permissions(written.path(), metadata.permissions());
    }
    written.keep(file)?;
    Ok(kept.file_name().unwrap_or_default().to_owned())
}

/// Keeps a copy of a file under the first hidden name that is free.
fn keep(file: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let name = file.file_name().unwrap_or_default();
    let mut number = 1_u32;
    loop {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".before-{number}"));
        let kept = file.with_file_name(hidden);
        if fs::read(&kept).is_ok_and(|there| there == bytes) {
            // A run before this one got so far.
            return Ok(kept);
        }
        let mut copy = TemporaryFile::create_in(folder_of(file))?;
        copy.write_all(bytes)?;
        match copy.keep_new(&kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            result => return result.map(|()| kept),
        }
    }
}

fn failed(error: &io::Error) -> Remark {
    talk::system_says(error)
}

/// Shows the lines that differ, each before and after.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = |lines: &[&str]| lines.len() - same_start;
    let same_end = old.iter().rev().zip(new.iter().rev()).take(rest(&old).min(rest(&new)));
    let same_end = same_end.take_while(|(one, other)| one == other).count();
    let changed = |lines: &[&str], mark: char| -> String {
        let changed = lines.iter().take(lines.len() - same_end).enumerate().skip(same_start);
        changed
            .map(|(at, line)| format!("  {:>4} {mark} {}\n", at + 1, printable(line)))
            .collect::<Vec<_>>()
            .concat()
    };
    let (old_lines, new_lines) = (changed(&old, '-'), changed(&new, '+'));
    if old.len() != new.len() {
        return old_lines + &new_lines;
    }
    // As many lines as before: only those that differ, side by side.
    let pairs = old_lines.lines().zip(new_lines.lines());
    let differing = pairs.filter(|(one, other)| one.replacen(" - ", " + ", 1) != **other);
    differing.map(|(one, other)| format!("{one}\n{other}\n")).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_are_shown() {
        assert_eq!(
            difference("a\nb\nc\nd\n", "a\nB\nc\nD\n"),
            "     2 - b\n     2 + B\n     4 - d\n     4 + D\n"
        );
        assert_eq!(difference("a\nb\nc\n", "a\nb c\n"), "     2 - b\n     3 - c\n     2 + b c\n");
        assert_eq!(difference("a\u{1b}\n", "b\n"), "     1 - a\\u{1b}\n     1 + b\n");
        assert_eq!(difference("a", "a"), "");
    }

    #[test]
    fn what_is_replaced_is_kept_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("TextData1.json");
        fs::write(&file, "one").unwrap();
        assert_eq!(replace(&file, b"one", b"two").unwrap(), ".TextData1.json.before-1");
        assert_eq!(replace(&file, b"two", b"three").unwrap(), ".TextData1.json.before-2");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("TextData1.json"), "three");
        assert_eq!(
            (read(".TextData1.json.before-1"), read(".TextData1.json.before-2")),
            ("one".into(), "two".into())
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_name_that_is_taken_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["０1-a", "1-a"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let told = rename(folder.path(), Path::new("０1-a"), "1-a", false, &Report::silent());
        assert_eq!(told.unwrap_err().en, "`1-a` is there already");
        assert!(folder.path().join("０1-a").is_dir());
        #[cfg(target_os = "linux")]
        assert!(rename_without_replacing(&folder.path().join("０1-a"), &folder.path().join("1-a")).is_err());
    }
}
