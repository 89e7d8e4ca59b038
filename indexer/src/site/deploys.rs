//! `site.json`: what each deploy needs besides its pages, for the next one to carry over.
//!
//! Static hosts replace a whole site at once, while readers still hold a page or the pointer of the deploy before. So the
//! archives, pictures, style and script of some earlier deploys stay. Archives name their pictures; what else a page loads
//! stands here, each file named by its content, so that whatever a host sends can be held against its name.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wakashu_storage::{Fetched, Pointer, ReadStore, StorageError, Version};

use super::listing::digits;

pub(crate) const DEPLOYS_KEY: &str = "site.json";

/// All deploys that are remembered, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Deploys {
    pub(crate) deploys: Vec<Deploy>,
}

/// One deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deploy {
    /// The archive its pages were made of.
    #[serde(flatten)]
    pub(crate) version: Version,
    /// Style, script, and what the search loads.
    pub(crate) files: Vec<Needed>,
}

/// A file that pages load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Needed {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl Deploys {
    /// Reads what a host sent; what is not ours is none.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        let mut read: Self = serde_json::from_slice(json).ok()?;
        for deploy in &mut read.deploys {
            deploy.files.retain(Needed::is_sound);
        }
        Some(read)
    }

    /// Returns the deploys after `latest`, with at most `history` before it. The same deploy again adds none.
    pub(crate) fn after(&self, latest: Deploy, history: usize) -> Self {
        let earlier = self.deploys.iter().filter(|deploy| **deploy != latest).take(history).cloned();
        Self { deploys: std::iter::once(latest.clone()).chain(earlier).collect() }
    }

    /// Returns what pages of the earlier deploys load.
    pub(crate) fn wanted_files(&self) -> Vec<Needed> {
        let [latest, earlier @ ..] = self.deploys.as_slice() else { return Vec::new() };
        let mut wanted: Vec<Needed> =
            earlier.iter().flat_map(|deploy| deploy.files.iter().cloned()).collect();
        wanted.sort();
        wanted.dedup();
        wanted.retain(|needed| !latest.files.contains(needed));
        wanted
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

impl Needed {
    /// Tells whether the path is one that pages load from, named by a content.
    fn is_sound(&self) -> bool {
        let Some((folder, name)) = self.path.split_once('/') else { return false };
        matches!(folder, "assets" | "search") && self.hash().is_some() && !name.contains('/')
    }

    /// Returns the digits by which the name vouches for the content.
    fn hash(&self) -> Option<&str> {
        let (stem, extension) = self.path.rsplit_once('.')?;
        let (_, hash) = stem.rsplit_once('-')?;
        let is_hash =
            hash.len() == 16 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let is_plain =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-".contains(&byte));
        (is_hash && is_plain(stem) && is_plain(extension)).then_some(hash)
    }

    /// Tells whether this is what the name says.
    pub(crate) fn is(&self, content: &[u8]) -> bool {
        content.len() as u64 == self.bytes && self.hash() == Some(&digits(content))
    }
}

/// Returns the pointer of a site that serves `next`, whose readers may still hold one of the `history` before.
pub(crate) fn pointer(previous: Option<&Pointer>, next: Version, history: usize) -> Pointer {
    match previous {
        None => Pointer { current: next, history: Vec::new(), opening: None },
        // What was current stays where it stands among those before it.
        Some(previous) if previous.current.digest == next.digest => {
            let mut same = previous.clone();
            same.current = next;
            same.history.truncate(history);
            same
        }
        Some(previous) => previous.switched_to(next, history),
    }
}

/// Returns the versions whose archives stay, beside the current one.
pub(crate) fn wanted_versions(pointer: &Pointer, deploys: &Deploys) -> Vec<Version> {
    let mut wanted: Vec<Version> = Vec::new();
    for version in pointer.versions().chain(deploys.deploys.iter().map(|deploy| &deploy.version)) {
        if version.digest != pointer.current.digest
            && !wanted.iter().any(|known| known.digest == version.digest)
        {
            wanted.push(version.clone());
        }
    }
    wanted
}

/// Tells whether a folder holds a site of ours.
pub(crate) fn is_site(folder: &Path) -> bool {
    std::fs::read(folder.join(DEPLOYS_KEY)).is_ok_and(|json| Deploys::parse(&json).is_some())
}

/// What earlier deploys leave to the next.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Whether it lies in the folder that is written.
    pub(crate) is_own: bool,
    pub(crate) pointer: Option<Pointer>,
    pub(crate) deploys: Deploys,
    /// Tells whether it is still the same.
    pub(crate) mark: String,
}

impl Left {
    /// Reads what is there; nothing may be.
    pub(crate) async fn read(store: &dyn ReadStore, is_own: bool) -> Result<Self, StorageError> {
        let pointer = match Pointer::read(store, None).await? {
            Fetched::Changed { value, .. } => Some(value),
            Fetched::Missing | Fetched::Unchanged => None,
        };
        let deploys = match store.get_if_changed(DEPLOYS_KEY, None).await? {
            Fetched::Changed { value, .. } => Deploys::parse(&value),
            Fetched::Missing | Fetched::Unchanged => None,
        };
        let deploys = deploys.unwrap_or_default();
        let mark = match &pointer {
            Some(pointer) => Self::mark_of(&pointer.to_json(), &deploys.to_json()),
            None => String::new(),
        };
        Ok(Self { is_own, pointer, deploys, mark })
    }

    /// Returns the mark of what is written so.
    pub(crate) fn mark_of(pointer: &[u8], deploys: &[u8]) -> String {
        format!("{} {}", digits(pointer), digits(deploys))
    }
}

#[cfg(test)]
mod tests {
    use wakashu_archive::ContentHash;

    use super::*;

    fn needed(path: &str, content: &[u8]) -> Needed {
        Needed { path: path.to_owned(), bytes: content.len() as u64 }
    }

    #[test]
    fn a_name_vouches_for_what_a_host_sends() {
        let path = format!("assets/style-{}.css", digits(b"a{}"));
        assert!(needed(&path, b"a{}").is_sound() && needed(&path, b"a{}").is(b"a{}"));
        assert!(!needed(&path, b"a{}").is(b"b{}"));
        for path in [
            "index.html",
            "assets/../style-0123456789abcdef.css",
            "assets/x/style-0123456789abcdef.css",
            "rounds/x-0123456789abcdef.js",
            "assets/style.css",
            "assets/style-0123456789abcdeg.css",
            "/etc/x-0123456789abcdef.css",
        ] {
            assert!(!needed(path, b"").is_sound(), "{path}");
        }
    }

    #[test]
    fn the_same_deploy_again_is_no_other() {
        let version = |number: u8| Version {
            digest: ContentHash([number; 32]),
            bytes: 1,
            built_from: ContentHash([number; 32]),
            published_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            changes: None,
            note: None,
        };
        let deploy = |number| Deploy { version: version(number), files: Vec::new() };
        let mut deploys = Deploys::default();
        for number in [1, 2, 2, 3, 3] {
            deploys = deploys.after(deploy(number), 1);
        }
        assert_eq!(deploys.deploys, [deploy(3), deploy(2)]);
        assert_eq!(deploys.after(deploy(2), 0).deploys, [deploy(2)]);

        let one = pointer(None, version(1), 1);
        let two = pointer(Some(&one), version(2), 1);
        assert_eq!(two.history, [version(1)]);
        assert_eq!(pointer(Some(&two), version(2), 1), two);
        assert_eq!(pointer(Some(&two), version(3), 1).history, [version(2)]);
    }
}
