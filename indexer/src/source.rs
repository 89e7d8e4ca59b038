//! What an archive is taken from, wherever a verb accepts more than a file: a collection that is built first, an archive,
//! or what a store serves.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use wakashu_archive::{
    Archive, ArchiveError, ArchivedChunk, ArchivedRendition, Column, ColumnName, ContentHash, Damage,
    PageView, Part, Reference, Span, TAIL_BYTES, decode_picture,
};
use wakashu_storage::{
    Fetched, LocalFile, Location, Object, OpenError, POINTER_KEY, Pointer, StorageError, Timestamp,
    archive_key, spool_in,
};

use crate::cli::BuildingArguments;
use crate::cmd::build::{self, BuildRequest, Purpose};
use crate::output::Output;
use crate::problem::{Problem, printable_path};
use crate::report::Report;

/// How much of a remote archive is fetched at a time.
const BLOCK_BYTES: u64 = 4 << 20;

/// An archive on this machine, and where it came from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) archive: Archive,
    pub(crate) file: LocalFile,
    /// When it was published, where a store said so.
    pub(crate) published_at: Option<Timestamp>,
}

/// What was named, as a file; and what was found wrong with the collection it was built from.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// `None` if problems of the collection stopped the build.
    pub(crate) file: Option<LocalFile>,
    pub(crate) published_at: Option<Timestamp>,
    pub(crate) problems: Vec<Problem>,
}

/// Builds a collection into a file that has no name: it is gone by itself however this program ends.
pub(crate) fn build_unnamed(
    wakashu_dir: PathBuf,
    building: &BuildingArguments,
    report: &Report,
) -> anyhow::Result<Prepared> {
    let output = Output::Unnamed(std::env::temp_dir());
    let mut request = BuildRequest::new(wakashu_dir, output).with_pictures(&building.pictures);
    request.strict = building.strict;
    let outcome = build::build(&request, report)?;
    build::describe(&outcome, &request, Purpose::Store, report);
    let usable = !outcome.tally.fails(building.strict);
    let file = match outcome.unnamed.filter(|_| usable).and_then(Arc::into_inner) {
        Some(file) => Some(LocalFile::of(file, &request.wakashu_dir)?),
        None => None,
    };
    Ok(Prepared { file, published_at: None, problems: outcome.problems })
}

/// Opens the archive file that was named.
pub(crate) fn open_file(path: &Path) -> anyhow::Result<LocalFile> {
    LocalFile::open(path).with_context(|| format!("could not open `{}`", printable_path(path)))
}

/// An archive is taken as it is; options that would have changed it must not seem to work.
pub(crate) fn refuse_options_of_building(named: &str, building: &BuildingArguments) -> anyhow::Result<()> {
    let given = building.given();
    anyhow::ensure!(
        given.is_empty(),
        "`{named}` is an archive, and `{}` only matters when a collection is built; \
         leave it out, or name the collection's directory",
        given.join("`, `")
    );
    Ok(())
}

/// Tells whether a directory is a collection rather than a store.
pub(crate) fn is_collection(path: &Path) -> bool {
    path.is_dir() && !path.join(POINTER_KEY).is_file()
}

/// Returns the archive that was named: of a collection, a file or a store.
pub(crate) async fn prepare(
    named: &str,
    building: &BuildingArguments,
    report: &Report,
) -> anyhow::Result<Prepared> {
    let path = Path::new(named);
    if is_collection(path) {
        let (path, building, report) = (path.to_owned(), building.clone(), report.clone());
        let built = tokio::task::spawn_blocking(move || build_unnamed(path, &building, &report)).await?;
        return built;
    }
    refuse_options_of_building(named, building)?;
    if path.is_file() {
        return Ok(Prepared { file: Some(open_file(path)?), published_at: None, problems: Vec::new() });
    }
    let location: Location = named.parse()?;
    let store = location.open().await?;
    let (object, bytes, published_at) = if let Some(key) = location.archive() {
        let object = store.object(key, None).await?;
        let bytes = object.tail(TAIL_BYTES).await?.total_length;
        (object, bytes, None)
    } else {
        let Fetched::Changed { value: Pointer { current, .. }, .. } =
            Pointer::read(store.as_ref(), None).await?
        else {
            return Err(StorageError::NothingPublished { store: store.describe() }.into());
        };
        let object = store.object(&archive_key(current.digest), Some(current.bytes)).await?;
        (object, current.bytes, Some(current.published_at))
    };
    let file = fetch(object.as_ref(), bytes, named).await?;
    Ok(Prepared { file: Some(file), published_at, problems: Vec::new() })
}

/// Copies an object into a file without a name, which errors call `named`.
pub(crate) async fn fetch(object: &dyn Object, bytes: u64, named: &str) -> Result<LocalFile, StorageError> {
    let folder = std::env::temp_dir();
    let io_error = |verb| {
        let path = folder.clone();
        move |source| StorageError::Io { verb, path, source }
    };
    let mut file: File = spool_in(&folder).map_err(io_error("create a file in"))?;
    let mut offset = 0;
    while offset < bytes {
        let length = BLOCK_BYTES.min(bytes - offset);
        let block = object.read(Span { offset, length }).await?;
        file.write_all(&block).map_err(io_error("write a file in"))?;
        offset += length;
    }
    LocalFile::of(file, Path::new(named)).map_err(io_error("inspect a file in"))
}

impl Source {
    pub(crate) fn open(file: LocalFile, published_at: Option<Timestamp>) -> Result<Self, OpenError> {
        Ok(Self { archive: Archive::open(&file)?, file, published_at })
    }

    pub(crate) fn digest(&self) -> ContentHash {
        self.archive.digest()
    }

    /// Reads the page of a chunk.
    pub(crate) fn page(&self, chunk: &ArchivedChunk) -> Result<PageView, OpenError> {
        Ok(self.archive.page(chunk, self.file.read_blocking(chunk.page.span())?)?)
    }

    /// Reads a search column, if the archive has it.
    pub(crate) fn column(&self, name: ColumnName) -> Result<Option<Column>, OpenError> {
        let Some(reference) = self.archive.column(name) else { return Ok(None) };
        let bytes = self.file.read_blocking(reference.span())?;
        Ok(Some(Column::open(&reference, &bytes, self.archive.root().entries.to_native())?))
    }

    /// Reads the picture file of a rendition.
    pub(crate) fn rendition(&self, rendition: &ArchivedRendition) -> Result<Vec<u8>, OpenError> {
        let Span { offset, length } = rendition.span();
        self.picture(&Reference { offset, length, hash: rendition.hash() })
    }

    /// Reads a picture file by where it is stored.
    pub(crate) fn picture(&self, stored: &Reference) -> Result<Vec<u8>, OpenError> {
        let bytes = self.file.read_blocking(stored.span())?;
        let damaged = |damage| ArchiveError::Damaged { part: Part::Picture, offset: stored.offset, damage };
        let found = ContentHash::of(&bytes);
        if found != stored.hash {
            return Err(damaged(Damage::Hash { expected: stored.hash, found }).into());
        }
        let picture = decode_picture(&bytes);
        Ok(picture.ok_or_else(|| damaged(Damage::Rule("a rendition is not plain base64")))?)
    }
}
