//! Pictures that are damaged, hide something, or are larger than they look.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test may panic; clippy spares test functions only, not their helpers"
)]

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use wakashu_indexer::picture::{
    Cache, MediaType, Origin, Problem, Renditions, Settings, Source, decoding_cost_bytes, header,
    memory_limit_bytes, render, upright_pixels,
};

const CANARY: &[u8] = b"canary-35.6586N-139.7454E";

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/pictures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn originals() -> Settings {
    Settings { originals: true, ..Settings::default() }
}

fn png_of(image: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.into().write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
    bytes
}

fn drawing(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        Rgb([x * 3, y * 5, x + y].map(|value| u8::try_from(value % 256).unwrap()))
    })
}

/// Fails if the canary is in anything that would be served, or the original shows another picture.
fn assert_silent(what: &str, source: &[u8]) -> Renditions {
    assert!(contains(source, CANARY), "{what}: there is no canary in the source");
    let rendered = render(source, &originals()).unwrap_or_else(|problem| panic!("{what}: {problem}"));
    let renditions = rendered.renditions;
    let original = renditions.original.as_ref().unwrap_or_else(|| panic!("{what}: no original"));
    for encoded in [&renditions.small, &renditions.medium, &renditions.large, original] {
        assert!(!contains(&encoded.bytes, CANARY), "{what}: the canary sings in {:?}", encoded.media_type);
    }
    let (before, after) =
        (upright_pixels(source, &originals()), upright_pixels(&original.bytes, &originals()));
    assert_eq!(before, after, "{what}: the original shows another picture");
    renditions
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Puts bytes into a file at a place.
fn with(file: &[u8], place: usize, bytes: &[u8]) -> Vec<u8> {
    [&file[..place], bytes, &file[place..]].concat()
}

fn find(bytes: &[u8], text: &[u8]) -> usize {
    bytes.windows(text.len()).position(|window| window == text).unwrap()
}

fn jpeg_segment(marker: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 2).unwrap().to_be_bytes();
    [&[0xFF, marker], &length[..], body].concat()
}

