//! Made-up collections of a given shape, for measuring: as an archive, and as the folder such an archive is built from.
//!
//! The pictures cannot be decoded: they are bytes of the right number, all different.

mod poems;

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::str::FromStr;

use bytes::Bytes;
use serde_json::json;
use wakashu_archive::{ContentHash, EntryDraft, MediaType, PictureDraft, RenditionDraft, RoundDraft, Writer};

/// What the archive is called.
const TITLE: &str = "遠慮したラップトップ和歌集";

/// Rounds of one size, written `ROUNDSxENTRIESxPICTURE_BYTES`, as `10x100x20480`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How many rounds.
    pub rounds: u32,
    /// How many entries in each.
    pub entries: u32,
    /// How many bytes each rendition of each picture has; no pictures if zero.
    pub picture_bytes: usize,
}

impl FromStr for Shape {
    type Err = Box<dyn Error>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('x').collect();
        let [rounds, entries, picture_bytes] = parts.as_slice() else {
            return Err(format!("`{text}` is not ROUNDSxENTRIESxPICTURE_BYTES").into());
        };
        Ok(Self { rounds: rounds.parse()?, entries: entries.parse()?, picture_bytes: picture_bytes.parse()? })
    }
}

/// Writes an archive: the shapes one after the other, their rounds numbered from 第1回.
pub fn write_archive(path: &Path, shapes: &[Shape]) -> Result<(), Box<dyn Error>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let out = BufWriter::new(File::create(path)?);
    let mut writer = Writer::spooled(out, || tempfile::tempfile_in(folder))?;
    for (round, shape) in numbered(shapes) {
        writer.begin_round(RoundDraft { title: round_title(round), ..RoundDraft::default() })?;
        for rank in 1..=shape.entries {
            writer.entry(entry(round, rank, shape.picture_bytes))?;
        }
    }
    writer.finish(TITLE.to_owned(), String::new(), ContentHash::of(b"bench"))?;
    Ok(())
}

/// Writes the same as a collection's folder, each picture as its large rendition.
pub fn write_folder(path: &Path, shapes: &[Shape]) -> Result<(), Box<dyn Error>> {
    for (round, shape) in numbered(shapes) {
        for rank in 1..=shape.entries {
            let entry = entry(round, rank, shape.picture_bytes);
            let folder = path.join(round_title(round)).join(format!("{rank}-Poet"));
            fs::create_dir_all(&folder)?;
            let text = json!({
                "AccountName": entry.account,
                "HonkadoriWaka": entry.poem,
                "Honka": entry.honka,
                "Prompt": entry.prompt,
                "Yomi": entry.yomi,
            });
            fs::write(folder.join(format!("TextData{rank}.json")), text.to_string())?;
            if let Some(picture) = entry.picture {
                fs::write(folder.join(format!("Picture{rank}.webp")), &picture.large.bytes)?;
            }
        }
    }
    Ok(())
}

/// Returns the number and shape of every round.
fn numbered(shapes: &[Shape]) -> impl Iterator<Item = (u32, &Shape)> {
    let rounds = shapes.iter().flat_map(|shape| (0..shape.rounds).map(move |_| shape));
    (1..).zip(rounds)
}

fn round_title(round: u32) -> String {
    format!("第{round}回")
}

fn entry(round: u32, rank: u32, picture_bytes: usize) -> EntryDraft {
    let seed = u64::from(round) << 32 | u64::from(rank);
    EntryDraft {
        rank,
        account: format!("@poet{}", seed % 977),
        poem: poems::poem(seed),
        yomi: Some(poems::reading(seed)),
        honka: vec!["https://ja.wikisource.org/wiki/小倉百人一首".to_owned()],
        prompt: "ukiyo-e woodblock print, a shy laptop under a cherry branch".to_owned(),
        picture: (picture_bytes > 0).then(|| picture(seed, picture_bytes)),
        ..EntryDraft::default()
    }
}

fn picture(seed: u64, bytes: usize) -> PictureDraft {
    let rendition = |size_px: u32| RenditionDraft {
        bytes: noise(seed.wrapping_mul(3).wrapping_add(u64::from(size_px)), bytes),
        media_type: MediaType::Webp,
        width_px: size_px,
        height_px: size_px,
    };
    PictureDraft { small: rendition(512), medium: rendition(1092), large: rendition(1568), original: None }
}

/// Returns bytes without a pattern, always the same for one seed.
fn noise(seed: u64, length: usize) -> Bytes {
    let mut random = Random::new(seed);
    let words = length.div_ceil(8);
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| random.next().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes.into()
}

/// Repeatable numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds shall not give neighbouring numbers, and zero would give nothing else.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, noise, numbered};

    #[test]
    fn a_shape_is_three_numbers() {
        let shape = Shape { rounds: 10, entries: 100, picture_bytes: 20_480 };
        assert_eq!("10x100x20480".parse::<Shape>().ok(), Some(shape));
        for wrong in ["", "10x100", "10x100x", "1x1x1x1", "axbxc"] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong} is no shape");
        }
    }

    #[test]
    fn rounds_are_numbered_across_shapes() {
        let shapes = [2, 1].map(|rounds| Shape { rounds, entries: rounds, picture_bytes: 0 });
        let entries: Vec<_> = numbered(&shapes).map(|(round, shape)| (round, shape.entries)).collect();
        assert_eq!(entries, [(1, 2), (2, 2), (3, 1)]);
    }

    #[test]
    fn noise_has_its_length_and_differs_by_seed() {
        assert_eq!(noise(1, 1001).len(), 1001);
        assert_eq!(noise(1, 64), noise(1, 64));
        assert_ne!(noise(1, 64), noise(2, 64));
    }
}
