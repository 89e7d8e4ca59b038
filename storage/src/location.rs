//! Addresses: what a person writes to say where an archive or a store is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::StorageError;
use crate::folder::Folder;
use crate::key::check_key;
use crate::storage::{ReadStore, Store};
use crate::web_address::{WebAddress, without_credentials};

const ARCHIVE_EXTENSION: &str = "wakashu";

/// An address, read but not yet opened.
///
/// It names a store, `s3://bucket/prefix`, `https://host/path`, `file:///srv/poems` or a path, whose pointer says what
/// is served; or one archive in it, when it ends in `.wakashu` or is an existing file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    place: Place,
    archive: Option<String>,
}

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, or the part of it below a prefix.
    Bucket {
        /// The bucket's name.
        bucket: String,
        /// Empty, or keys' beginning without the slash that ends it.
        prefix: String,
    },
    /// A part of a web host. It can only be read.
    Web(WebAddress),
}

/// Says why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is not the address of an archive or a store: {problem}")]
pub struct LocationError {
    address: String,
    problem: &'static str,
}

impl Location {
    /// Names the store in a folder of this machine, whatever characters its path has.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::Folder(path.into()), archive: None }
    }

    /// Returns the store.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the key of the one archive the address names, if it names one rather than a store.
    #[must_use]
    pub fn archive(&self) -> Option<&str> {
        self.archive.as_deref()
    }

    /// Returns the path of the named archive or store when it is on this machine.
    #[must_use]
    pub fn local_path(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Folder(folder) => {
                Some(self.archive.as_ref().map_or(folder.clone(), |key| folder.join(key)))
            }
            Place::Bucket { .. } | Place::Web(_) => None,
        }
    }

    /// Opens the store for reading. Nothing is asked of it yet; settings of buckets are read from the environment.
    pub async fn open(&self) -> Result<Arc<dyn ReadStore>, StorageError> {
        match &self.place {
            Place::Web(address) => open_web_host(address),
            Place::Folder(_) | Place::Bucket { .. } => Ok(self.open_for_writing().await?),
        }
    }

    /// Opens the store for reading and writing. One on the web is refused.
    pub async fn open_for_writing(&self) -> Result<Arc<dyn Store>, StorageError> {
        match &self.place {
            Place::Folder(folder) => Ok(Arc::new(Folder::new(folder))),
            Place::Bucket { bucket, prefix } => open_bucket(bucket, prefix).await,
            Place::Web(address) => Err(StorageError::Setting {
                problem: format!(
                    "`{address}` can only be read; publish to a folder or a bucket, and upload or sync that to the web host"
                ),
            }),
        }
    }
}

#[cfg(feature = "s3")]
async fn open_bucket(bucket: &str, prefix: &str) -> Result<Arc<dyn Store>, StorageError> {
    let settings = crate::s3::S3Settings::from_env()?;
    Ok(Arc::new(crate::s3::Bucket::open(bucket, prefix, &settings).await?))
}

#[cfg(not(feature = "s3"))]
async fn open_bucket(_: &str, _: &str) -> Result<Arc<dyn Store>, StorageError> {
    Err(StorageError::Setting {
        problem: "this build cannot open s3:// addresses: build it with `--features s3`".to_owned(),
    })
}

#[cfg(feature = "https")]
#[expect(clippy::unnecessary_wraps, reason = "builds without the feature refuse")]
fn open_web_host(address: &WebAddress) -> Result<Arc<dyn ReadStore>, StorageError> {
    Ok(Arc::new(crate::https::WebHost::new(address.clone())))
}

#[cfg(not(feature = "https"))]
fn open_web_host(_: &WebAddress) -> Result<Arc<dyn ReadStore>, StorageError> {
    Err(StorageError::Setting {
        problem: "this build cannot open https:// addresses: build it with `--features https`".to_owned(),
    })
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let location = match text.split_once("://") {
            Some(("s3", rest)) => bucket(rest),
            Some(("file", rest)) => file_url(rest),
            Some(("https" | "http", _)) => web(text),
            Some(_) => Err("only s3://, https://, file:// and paths are known"),
            None => path(Path::new(text)),
        };
        location.map_err(|problem| LocationError { address: without_credentials(text), problem })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Folder(folder) => {
                let path = self.archive.as_ref().map_or(folder.clone(), |key| folder.join(key));
                write!(f, "{}", path.display())
            }
            Place::Bucket { bucket, prefix } => {
                write!(f, "s3://{bucket}")?;
                let parts = [Some(prefix), self.archive.as_ref()].into_iter().flatten();
                parts.filter(|part| !part.is_empty()).try_for_each(|part| write!(f, "/{part}"))
            }
            Place::Web(address) => match &self.archive {
                Some(key) => address.join(key).fmt(f),
                None => address.fmt(f),
            },
        }
    }
}