#[test]
fn no_segment_of_a_jpeg_hides_anything() {
    let source = fixture("jpeg-420.jpg");
    let scan = find(&source, &[0xFF, 0xDA]);
    let kinds = (0x02..=0xBF_u8).step_by(31).chain([0xC8, 0xCC, 0xDC, 0xDE, 0xDF]).chain(0xE0..=0xFE);
    for marker in kinds {
        let body =
            if marker == 0xEE { [b"Adobe\0\x64\0\0\0\0\x01", CANARY].concat() } else { CANARY.to_vec() };
        let segment = jpeg_segment(marker, &body);
        for place in [2, scan] {
            assert_silent(&format!("marker {marker:02x} at {place}"), &with(&source, place, &segment));
        }
    }
    // Tables nobody refers to.
    let mut table = vec![0x03];
    table.extend(CANARY.iter().cycle().take(64));
    assert_silent("a table that is not used", &with(&source, 2, &jpeg_segment(0xDB, &table)));
    let codes =
        [&[0x13, 0, 0, 0, 0, 0, 0, 0, u8::try_from(CANARY.len()).unwrap(), 0, 0, 0, 0, 0, 0, 0, 0], CANARY]
            .concat();
    assert_silent("codes that are not used", &with(&source, 2, &jpeg_segment(0xC4, &codes)));
    // Between the parts, before the end mark, and behind it, where phones put a video.
    assert_silent("stray bytes", &with(&source, scan, CANARY));
    assert_silent("behind the data", &with(&source, source.len() - 2, CANARY));
    assert_silent("behind the end", &with(&source, source.len(), CANARY));
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

fn png_chunk(tag: &[u8], body: &[u8]) -> Vec<u8> {
    let checked = [tag, body].concat();
    [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &checked, &crc32(&checked).to_be_bytes()].concat()
}

#[test]
fn no_chunk_of_a_png_hides_anything() {
    const HEADER_END: usize = 33;
    let source = png_of(drawing(90, 70));
    let kinds: [&[u8]; 12] = [
        b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME", b"pHYs", b"sPLT", b"hIST", b"bKGD", b"sBIT", b"prVt",
        b"caBX",
    ];
    for tag in kinds {
        let renditions = assert_silent(
            &format!("{}", tag.escape_ascii()),
            &with(&source, HEADER_END, &png_chunk(tag, CANARY)),
        );
        assert_eq!(renditions.large.media_type, MediaType::Png);
    }
    let end = source.len() - 12;
    assert_silent("before the end", &with(&source, end, &png_chunk(b"tEXt", CANARY)));
    assert_silent("behind the end", &with(&source, source.len(), CANARY));
    assert_silent("behind the compressed data", &with(&source, end, &png_chunk(b"IDAT", CANARY)));
    // Data that are not in one run: readers take the first, and refuse the rest or pass it by.
    let data = find(&source, b"IDAT") - 4;
    let note = png_chunk(b"tEXt", b"between\0runs");
    let second = [&note[..], &png_chunk(b"IDAT", CANARY), &source[data..end]].concat();
    assert_silent("a second run of data", &with(&source, end, &second));
    // Behind the picture nothing but an animation's frames is read.
    assert_silent(
        "colours behind the picture",
        &with(&source, end, &png_chunk(b"cHRM", &[CANARY, b"1234567"].concat())),
    );
    // An animation of no frames, and frames without an animation.
    let frame = |number: u8| {
        let shape = [0, 0, 0, number, 0, 0, 0, 90, 0, 0, 0, 70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0];
        let data = [&[0, 0, 0, number + 1][..], CANARY].concat();
        [png_chunk(b"fcTL", &shape), png_chunk(b"fdAT", &data)].concat()
    };
    assert_silent("a frame without an animation", &with(&source, end, &frame(0)));
    let uncounted = with(&with(&source, end, &frame(0)), HEADER_END, &png_chunk(b"acTL", &[0; 8]));
    assert_silent("a frame that is not counted", &uncounted);
    let behind = with(&source, end, &[png_chunk(b"acTL", &[0, 0, 0, 1, 0, 0, 0, 0]), frame(0)].concat());
    assert_silent("an animation announced behind the picture", &behind);
    let animated = fixture("png-animated.png");
    let last = animated.len() - 12;
    assert_silent(
        "a second run of a frame's data",
        &with(&animated, last, &[note, frame(9)[38..].to_vec()].concat()),
    );
    // More transparent colours than there are.
    let header = png_chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 3, 0, 0, 0]);
    let pixel = [0x78, 0x01, 0x01, 2, 0, 0xFD, 0xFF, 0, 0, 0, 2, 0, 1];
    let parts = [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        header,
        png_chunk(b"PLTE", &[9, 8, 7]),
        png_chunk(b"tRNS", &[&[255], CANARY].concat()),
        png_chunk(b"IDAT", &pixel),
        png_chunk(b"IEND", &[]),
    ];
    assert_silent("transparency of no colour", &parts.concat());
    let name = [CANARY, b"\0\0no profile"].concat();
    assert_silent("the name of a profile", &with(&source, HEADER_END, &png_chunk(b"iCCP", &name)));
}

fn webp_chunk(tag: &[u8], body: &[u8]) -> Vec<u8> {
    let padding = if body.len() % 2 == 1 { &[0][..] } else { &[] };
    [tag, &u32::try_from(body.len()).unwrap().to_le_bytes(), body, padding].concat()
}

