//! Mapping a file into memory: one of the workspace's two written exceptions to `unsafe_code = "deny"`.

#![expect(
    unsafe_code,
    reason = "mapping a file is the only way to serve pictures without reading them first"
)]

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

/// Maps a whole file, read-only. The bytes stay valid after the file is renamed or removed.
///
/// The file must not be edited or cut in place while it is mapped; replace it by renaming another over it, as
/// the indexer and [`publish`](crate::publish()) do.
pub fn map_file(path: &Path) -> io::Result<Bytes> {
    // Asked before opening: opening a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: a mapping is sound as long as nobody changes the file underneath it. Archives are immutable: every
    // program of this workspace writes them to a temporary name and renames, so that a mapped file keeps its
    // bytes for as long as the mapping lives. Editing or truncating a mapped archive in place by other means is
    // unsupported, as documented above and in the operator's README. Content is verified against the hash tree
    // before use, and everything that unchecked access relies on (root and pages) is copied to owned memory
    // first, so a change in place could at worst yield wrong picture bytes or a bus error, never a wild pointer.
    let mapping = unsafe { Mmap::map(&file)? };
    Ok(Bytes::from_owner(mapping))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_outlives_the_name_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"waka").unwrap();
        let mapped = map_file(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapped, "waka");
    }

    #[test]
    fn an_empty_file_maps_to_no_bytes_and_a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"").unwrap();
        assert!(map_file(&path).unwrap().is_empty());
        assert_eq!(map_file(folder.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
