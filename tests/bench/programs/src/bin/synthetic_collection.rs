//! Writes a collection of made-up entries, for measuring: `synthetic_collection DIR ENTRIES LONG_EDGE_PX QUALITY`.
//!
//! Every picture is different: a gradient, a few shapes and some grain, so that it compresses like a drawing.
#![expect(clippy::print_stderr, reason = "a measuring program")]

use std::error::Error;
use std::fs;
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::{Rgb, RgbImage};

/// Entries in one round.
const ROUND_ENTRIES: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, entries, edge, quality] = arguments.as_slice() else {
        return Err("usage: synthetic_collection DIR ENTRIES LONG_EDGE_PX QUALITY".into());
    };
    let (entries, edge, quality): (usize, u32, u8) = (entries.parse()?, edge.parse()?, quality.parse()?);
    let mut bytes = 0;
    for number in 0..entries {
        bytes += write_entry(Path::new(folder), number, edge, quality)?;
    }
    eprintln!("{entries} entries, {bytes} bytes of pictures, {} each", bytes / entries.max(1));
    Ok(())
}

fn write_entry(folder: &Path, number: usize, edge: u32, quality: u8) -> Result<usize, Box<dyn Error>> {
    let (round, rank) = (number / ROUND_ENTRIES + 1, number % ROUND_ENTRIES + 1);
    let folder = folder.join(format!("第{round}回")).join(format!("{rank}-Poet{number}"));
    fs::create_dir_all(&folder)?;
    let text = format!(
        r#"{{"AccountName":"@poet{number}","HonkadoriWaka":"ひさかたの\n光のどけき\n窓の辺に\n{number}なる花の\n散るを見るかな","Honka":["https://example.org/{number}"],"Prompt":"woodblock print number {number}"}}"#
    );
    fs::write(folder.join(format!("TextData{rank}.json")), text)?;
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, quality).encode_image(&picture(number, edge))?;
    fs::write(folder.join(format!("Picture{rank}.jpg")), &jpeg)?;
    Ok(jpeg.len())
}

fn picture(number: usize, edge: u32) -> RgbImage {
    let mut state = 0x9e37_79b9_u32.wrapping_mul(u32::try_from(number + 1).unwrap_or(1)) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let (height, hue) = (edge * 3 / 4, random() % 200);
    let discs: Vec<(u32, u32, u32)> =
        (0..12).map(|_| (random() % edge, random() % height, random() % (edge / 6) + 4)).collect();
    RgbImage::from_fn(edge, height, |x, y| {
        let inside = discs
            .iter()
            .filter(|(cx, cy, r)| x.abs_diff(*cx).pow(2) + y.abs_diff(*cy).pow(2) < r * r)
            .count();
        let light = 255 * y / height / 2 + 40 * u32::try_from(inside).unwrap_or(0) + random() % 24;
        let channel = |shift: u32| u8::try_from((light + (hue >> shift)).min(255)).unwrap_or(255);
        Rgb([channel(0), channel(1), channel(2)])
    })
}