/// Puts chunks into a WebP at a place, which may be inside a frame of an animation.
fn webp_with(file: &[u8], place: usize, frame: Option<usize>, chunks: &[u8]) -> Vec<u8> {
    let mut longer = with(file, place, chunks);
    for start in frame.into_iter().chain([0]) {
        let length = u32::from_le_bytes(longer[start + 4..start + 8].try_into().unwrap());
        let length = length + u32::try_from(chunks.len()).unwrap();
        longer[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    }
    longer
}

#[test]
fn no_chunk_of_a_webp_hides_anything() {
    let hidden = |tag: &[u8]| webp_chunk(tag, CANARY);
    // Some are of the kind that is shown, and readers take the first of each.
    let kinds: [(&str, &[&[u8; 4]]); 5] = [
        ("webp-lossy.webp", &[b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF"]),
        ("webp-exif-6.webp", &[b"VP8L", b"ALPH", b"ANIM"]),
        ("webp-animated.webp", &[b"ALPH", b"ANIM"]),
        ("webp-lossless-alpha.webp", &[b"VP8L", b"ALPH"]),
        ("webp-lossy-alpha.webp", &[b"VP8 ", b"ALPH", b"ANIM"]),
    ];
    for (name, more) in kinds {
        let source = fixture(name);
        for tag in [b"EXIF", b"XMP ", b"ICCP", b"junk"].iter().chain(more) {
            let longer = webp_with(&source, source.len(), None, &hidden(*tag));
            assert_silent(&format!("{name}: {}", tag.escape_ascii()), &longer);
        }
        assert_silent(&format!("{name}: behind the end"), &with(&source, source.len(), CANARY));
    }
    // A picture beside the frames, with the size of all of it.
    let moving = fixture("webp-animated.webp");
    let canvas = find(&moving, b"VP8X") + 12;
    let side = |at: usize| (u16::from_le_bytes([moving[at], moving[at + 1]]) + 1).to_le_bytes();
    let head = [&[0x30, 0, 0, 0x9D, 0x01, 0x2A][..], &side(canvas), &side(canvas + 3)].concat();
    let beside = webp_chunk(b"VP8 ", &[&head[..], CANARY].concat());
    assert_silent("a picture beside the frames", &webp_with(&moving, moving.len(), None, &beside));
    // A frame in a picture that does not move.
    let still = fixture("webp-lossy-alpha.webp");
    let picture = webp_chunk(b"VP8 ", &still[find(&still, b"VP8 ") + 8..]);
    let frame = webp_chunk(b"ANMF", &[&[0; 16], &picture[..], &hidden(b"VP8L")].concat());
    assert_silent("a frame of no animation", &webp_with(&still, still.len(), None, &frame));
    // Inside a frame of an animation.
    let source = fixture("webp-animated.webp");
    let frame = find(&source, b"ANMF");
    let length = u32::from_le_bytes(source[frame + 4..frame + 8].try_into().unwrap());
    let end = frame + 8 + length as usize;
    for tag in [b"junk", b"VP8 ", b"VP8L", b"ALPH"] {
        let what = format!("inside a frame: {}", tag.escape_ascii());
        assert_silent(&what, &webp_with(&source, end, Some(frame), &hidden(tag)));
    }
}

/// Readers decode the first image; a second one must not tell another size.
#[test]
fn the_size_of_the_first_image_counts() {
    let small = fixture("webp-lossy.webp");
    let second = webp_chunk(b"VP8 ", &small[find(&small, b"VP8 ") + 8..]);
    let first = webp_chunk(b"VP8L", &[0x2F, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0, 0]);
    let source = webp_chunk(b"RIFF", &[&b"WEBP"[..], &first, &second].concat());
    let problem = header(&source, &Settings::default()).unwrap_err();
    assert!(matches!(problem, Problem::TooManyPixels { width: 16_384, height: 16_384, .. }), "{problem}");
}

/// The decoder makes room for what is coded, and compares it with the frame and the canvas only then.
#[test]
fn the_size_coded_in_a_frame_counts() {
    let mut source = fixture("webp-animated.webp");
    let frame = find(&source, b"ANMF");
    let coded = find(&source[frame..], b"VP8L") + frame + 9;
    source[coded..coded + 4].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0x0F]);
    let problem = header(&source, &Settings::default()).unwrap_err();
    assert!(matches!(problem, Problem::TooManyPixels { width: 16_384, height: 16_384, .. }), "{problem}");
}

#[test]
fn no_block_of_a_gif_hides_anything() {
    let part = [&[u8::try_from(CANARY.len()).unwrap()], CANARY, &[0]].concat();
    for name in ["gif-palette.gif", "gif-animated.gif", "gif-transparent.gif"] {
        let source = fixture(name);
        let palette = if source[10] & 0x80 == 0 { 0 } else { 3 << ((source[10] & 7) + 1) };
        let start = 13 + palette;
        for (what, head) in [
            ("comment", &b"\x21\xfe"[..]),
            ("text", b"\x21\x01"),
            ("application", b"\x21\xff\x0bXMP DataXMP"),
            ("loop", b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0"),
        ] {
            assert_silent(&format!("{name}: {what}"), &with(&source, start, &[head, &part].concat()));
        }
        assert_silent(&format!("{name}: behind the end"), &with(&source, source.len(), CANARY));
        // The data of the last image end before the zero that ends its blocks.
        let end = source.iter().rposition(|byte| *byte == 0x3B).unwrap() - 1;
        assert_silent(&format!("{name}: behind the data"), &with(&source, end, &part[..part.len() - 1]));
    }
}

fn heif_box(tag: &[u8], body: &[u8]) -> Vec<u8> {
    [&u32::try_from(body.len() + 8).unwrap().to_be_bytes()[..], tag, body].concat()
}

#[test]
fn no_box_of_a_heic_hides_anything() {
    for name in ["heic-photo.heic", "heic-grid-phone.heic", "heic-alpha.heic", "heic-irot-90.heic"] {
        let source = fixture(name);
        for tag in [b"uuid", b"free", b"skip", b"mdat", b"moov", b"udta", b"sefd", b"mpvd"] {
            // Offsets count from the start of the file: what is added goes behind.
            let longer = with(&source, source.len(), &heif_box(tag, CANARY));
            assert_silent(&format!("{name}: {}", tag.escape_ascii()), &longer);
        }
        assert_silent(&format!("{name}: trailer"), &with(&source, source.len(), CANARY));
    }
}

/// A HEIC of one coded picture, and what is put beside it.
#[derive(Clone, Default)]
struct Heic {
    /// The body of `hvcC`.
    configuration: Vec<u8>,
    size: (u32, u32),
    /// The units of the picture.
    data: Vec<u8>,
    /// Items that nothing refers to, with their names and data.
    items: Vec<(&'static [u8; 4], &'static [u8], Vec<u8>)>,
    /// Boxes among the properties that no item has.
    properties: Vec<u8>,
    /// Boxes that describe nothing.
    children: Vec<u8>,
    /// Bytes before and behind the data of the items.
    stray: Vec<u8>,
}

impl Heic {
    /// Takes the picture out of a fixture.
    fn of(name: &str) -> Self {
        let original = render(&fixture(name), &originals()).unwrap().renditions.original.unwrap();
        let bytes = &original.bytes[..];
        let body = |tag: &[u8; 4]| {
            let start = find(bytes, tag) + 4;
            let length = u32::from_be_bytes(bytes[start - 8..start - 4].try_into().unwrap());
            bytes[start..start + length as usize - 8].to_vec()
        };
        let size = (original.width, original.height);
        Self { configuration: body(b"hvcC"), size, data: body(b"mdat"), ..Self::default() }
    }

    fn written(&self) -> Vec<u8> {
        let short = |count: usize| u16::try_from(count).unwrap().to_be_bytes();
        let long = |count: usize| u32::try_from(count).unwrap().to_be_bytes();
        let shown = [(b"hvc1", &b""[..], self.data.clone())];
        let items: Vec<_> = shown.iter().chain(&self.items).collect();
        let head = heif_box(b"ftyp", b"heic\0\0\0\0mif1heic");
        let meta = |mut start: usize| {
            let mut info = vec![0, 0, 0, 0];
            let mut places = vec![0, 0, 0, 0, 0x44, 0];
            info.extend(short(items.len()));
            places.extend(short(items.len()));
            for (position, (kind, name, data)) in items.iter().enumerate() {
                let id = short(position + 1);
                let entry = [&[2, 0, 0, 0][..], &id, &[0, 0], &kind[..], name, &[0]].concat();
                info.extend(heif_box(b"infe", &entry));
                places.extend([&id[..], &[0, 0, 0, 1], &long(start), &long(data.len())].concat());
                start += data.len();
            }
            let size = [[0; 4], self.size.0.to_be_bytes(), self.size.1.to_be_bytes()].concat();
            let properties =
                [heif_box(b"hvcC", &self.configuration), heif_box(b"ispe", &size), self.properties.clone()];
            let described = [
                heif_box(b"ipco", &properties.concat()),
                heif_box(b"ipma", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 0x81, 2]),
            ];
            let boxes = [
                vec![0; 4],
                heif_box(b"hdlr", b"\0\0\0\0\0\0\0\0pict\0\0\0\0\0\0\0\0\0\0\0\0\0"),
                heif_box(b"pitm", &[0, 0, 0, 0, 0, 1]),
                heif_box(b"iinf", &info),
                heif_box(b"iloc", &places),
                heif_box(b"iprp", &described.concat()),
                self.children.clone(),
            ];
            heif_box(b"meta", &boxes.concat())
        };
        let start = head.len() + meta(0).len() + 8 + self.stray.len();
        let data: Vec<u8> = items.iter().flat_map(|(.., data)| data.clone()).collect();
        [head, meta(start), heif_box(b"mdat", &[&self.stray[..], &data, &self.stray].concat())].concat()
    }
}

/// Returns a unit of coded data with a canary in it.
fn hevc_unit(kind: u8, layer: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind << 1 | layer >> 5, layer << 3 | 1], payload, CANARY].concat()
}