/// Reads what follows `s3://`.
fn bucket(rest: &str) -> Result<Location, &'static str> {
    if rest.contains(['?', '#']) {
        return Err(
            "an s3:// address takes no `?` or `#`; the region and endpoint come from the environment",
        );
    }
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html, with the capitals and
    // underscores that old buckets may have.
    let lettered = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !(3..=255).contains(&bucket.len()) || !bucket.bytes().all(lettered) {
        return Err(
            "a bucket's name is 3 to 63 letters, digits, dots and hyphens, as in s3://my-bucket/prefix",
        );
    }
    let key = key.trim_end_matches('/');
    if !key.is_empty() && check_key(key).is_err() {
        return Err(
            "the part after the bucket has empty, `.` or `..` parts, or characters that no key may have",
        );
    }
    let (prefix, archive) = match key.rsplit_once('/').unwrap_or(("", key)) {
        (folder, name) if is_archive_name(Path::new(name)) => (folder, Some(name.to_owned())),
        _ => (key, None),
    };
    let place = Place::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() };
    Ok(Location { place, archive })
}

/// Reads an address on the web.
fn web(text: &str) -> Result<Location, &'static str> {
    let (store, archive) = WebAddress::parse(text)?.split_archive(|name| is_archive_name(Path::new(name)))?;
    Ok(Location { place: Place::Web(store), archive })
}

/// Reads what follows `file://`.
fn file_url(rest: &str) -> Result<Location, &'static str> {
    let local = rest.strip_prefix("localhost").unwrap_or(rest);
    if !local.starts_with('/') {
        return Err("a file address is absolute and has three slashes, as in file:///srv/poems");
    }
    let decoded = percent_decoded(local).ok_or("a `%` must be followed by the two hex digits of UTF-8")?;
    path(Path::new(if cfg!(windows) { from_drive(&decoded) } else { &decoded }))
}

/// Returns the path of an address without the slash before a drive's letter: `/C:/poems` is `C:/poems`.
fn from_drive(path: &str) -> &str {
    let from_letter = path.strip_prefix('/').unwrap_or(path);
    match from_letter.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => from_letter,
        _ => path,
    }
}

fn path(path: &Path) -> Result<Location, &'static str> {
    if path.as_os_str().is_empty() {
        return Err("it is empty");
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err("a path holds no NUL");
    }
    if path.is_dir() || !(is_archive_name(path) || path.is_file()) {
        return Ok(Location::folder(path));
    }
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| check_key(name).is_ok());
    let name = name.ok_or("the archive's file name has characters that no key may have")?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(Location { archive: Some(name.to_owned()), ..Location::folder(parent) })
}

