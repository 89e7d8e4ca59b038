//! What the bytes are, by the bytes.

use wakashu_archive::MediaType;

use super::problem::Problem;

/// Returns the type of a picture from its first bytes; the file's name plays no part.
pub fn sniff(bytes: &[u8]) -> Result<MediaType, Problem> {
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Ok(MediaType::Png);
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Ok(MediaType::Jpeg);
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Ok(MediaType::Gif);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Ok(MediaType::Webp);
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return sniff_brands(bytes);
    }
    match unsupported_name(bytes) {
        Some(found) => Err(Problem::Unsupported { found }),
        None => Err(Problem::NotAPicture { start: beginning(bytes) }),
    }
}

/// Returns the first bytes for people to read. Of Japanese text that is what it says.
fn beginning(bytes: &[u8]) -> String {
    let start = bytes.get(..12).unwrap_or(bytes);
    match start.utf8_chunks().next().map(|chunk| chunk.valid()) {
        Some(text) if !text.is_ascii() => text.to_owned(),
        _ => bytes.get(..8).unwrap_or(bytes).escape_ascii().to_string(),
    }
}

/// Tells HEIC from its relatives by the brands in the `ftyp` box.
fn sniff_brands(bytes: &[u8]) -> Result<MediaType, Problem> {
    let size = bytes.first_chunk::<4>().map_or(0, |size| u32::from_be_bytes(*size) as usize);
    let brands = bytes.get(8..size.min(bytes.len())).unwrap_or_default();
    // The second field is the minor version; it never spells a brand.
    let mut heif = false;
    for brand in brands.chunks_exact(4) {
        match brand {
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"hevm" | b"hevs" => {
                return Ok(MediaType::Heic);
            }
            b"avif" | b"avis" => return Err(Problem::Unsupported { found: "AVIF" }),
            b"mif1" | b"msf1" | b"mif2" => heif = true,
            b"crx " => return Err(Problem::Unsupported { found: "a Canon raw photo" }),
            _ => {}
        }
    }
    // HEIF that names no codec may still hold HEVC; the decoder decides.
    if heif { Ok(MediaType::Heic) } else { Err(Problem::Unsupported { found: "a video" }) }
}

fn unsupported_name(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"BM", "BMP"),
        (b"II*\0", "TIFF"),
        (b"MM\0*", "TIFF"),
        (b"II+\0", "TIFF"),
        (b"MM\0+", "TIFF"),
        (b"\0\0\x01\0", "an icon (ICO)"),
        (b"8BPS", "a Photoshop document"),
        (b"%PDF", "PDF"),
        (b"\xff\x0a", "JPEG XL"),
        (b"\0\0\0\x0cJXL ", "JPEG XL"),
        (b"\0\0\0\x0cjP  ", "JPEG 2000"),
        (b"\xff\x4f\xff\x51", "JPEG 2000"),
        (b"qoif", "QOI"),
        (b"\x76\x2f\x31\x01", "OpenEXR"),
        (b"gimp xcf", "a GIMP document"),
        (b"version https://git-lfs", "a Git LFS pointer"),
    ];
    let known = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature));
    if let Some((_, name)) = known {
        return Some(name);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let opening = text.get(..1024).unwrap_or(text).trim_ascii_start();
    let xml =
        opening.starts_with(b"<?xml") || opening.starts_with(b"<!--") || opening.starts_with(b"<!DOCTYPE");
    let svg = opening.starts_with(b"<svg") || (xml && opening.windows(4).any(|window| window == b"<svg"));
    svg.then_some("SVG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide_and_unsupported_kinds_are_named() {
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\nrest"), Ok(MediaType::Png));
        assert_eq!(sniff(b"\xff\xd8\xff\xe0"), Ok(MediaType::Jpeg));
        assert_eq!(sniff(b"GIF89a"), Ok(MediaType::Gif));
        assert_eq!(sniff(b"RIFF\0\0\0\0WEBPVP8 "), Ok(MediaType::Webp));
        assert_eq!(sniff(b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic"), Ok(MediaType::Heic));
        assert_eq!(sniff(b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif"), Err(Problem::Unsupported { found: "AVIF" }));
        assert_eq!(sniff(b"\0\0\0\x14ftypisom\0\0\0\0mp42"), Err(Problem::Unsupported { found: "a video" }));
        assert_eq!(sniff(b"BM1234"), Err(Problem::Unsupported { found: "BMP" }));
        assert_eq!(sniff(b"II*\0"), Err(Problem::Unsupported { found: "TIFF" }));
        assert_eq!(sniff(b"\xef\xbb\xbf <?xml ?><svg/>"), Err(Problem::Unsupported { found: "SVG" }));
        assert_eq!(sniff(b""), Err(Problem::Empty));
        assert_eq!(sniff(b"{\"a\":1}\n"), Err(Problem::NotAPicture { start: "{\\\"a\\\":1}\\n".into() }));
        assert_eq!(sniff("これは画像".as_bytes()), Err(Problem::NotAPicture { start: "これは画".into() }));
        assert!(sniff(b"\0\0\0\x18ftyp").is_err());
    }
}