#[test]
fn nothing_beside_the_picture_of_a_heic_is_kept() {
    let plain = Heic::of("heic-photo.heic");
    assert!(render(&plain.written(), &originals()).unwrap().damage.is_none());
    let hidden = || heif_box(b"uuid", CANARY);
    let item = |kind, name: &'static [u8], data: &[u8]| Heic {
        items: vec![(kind, name, data.to_vec())],
        ..plain.clone()
    };
    let cases = [
        ("bytes of no item", Heic { stray: CANARY.to_vec(), ..plain.clone() }),
        ("EXIF", item(b"Exif", b"", CANARY)),
        ("XMP", item(b"mime", b"", CANARY)),
        ("another picture", item(b"hvc1", b"", CANARY)),
        ("the name of an item", item(b"hvc1", CANARY, b"")),
        ("a property of nothing", Heic { properties: hidden(), ..plain.clone() }),
        ("a box of `meta`", Heic { children: heif_box(b"udta", &hidden()), ..plain.clone() }),
        ("data in `meta`", Heic { children: heif_box(b"idat", CANARY), ..plain.clone() }),
        (
            "behind the parameter sets",
            Heic { configuration: [&plain.configuration, CANARY].concat(), ..plain.clone() },
        ),
    ];
    for (what, file) in cases {
        assert_silent(what, &file.written());
    }
}

