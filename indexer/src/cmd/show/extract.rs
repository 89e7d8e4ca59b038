//! Pictures back to files. Names are made of numbers and our own words, never of the archive's text.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use wakashu_archive::{
    Archive, ArchivedEntry, ArchivedRendition, ArchivedRound, MAX_RANK, Size, decode_picture,
    verify_original, verify_rendition,
};

use crate::archive_file::ArchiveFile;
use crate::problem::{Problem, printable_path};
use crate::words::archive::not_shown;

/// Takes pictures out of an archive.
pub(super) struct Extraction<'a> {
    pub(super) file: &'a ArchiveFile,
    pub(super) archive: &'a Archive,
    pub(super) directory: &'a Path,
}

impl Extraction<'_> {
    /// Writes the pictures of all rounds, of one, or of one rank; returns the files and what went wrong.
    ///
    /// A damaged picture is named and passed over. A file that is there with other bytes is not overwritten.
    pub(super) fn run(
        &self,
        only: Option<&ArchivedRound>,
        rank: Option<u32>,
    ) -> anyhow::Result<(Vec<String>, Vec<Problem>)> {
        let (mut paths, mut problems) = (Vec::new(), Vec::new());
        let (first, last) = rank.map_or((1, MAX_RANK), |rank| (rank, rank));
        for (position, round) in self.archive.root().rounds.iter().enumerate() {
            if only.is_some_and(|only| only.key.as_str() != round.key.as_str()) {
                continue;
            }
            let directory = self.directory.join(match round.number.as_ref() {
                Some(number) => format!("round-{number:04}"),
                None => format!("other-{:04}", position + 1),
            });
            for chunk in round.chunks_with(first, last) {
                let page = match self.file.page(self.archive, chunk) {
                    Ok(page) => page,
                    Err(error) => {
                        let place =
                            format!("{} {}-{}", round.title.as_str(), chunk.first_rank, chunk.last_rank);
                        problems.push(Problem::error(place, not_shown(&error.to_string())));
                        continue;
                    }
                };
                for entry in page.entries_between(first, last) {
                    self.extract_entry(entry, &directory, &mut paths, &mut problems)?;
                }
            }
        }
        Ok((paths, problems))
    }

    fn extract_entry(
        &self,
        entry: &ArchivedEntry,
        directory: &Path,
        paths: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> anyhow::Result<()> {
        let Some(picture) = entry.picture.as_ref() else { return Ok(()) };
        fs::create_dir_all(directory)
            .with_context(|| format!("could not make `{}`", printable_path(directory)))?;
        for (size, rendition) in picture.as_ref().iter() {
            let rank = entry.rank.to_native();
            let extension = rendition.media_type().extension();
            let path = directory.join(format!("{rank:06}-{}.{extension}", size.as_str()));
            match self.picture_bytes(rendition, size).and_then(|bytes| keep(&path, &bytes)) {
                Ok(()) => paths.push(printable_path(&path)),
                Err(message) => problems.push(Problem::error(PathBuf::from(&path), not_shown(&message))),
            }
        }
        Ok(())
    }

    fn picture_bytes(&self, rendition: &ArchivedRendition, size: Size) -> Result<Vec<u8>, String> {
        let stored = self.file.stored(rendition).map_err(|error| error.to_string())?;
        if size == Size::Original {
            verify_original(rendition, &stored).map_err(|error| error.to_string())?;
            return Ok(stored.to_vec());
        }
        verify_rendition(rendition, &stored).map_err(|error| error.to_string())?;
        decode_picture(&stored).ok_or_else(|| "base64 does not decode".to_owned())
    }
}

/// Writes a file unless it is there already; one with the same bytes is fine, another is not touched.
fn keep(path: &Path, bytes: &[u8]) -> Result<(), String> {
    match File::create_new(path) {
        Ok(mut file) => file.write_all(bytes).map_err(|error| {
            // A half-written file would be refused as different next time.
            let _ = fs::remove_file(path);
            format!("could not be written: {error}")
        }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::read(path) {
            Ok(found) if found == bytes => Ok(()),
            Ok(_) => Err("file is there with other bytes and is not overwritten".to_owned()),
            Err(error) => Err(format!("file is there and could not be read: {error}")),
        },
        Err(error) => Err(format!("could not be written: {error}")),
    }
}
