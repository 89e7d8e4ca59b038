//! Writes what becomes of a picture, for comparison with other programs: `picture FILE DIRECTORY`.
//!
//! `pixels.pam` is the picture upright and in sRGB; `large.*` and `original.*` are what would be served. Standard
//! output says what is wrong with the file, if anything, or why it is refused.

#![expect(clippy::print_stdout, reason = "a program for the shell")]

use std::fs;
use std::path::{Path, PathBuf};

use wakashu_indexer::picture::{Encoded, Settings, render, upright_pixels};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(file), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err("usage: picture FILE DIRECTORY".into());
    };
    fs::create_dir_all(&directory)?;
    let bytes = fs::read(&file)?;
    let settings = Settings { originals: true, ..Settings::default() };
    let rendered = match render(&bytes, &settings) {
        Ok(rendered) => rendered,
        Err(problem) => {
            println!("refused: {problem}");
            return Ok(());
        }
    };
    println!("{}", rendered.damage.as_ref().map_or("sound", |damage| damage.message()));
    let raster = upright_pixels(&bytes, &settings)?;
    let depth = raster.channels.count();
    let kind = if depth == 4 { "RGB_ALPHA" } else { "RGB" };
    let (width, height) = (raster.width, raster.height);
    let head =
        format!("P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL 255\nTUPLTYPE {kind}\nENDHDR\n");
    fs::write(directory.join("pixels.pam"), [head.as_bytes(), &raster.samples].concat())?;
    keep(&directory, "large", &rendered.renditions.large)?;
    if let Some(original) = &rendered.renditions.original {
        keep(&directory, "original", original)?;
    }
    Ok(())
}

fn keep(directory: &Path, name: &str, encoded: &Encoded) -> std::io::Result<()> {
    let extension = encoded.media_type.as_str().rsplit('/').next().unwrap_or_default();
    fs::write(directory.join(format!("{name}.{extension}")), &encoded.bytes)
}