/// Remarks of the encoder lie inside the coded picture, and those of x265 tell how it was called; what is of a reserved
/// kind or of another layer is passed by.
#[test]
fn no_unit_of_a_coded_picture_hides_anything() {
    let plain = Heic::of("heic-photo.heic");
    let kinds = (10..=15).chain(22..=63).map(|kind| (kind, 0));
    for (kind, layer) in kinds.chain([(1, 1), (19, 1), (20, 63), (33, 1), (39, 1)]) {
        // Numbered 5, where it has a number.
        let unit = hevc_unit(kind, layer, &[0b0011_0000]);
        let unit = [&u32::try_from(unit.len()).unwrap().to_be_bytes()[..], &unit].concat();
        for place in [0, plain.data.len()] {
            let file = Heic { data: with(&plain.data, place, &unit), ..plain.clone() };
            assert_silent(&format!("unit {kind} of layer {layer} at {place}"), &file.written());
        }
    }
}

#[test]
fn no_parameter_set_that_is_not_used_hides_anything() {
    let plain = Heic::of("heic-photo.heic");
    // Kinds as they are listed, and as the unit itself says; sets of a number that nothing refers to, and of one there is.
    let cases = [
        (32, 32, 0, 0b0011_0000),
        (33, 33, 0, 0b0011_0000),
        (34, 34, 0, 0b0011_0000),
        (32, 32, 0, 0),
        (33, 33, 0, 0b1000_0000),
        (34, 34, 0, 0b1000_0000),
        (33, 33, 1, 0b1000_0000),
        (34, 34, 1, 0b0011_0000),
        (33, 39, 0, 0),
        (39, 39, 0, 0),
        (39, 33, 0, 0),
    ];
    for (listed, kind, layer, payload) in cases {
        let unit = hevc_unit(kind, layer, &[payload]);
        let mut configuration = plain.configuration.clone();
        configuration[22] += 1;
        configuration.extend([listed, 0, 1]);
        configuration.extend(u16::try_from(unit.len()).unwrap().to_be_bytes());
        configuration.extend(unit);
        let file = Heic { configuration, ..plain.clone() };
        assert_silent(&format!("unit {kind} of layer {layer} listed as {listed}"), &file.written());
    }
}

/// Returns a JPEG with a restart marker after every row of units, and where its data begin.
fn jpeg_with_restarts() -> (Vec<u8>, usize) {
    let source = fixture("jpeg-restart.jpg");
    let scan = find(&source, &[0xFF, 0xDA]);
    let length = usize::from(u16::from_be_bytes([source[scan + 2], source[scan + 3]]));
    (source, scan + 2 + length)
}

fn restart_markers(bytes: &[u8], from: usize) -> Vec<usize> {
    (from..bytes.len() - 1).filter(|at| bytes[*at] == 0xFF && matches!(bytes[at + 1], 0xD0..=0xD7)).collect()
}