fn is_archive_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == ARCHIVE_EXTENSION)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'%' {
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
            let value = digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(digits)?;
            decoded.push(u8::from_str_radix(value, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            decoded.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Place, Option<String>) {
        let location: Location = text.parse().unwrap();
        (location.place, location.archive)
    }

    fn in_bucket(bucket: &str, prefix: &str) -> Place {
        Place::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() }
    }

    #[test]
    fn addresses_name_stores_and_archives() {
        assert_eq!(read("s3://poems"), (in_bucket("poems", ""), None));
        assert_eq!(read("s3://poems/"), (in_bucket("poems", ""), None));
        assert_eq!(read("s3://poems/a/b/"), (in_bucket("poems", "a/b"), None));
        assert_eq!(read("s3://poems/a/x.wakashu"), (in_bucket("poems", "a"), Some("x.wakashu".to_owned())));
        assert_eq!(read("s3://poems/x.wakashu"), (in_bucket("poems", ""), Some("x.wakashu".to_owned())));
        assert_eq!(read("file:///srv/poems"), (Place::Folder("/srv/poems".into()), None));
        assert_eq!(read("file://localhost/srv/%E5%92%8C"), (Place::Folder("/srv/和".into()), None));
        let on_the_web = |text: &str| Place::Web(WebAddress::parse(text).unwrap());
        assert_eq!(read("https://example.org"), (on_the_web("https://example.org"), None));
        assert_eq!(read("https://example.org/a/b/"), (on_the_web("https://example.org/a/b"), None));
        let archive = Some("和 x.wakashu".to_owned());
        assert_eq!(
            read("https://example.org/a/%E5%92%8C%20x.wakashu"),
            (on_the_web("https://example.org/a"), archive.clone())
        );
        assert_eq!(read("https://example.org/和 x.wakashu"), (on_the_web("https://example.org"), archive));
        assert_eq!(read("store"), (Place::Folder("store".into()), None));
        assert_eq!(read("x.wakashu"), (Place::Folder(".".into()), Some("x.wakashu".to_owned())));
        assert_eq!(read("/a/x.wakashu"), (Place::Folder("/a".into()), Some("x.wakashu".to_owned())));
    }

    #[test]
    fn a_file_address_names_a_drive_on_windows() {
        for (path, expected) in [
            ("/C:/poems", "C:/poems"),
            ("/c:/", "c:/"),
            ("/srv/C:/poems", "/srv/C:/poems"),
            ("/1:/poems", "/1:/poems"),
            ("/", "/"),
        ] {
            assert_eq!(from_drive(path), expected);
        }
        let expected = if cfg!(windows) { "C:/和 歌" } else { "/C:/和 歌" };
        assert_eq!(read("file:///C:/%E5%92%8C%20歌"), (Place::Folder(expected.into()), None));
    }

    #[test]
    fn a_folder_is_a_store_whatever_its_name_and_a_file_an_archive() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("store.wakashu");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(read(odd.to_str().unwrap()), (Place::Folder(odd), None));
        let file = folder.path().join("archive.bin");
        std::fs::write(&file, b"").unwrap();
        let named: Location = file.to_str().unwrap().parse().unwrap();
        assert_eq!(named.archive(), Some("archive.bin"));
        assert_eq!(named.local_path(), Some(file));
    }

    #[test]
    fn malformed_addresses_say_what_is_wrong() {
        for (text, problem) in [
            ("", "empty"),
            ("ftp://example.com/x", "only s3://"),
            ("http://example.com/x", "on this machine alone"),
            ("https://example.com/x?y=1", "no `?`"),
            ("s3://", "bucket's name"),
            ("s3:///key", "bucket's name"),
            ("s3://a b/key", "bucket's name"),
            ("s3://poems/a//b", "empty, `.`"),
            ("s3://poems/../b", "empty, `.`"),
            ("s3://poems/a?region=x", "no `?`"),
            ("file://srv/poems", "three slashes"),
            ("file:///srv/%zz", "hex digits"),
            ("file:///srv/%00", "NUL"),
        ] {
            let error = text.parse::<Location>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_is_written_as_it_was_read() {
        for text in [
            "s3://poems",
            "s3://poems/a/b",
            "s3://poems/a/x.wakashu",
            "/srv/poems",
            "/a/x.wakashu",
            "https://example.org",
            "https://example.org/a",
            "https://example.org/a/x%20y.wakashu",
            "http://localhost:8080/a",
        ] {
            assert_eq!(text.parse::<Location>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn credentials_in_an_address_are_not_repeated() {
        for text in
            ["https://me:secret@example.org/x", "https://me:s@cret@example.org/x", "s3://me:secret@poems"]
        {
            let error = text.parse::<Location>().unwrap_err().to_string();
            assert!(!error.contains("cret") && !error.contains("me:"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_store_on_the_web_can_only_be_read() {
        let location: Location = "https://example.org/poems".parse().unwrap();
        let refused = location.open_for_writing().await.unwrap_err().to_string();
        assert!(refused.contains("publish to a folder or a bucket"), "{refused}");
        assert_eq!(location.open().await.is_ok(), cfg!(feature = "https"));
    }
}