/// Returns the share of rows, in percent, in which a damaged picture is close to the sound one.
fn rows_like(sound: &[u8], damaged: &[u8]) -> usize {
    let (sound, damaged) =
        (upright_pixels(sound, &originals()).unwrap(), upright_pixels(damaged, &originals()).unwrap());
    let row = sound.width as usize * 3;
    let close = |(one, other): (&[u8], &[u8])| {
        let sum: usize = one.iter().zip(other).map(|(a, b)| usize::from(a.abs_diff(*b))).sum();
        sum < 3 * row
    };
    let rows = sound.samples.chunks(row).zip(damaged.samples.chunks(row));
    rows.filter(|pair| close((pair.0, pair.1))).count() * 100 / sound.height as usize
}

#[test]
fn a_lost_restart_marker_costs_its_own_part_of_the_picture() {
    let (source, data) = jpeg_with_restarts();
    let markers = restart_markers(&source, data);
    assert!(markers.len() > 4, "{} restart markers", markers.len());
    let middle = markers[markers.len() / 2];
    let lost = [&source[..middle], &source[middle + 2..]].concat();
    let cut_out = [&source[..markers[1]], &source[markers[2]..]].concat();
    for (what, damaged) in [("lost", lost), ("cut out", cut_out)] {
        let rendered = render(&damaged, &originals()).unwrap();
        let damage = rendered.damage.unwrap_or_else(|| panic!("{what}: not a word"));
        assert!(damage.message().contains("JPEG is damaged"), "{what}: {}", damage.message());
        assert_eq!(rendered.renditions.large.media_type, MediaType::Webp, "{what}: never passed on");
        assert!(rendered.renditions.original.is_some(), "{what}: kept with the warning");
        let share = rows_like(&source, &damaged);
        let lost_at_most = 100 * 2 / (markers.len() + 1) + 5;
        assert!(share + lost_at_most >= 100, "{what}: {share} % of the rows are as they were");
    }
    assert_eq!(render(&source, &originals()).unwrap().damage, None);
}

#[test]
fn every_kind_of_damage_to_a_jpeg_is_told() {
    for name in ["jpeg-420.jpg", "jpeg-progressive.jpg", "jpeg-grey.jpg", "jpeg-restart.jpg"] {
        let source = fixture(name);
        let scan = find(&source, &[0xFF, 0xDA]);
        let data = scan + 2 + usize::from(u16::from_be_bytes([source[scan + 2], source[scan + 3]]));
        let end = source.len() - 2;
        let middle = usize::midpoint(data, end);
        let kinds = [
            ("cut", [&source[..middle], &[0xFF, 0xD9]].concat()),
            ("a second scan", [&source[..end], &source[scan..middle], &source[end..]].concat()),
            ("zeros", [&source[..middle], &[0; 40], &source[middle + 40..]].concat()),
            ("ones", [&source[..middle], &[0xFF, 0].repeat(20), &source[middle + 40..]].concat()),
            ("more", [&source[..middle], &[0x55; 40], &source[middle..]].concat()),
            ("end mark", [&source[..middle], &[0xFF, 0xD9], &source[middle..]].concat()),
            ("restart marker", [&source[..middle], &[0xFF, 0xD5], &source[middle..]].concat()),
            ("stray bytes", [&source[..end], &[0x55; 40], &source[end..]].concat()),
        ];
        for (what, damaged) in kinds {
            let rendered =
                render(&damaged, &originals()).unwrap_or_else(|problem| panic!("{name}, {what}: {problem}"));
            assert!(rendered.damage.is_some(), "{name}, {what}: not a word");
            assert_eq!(rendered.renditions.large.media_type, MediaType::Webp, "{name}, {what}");
        }
    }
}

#[test]
fn damage_is_told_again_when_renditions_come_from_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open(directory.path());
    let source = fixture("jpeg-420.jpg");
    let damaged = [&source[..source.len() / 2], &[0xFF, 0xD9]].concat();
    let settings = Settings::default();
    let (made, origin) = cache.renditions(&Source::new(&damaged), &settings).unwrap();
    assert!(made.damage.is_some() && origin == Origin::Rendered);
    assert_eq!(cache.renditions(&Source::new(&damaged), &settings).unwrap(), (made, Origin::Cached));
}

#[test]
fn asking_for_originals_costs_no_rendition() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open(directory.path());
    let source = png_of(drawing(700, 300));
    assert_eq!(cache.renditions(&Source::new(&source), &Settings::default()).unwrap().1, Origin::Rendered);
    let (with, origin) = cache.renditions(&Source::new(&source), &originals()).unwrap();
    assert!(origin == Origin::Cached && with.renditions.original.is_some());
    let (without, origin) = cache.renditions(&Source::new(&source), &Settings::default()).unwrap();
    assert!(origin == Origin::Cached && without.renditions.original.is_none());
}

/// Found by changing bytes at random: the original of such a file had no scan.
#[test]
fn a_jpeg_whose_first_scan_is_broken_has_no_original() {
    let mut source = fixture("jpeg-420.jpg");
    let scan = find(&source, &[0xFF, 0xDA]);
    // A component that the frame does not have.
    source[scan + 5] = 77;
    if let Ok(rendered) = render(&source, &originals()) {
        assert!(rendered.damage.is_some() && rendered.renditions.original.is_none());
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_cache_is_passed_by() {
    let directory = tempfile::tempdir().unwrap();
    let source = png_of(drawing(600, 20));
    Cache::open(directory.path()).renditions(&Source::new(&source), &Settings::default()).unwrap();
    let files = walkdir::WalkDir::new(directory.path()).into_iter().flatten();
    for file in files.filter(|file| file.file_type().is_file()) {
        fs::remove_file(file.path()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(file.path()).status().unwrap().success());
    }
    // Were the pipes read or written to, this would never end.
    let cache = Cache::open(directory.path());
    assert_eq!(cache.renditions(&Source::new(&source), &Settings::default()).unwrap().1, Origin::Rendered);
}

/// Returns a PNG that declares a size and holds nothing.
fn png_claiming(width: u32, height: u32, depth: u8) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, 6, 0, 0, 1]].concat();
    let signature = b"\x89PNG\r\n\x1a\n";
    [&signature[..], &png_chunk(b"IHDR", &header), &png_chunk(b"IDAT", b""), &png_chunk(b"IEND", b"")]
        .concat()
}

#[test]
fn no_side_is_longer_than_scaling_can_bear() {
    let settings = Settings::default();
    for (width, height) in [(50_000_000, 1), (1, 50_000_000), (65_536, 1), (1, 65_536)] {
        let problem = header(&png_claiming(width, height, 8), &settings).unwrap_err();
        assert!(matches!(problem, Problem::TooLong { .. }), "{width} x {height}: {problem}");
    }
    assert!(header(&png_claiming(65_535, 1, 8), &settings).is_ok());
}

/// Empty parts take a few bytes of the file and many of its list, before the budget is asked.
#[test]
fn no_file_has_more_parts_than_can_be_listed() {
    const TOO_MANY: usize = (1 << 20) + 1;
    let note = png_chunk(b"tEXt", b"");
    let png = png_of(drawing(9, 7));
    let jpeg = fixture("jpeg-420.jpg");
    let gif = fixture("gif-palette.gif");
    let webp = webp_chunk(b"RIFF", &[&b"WEBP"[..], &webp_chunk(b"junk", b"").repeat(TOO_MANY)].concat());
    let crowded = [
        with(&png, 33, &note.repeat(TOO_MANY)),
        with(&jpeg, 2, &[0xFF, 0x01].repeat(TOO_MANY)),
        with(&gif, gif.len() - 1, &[0x21, 0xFE, 0].repeat(TOO_MANY)),
        webp,
    ];
    for file in crowded {
        let problem = header(&file, &Settings::default()).unwrap_err().to_string();
        assert!(problem.contains("more than a million parts"), "{problem}");
    }
    assert!(header(&with(&png, 33, &note.repeat(10_000)), &Settings::default()).is_ok());
}

#[test]
fn the_budget_counts_what_a_picture_takes() {
    let settings = Settings::default();
    assert!(memory_limit_bytes(&settings) < 900 << 20, "one picture, and all that are decoded at a time");
    // 16-bit samples as decoded, and 8-bit ones made of them.
    let deep = header(&png_claiming(7_000, 7_000, 16), &settings).unwrap();
    assert!(decoding_cost_bytes(&deep) >= 49_000_000 * 12);
    // A grid costs its canvas and a row of its tiles.
    let grid = header(&fixture("heic-grid-phone.heic"), &settings).unwrap();
    assert!(decoding_cost_bytes(&grid) >= u64::from(grid.width) * u64::from(grid.height) * 3);
}

/// As phones of Samsung and Nokia write it: a property with the number zero, which means none.
#[test]
fn a_property_with_the_number_zero_is_none() {
    let source = fixture("heic-photo.heic");
    let place = find(&source, b"ipma");
    // One entry whose list of properties has bytes of one index each; the last becomes zero.
    let count = usize::from(source[place + 4 + 4 + 4 + 2]);
    let last = place + 4 + 4 + 4 + 2 + count;
    let mut zeroed = source.clone();
    let kept = zeroed[last];
    zeroed[last] = 0;
    let shown = upright_pixels(&zeroed, &originals());
    assert!(shown.is_ok(), "index {kept:#x} of {count}: {shown:?}");
}

#[test]
fn pictures_laid_over_each_other_are_refused_in_words() {
    let mut source = fixture("heic-grid.heic");
    let kind = find(&source, b"grid");
    source[kind..kind + 4].copy_from_slice(b"iovl");
    let problem = render(&source, &originals()).unwrap_err().to_string();
    assert!(problem.contains("laid over each other"), "{problem}");
}

#[test]
fn tiles_that_do_not_make_the_picture_are_refused() {
    let source = fixture("heic-grid-bomb.heic");
    let problem = render(&source, &originals()).unwrap_err();
    println!("{problem}");
    assert!(matches!(
        problem,
        Problem::Undecodable { .. } | Problem::TooManyPixels { .. } | Problem::TooLong { .. }
    ));
}

#[test]
fn high_dynamic_range_is_converted_and_never_passed_on() {
    let source = png_of(drawing(60, 40));
    for (primaries, transfer) in [(9, 16), (9, 18), (12, 16), (77, 99)] {
        let labelled = with(&source, 33, &png_chunk(b"cICP", &[primaries, transfer, 0, 1]));
        let rendered = render(&labelled, &Settings::default()).unwrap();
        assert_eq!(rendered.renditions.large.media_type, MediaType::Webp, "{primaries}, {transfer}");
        let same = upright_pixels(&labelled, &originals()) == upright_pixels(&source, &originals());
        assert_eq!(same, transfer == 99, "{primaries}, {transfer}: converted");
    }
}

#[test]
fn what_strict_readers_refuse_is_not_passed_on() {
    let source = png_of(drawing(60, 40));
    let data = find(&source, b"IDAT");
    // Another checksum at the end of the compressed data; lenient decoders do not look at it.
    let end = source.len() - 12;
    let body = &source[data + 4..end - 4];
    let mut wrong = body.to_vec();
    *wrong.last_mut().unwrap() ^= 0x55;
    let damaged = [&source[..data - 4], &png_chunk(b"IDAT", &wrong), &source[end..]].concat();
    match render(&damaged, &Settings::default()) {
        Ok(rendered) => {
            assert_eq!(rendered.renditions.large.media_type, MediaType::Webp);
            assert!(rendered.damage.is_some(), "and it is told");
        }
        Err(problem) => assert!(problem.to_string().contains("PNG does not decode"), "{problem}"),
    }
}

/// libwebp refuses such files, and browsers with it; our decoder looks away.
#[test]
fn a_webp_of_no_known_kind_is_refused_in_words() {
    let source = fixture("webp-lossy.webp");
    let head = find(&source, b"VP8 ") + 8;
    assert!(render(&source, &originals()).is_ok());
    let [first, second, third]: [u8; 3] = source[head..head + 3].try_into().unwrap();
    let unknown = [first & 0b1111_0001 | 0b1100, second, third];
    let hidden = [first & 0b1110_1111, second, third];
    for (what, bytes) in
        [("version 6", unknown), ("hidden", hidden), ("a first part too long", [first, 255, 255])]
    {
        let file = [&source[..head], &bytes, &source[head + 3..]].concat();
        let problem = render(&file, &originals()).unwrap_err().to_string();
        assert!(problem.contains("no known kind, or not to be shown"), "{what}: {problem}");
    }
}

#[test]
fn reasons_are_in_words() {
    let source = fixture("jpeg-420.jpg");
    let frame = find(&source, &[0xFF, 0xC0]);
    let mut lossless = source.clone();
    lossless[frame + 1] = 0xC3;
    let problem = render(&lossless, &Settings::default()).unwrap_err().to_string();
    assert!(problem.contains("lossless JPEG"), "{problem}");

    let palette = fixture("png-palette.png");
    let place = find(&palette, b"PLTE") - 4;
    let length = u32::from_be_bytes(palette[place..place + 4].try_into().unwrap()) as usize;
    let without = [&palette[..place], &palette[place + 12 + length..]].concat();
    let problem = render(&without, &Settings::default()).unwrap_err().to_string();
    assert!(!problem.contains(['{', '[', '"']), "{problem}");
}
