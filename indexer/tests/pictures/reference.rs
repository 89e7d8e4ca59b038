//! Pictures against the reference decodes in `fixtures/pictures`, and the promises renditions make.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test may panic; clippy spares test functions only, not their helpers"
)]

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use serde::Deserialize;
use wakashu_indexer::picture::{
    self, Cache, Channels, Encoded, MediaType, Origin, Problem, Raster, Renditions, Settings, Source,
    decoding_cost_bytes, header, sniff, upright_pixels, verify,
};

/// One line of `fixtures/pictures/manifest.json`.
#[derive(Deserialize)]
struct Reference {
    file: String,
    expect: String,
    #[serde(default)]
    width: u32,
    #[serde(default)]
    height: u32,
    #[serde(default)]
    alpha: bool,
    #[serde(default)]
    max_difference: u8,
    #[serde(default)]
    mean_difference: f64,
    passes: Option<bool>,
    #[serde(default)]
    hides: Vec<String>,
    #[serde(default)]
    mentions: Vec<String>,
}

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/pictures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn references(expect: &str) -> Vec<Reference> {
    let all: Vec<Reference> = serde_json::from_slice(&fixture("manifest.json")).unwrap();
    let chosen: Vec<Reference> = all.into_iter().filter(|reference| reference.expect == expect).collect();
    assert!(chosen.len() > 10, "{} references", chosen.len());
    chosen
}

/// Makes the renditions of a picture, damaged or not.
fn render(source: &[u8], settings: &Settings) -> Result<Renditions, Problem> {
    picture::render(source, settings).map(|rendered| rendered.renditions)
}

/// Returns what can be seen: colours multiplied by alpha, and alpha.
fn visible(samples: &[u8], channels: usize) -> Vec<u8> {
    let seen = |colour: u8, alpha: u8| u8::try_from(u32::from(colour) * u32::from(alpha) / 255).unwrap();
    let pixels = samples.chunks(channels);
    pixels
        .flat_map(|pixel| {
            let alpha = pixel.get(3).copied().unwrap_or(255);
            [seen(pixel[0], alpha), seen(pixel[1], alpha), seen(pixel[2], alpha), alpha]
        })
        .collect()
}

fn visible_in(raster: &Raster) -> Vec<u8> {
    visible(&raster.samples, raster.channels.count())
}

fn expected_pixels(name: &str) -> Vec<u8> {
    let reference = image::load_from_memory(&fixture(&format!("{name}.expected.png"))).unwrap();
    visible(&reference.to_rgba8(), 4)
}

/// Returns the greatest and the mean difference.
fn difference(found: &[u8], wanted: &[u8]) -> (u8, f64) {
    assert_eq!(found.len(), wanted.len());
    let steps: Vec<u8> = found.iter().zip(wanted).map(|(found, wanted)| found.abs_diff(*wanted)).collect();
    let sum: f64 = steps.iter().map(|step| f64::from(*step)).sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let mean = sum / steps.len() as f64;
    (steps.into_iter().max().unwrap_or(0), mean)
}

fn all_of(renditions: &Renditions) -> Vec<&Encoded> {
    let Renditions { small, medium, large, original } = renditions;
    [small, medium, large].into_iter().chain(original).collect()
}

fn png_of(image: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.into().write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
    bytes
}

/// Draws something with edges and gradients.
fn drawing(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let rings = (x.wrapping_mul(x) ^ y.wrapping_mul(y)) >> 7;
        Rgb([x, y, rings].map(|value| u8::try_from(value % 256).unwrap()))
    })
}

/// Draws flat areas: many pixels in few bytes.
fn chequers(width: u32, height: u32) -> RgbImage {
    let colours = [Rgb([200, 40, 60]), Rgb([250, 240, 220])];
    RgbImage::from_fn(width, height, |x, y| colours[((x / 64 + y / 64) % 2) as usize])
}

fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()[6]
    };
    RgbImage::from_fn(width, height, |_, _| Rgb([next(), next(), next()]))
}

fn assert_within_bounds(name: &str, renditions: &Renditions) {
    let Renditions { small, medium, large, .. } = renditions;
    for (encoded, edge, bytes) in [(small, 512, 40_000), (medium, 1092, 220_000), (large, 1568, 700_000)] {
        let (width, height) = (encoded.width, encoded.height);
        assert!(width.max(height) <= edge, "{name}: {width} x {height}");
        assert!(width.div_ceil(28) * height.div_ceil(28) <= 1568, "{name}: {width} x {height}");
        assert!(encoded.bytes.len() <= bytes, "{name}: {} bytes", encoded.bytes.len());
        assert_ne!(encoded.media_type, MediaType::Heic, "{name}");
        let verdict = verify(&encoded.bytes, encoded.media_type, width, height, &Settings::default());
        assert_eq!(verdict, Ok(()), "{name}");
    }
    assert!(small.width <= medium.width && medium.width <= large.width, "{name}");
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(directory).into_iter().flatten();
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

#[test]
fn decoded_pixels_are_those_of_the_reference_decoders() {
    let mut failures = Vec::new();
    for reference in references("pixels") {
        let name = &reference.file;
        let found = match upright_pixels(&fixture(name), &Settings::default()) {
            Ok(found) => found,
            Err(problem) => {
                failures.push(format!("{name}: {problem}"));
                continue;
            }
        };
        if (found.width, found.height) != (reference.width, reference.height) {
            failures.push(format!("{name}: {} x {}", found.width, found.height));
            continue;
        }
        if (found.channels == Channels::Rgba) != reference.alpha {
            failures.push(format!("{name}: {:?}", found.channels));
        }
        let (max, mean) = difference(&visible_in(&found), &expected_pixels(name));
        let verdict = format!("{name}: differs by at most {max}, {mean:.3} on average");
        println!("{verdict}");
        if max > reference.max_difference || mean > reference.mean_difference {
            failures.push(verdict);
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn renditions_show_the_picture_and_tell_nothing_else() {
    let settings = Settings { originals: true, ..Settings::default() };
    let mut failures = Vec::new();
    for reference in references("pixels") {
        let name = &reference.file;
        let source = fixture(name);
        let renditions = render(&source, &settings).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert_within_bounds(name, &renditions);
        let passed = renditions.large.media_type == sniff(&source).unwrap()
            && upright_pixels(&renditions.large.bytes, &settings) == upright_pixels(&source, &settings);
        if reference.passes.is_some_and(|passes| passes != passed) {
            failures.push(format!("{name}: passed on: {passed}"));
        }

        let shown = upright_pixels(&renditions.large.bytes, &settings).unwrap();
        let (_, mean) = difference(&visible_in(&shown), &expected_pixels(name));
        // Tiny pictures with hard edges between full colours: lossy WebP halves their chroma.
        if mean > 8.0 {
            failures.push(format!("{name}: rendition differs by {mean:.3} on average"));
        }

        let never = ["GPS", "http://ns.adobe.com/xap", "<x:xmpmeta"].map(str::to_owned);
        for secret in reference.hides.iter().chain(&never) {
            for encoded in all_of(&renditions) {
                if encoded.bytes.windows(secret.len()).any(|window| window == secret.as_bytes()) {
                    failures.push(format!("{name}: `{secret}` is in {} bytes", encoded.bytes.len()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn originals_show_the_same_picture_without_metadata() {
    let settings = Settings { originals: true, ..Settings::default() };
    let keeping = Settings { keep_metadata: true, ..settings.clone() };
    for reference in references("pixels") {
        let name = &reference.file;
        let source = fixture(name);
        let original = render(&source, &settings).unwrap().original.unwrap();
        let (before, after) =
            (header(&source, &settings).unwrap(), header(&original.bytes, &settings).unwrap());
        assert_eq!((before.format, before.animated), (after.format, after.animated), "{name}");
        let pixels = upright_pixels(&original.bytes, &settings).unwrap();
        assert_eq!(pixels, upright_pixels(&source, &settings).unwrap(), "{name}");
        let (width, height) = (original.width, original.height);
        assert_eq!(verify(&original.bytes, original.media_type, width, height, &settings), Ok(()));

        let kept = render(&source, &keeping).unwrap();
        assert_eq!(kept.original.unwrap().bytes, source, "{name}");
    }
}

#[test]
fn refused_files_are_refused_quickly_and_in_words() {
    for reference in references("refusal") {
        let name = &reference.file;
        let started = Instant::now();
        let problem = render(&fixture(name), &Settings::default()).expect_err(name);
        assert!(started.elapsed() < Duration::from_secs(10), "{name} took {:?}", started.elapsed());
        println!("{name}: {problem} ({})", problem.hint());
        for word in &reference.mentions {
            assert!(problem.to_string().contains(word), "{name}: {problem}");
        }
        assert!(!problem.hint().is_empty());
    }
}

#[test]
fn what_fits_is_passed_on_byte_for_byte() {
    let source = png_of(chequers(300, 200));
    let renditions = render(&source, &Settings::default()).unwrap();
    for encoded in all_of(&renditions) {
        assert_eq!((&encoded.bytes[..], encoded.media_type), (&source[..], MediaType::Png));
    }
    assert_eq!(renditions.small.bytes.as_ptr(), renditions.large.bytes.as_ptr(), "one copy serves all");

    // Too many pixels for `small`, few enough for the others.
    let source = png_of(chequers(1024, 768));
    let renditions = render(&source, &Settings::default()).unwrap();
    assert_eq!(renditions.large.bytes, source);
    assert_eq!(renditions.medium.bytes, source);
    assert_eq!((renditions.small.width, renditions.small.height), (512, 384));
}

#[test]
fn metadata_is_kept_only_when_asked_for() {
    let source = fixture("jpeg-metadata.jpg");
    let kept = render(&source, &Settings { keep_metadata: true, ..Settings::default() }).unwrap();
    assert_eq!(kept.large.bytes, source);
    let stripped = render(&source, &Settings::default()).unwrap();
    assert!(stripped.large.bytes.len() < source.len());
    assert_eq!(stripped.large.media_type, MediaType::Jpeg);
}

#[test]
fn bounds_hold_at_their_edges() {
    let wide = [(1568, 784), (1568, 1568), (1569, 700), (1092, 1092), (1093, 600), (512, 512), (513, 512)];
    for (width, height) in wide.into_iter().chain([(1, 1), (1, 20_000), (20_000, 1)]) {
        let renditions = render(&png_of(drawing(width, height)), &Settings::default()).unwrap();
        assert_within_bounds(&format!("{width} x {height}"), &renditions);
    }
}

#[test]
fn noise_gives_way_in_quality_and_then_in_size() {
    let renditions = render(&png_of(noise(1500, 1000)), &Settings::default()).unwrap();
    assert_within_bounds("noise", &renditions);
    let Renditions { small, medium, large, .. } = renditions;
    assert!(small.bytes.len() <= medium.bytes.len() && medium.bytes.len() <= large.bytes.len());
}

#[test]
fn transparency_survives() {
    let disc = RgbaImage::from_fn(1800, 1800, |x, y| {
        let (dx, dy) = (i64::from(x) - 900, i64::from(y) - 900);
        if dx * dx + dy * dy < 800 * 800 { Rgba([20, 90, 200, 255]) } else { Rgba([0, 0, 0, 0]) }
    });
    let renditions = render(&png_of(disc), &Settings::default()).unwrap();
    assert_within_bounds("disc", &renditions);
    for encoded in all_of(&renditions) {
        let shown = upright_pixels(&encoded.bytes, &Settings::default()).unwrap();
        assert_eq!(shown.channels, Channels::Rgba);
        assert_eq!(shown.samples[3], 0, "the corner is clear");
        let middle = (shown.height / 2 * shown.width + shown.width / 2) as usize * 4;
        assert!(shown.samples[middle + 2] > 180 && shown.samples[middle + 3] == 255);
    }
}

#[test]
fn the_pixel_limit_is_exact_and_can_be_set() {
    let source = png_of(drawing(100, 50));
    let limited = |max_pixels| header(&source, &Settings { max_pixels, ..Settings::default() });
    assert!(decoding_cost_bytes(&limited(5_000).unwrap()) > 5_000 * 3);
    let problem = limited(4_999).unwrap_err();
    assert_eq!(problem, Problem::TooManyPixels { width: 100, height: 50, limit: 4_999 });
    assert!(problem.hint().contains("--max-pixels 5000"));
}

#[test]
fn renditions_do_not_depend_on_the_thread() {
    let source = png_of(drawing(1700, 900));
    let once = render(&source, &Settings::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(render(&source, &Settings::default()).unwrap(), once));
        }
    });
}

#[test]
fn verify_notices_a_wrong_type_a_wrong_size_and_damage() {
    let settings = Settings::default();
    let source = png_of(drawing(60, 40));
    assert_eq!(verify(&source, MediaType::Png, 60, 40, &settings), Ok(()));
    assert!(matches!(verify(&source, MediaType::Webp, 60, 40, &settings), Err(Problem::OtherType { .. })));
    assert!(matches!(verify(&source, MediaType::Png, 61, 40, &settings), Err(Problem::OtherSize { .. })));
    let mut damaged = source.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xFF;
    assert!(verify(&damaged, MediaType::Png, 60, 40, &settings).is_err());
    assert!(verify(&source[..source.len() - 20], MediaType::Png, 60, 40, &settings).is_err());
    let bomb = fixture("png-bomb.png");
    assert!(matches!(
        verify(&bomb, MediaType::Png, 60_000, 60_000, &settings),
        Err(Problem::TooManyPixels { .. })
    ));
}

#[test]
fn neither_cuts_nor_changed_bytes_make_it_panic_or_break_a_bound() {
    let settings = Settings { originals: true, ..Settings::default() };
    for reference in references("pixels") {
        let source = fixture(&reference.file);
        let step = (source.len() / 12).max(1);
        for position in (0..source.len()).step_by(step) {
            let _ = render(&source[..position], &settings);
            let mut damaged = source.clone();
            damaged[position] ^= 0x55;
            if let Ok(renditions) = render(&damaged, &settings) {
                assert_within_bounds(
                    &format!("{} with byte {position} changed", reference.file),
                    &renditions,
                );
            }
        }
    }
}

#[test]
fn the_cache_returns_what_was_rendered_whatever_happens_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { originals: true, ..Settings::default() };
    let source = fixture("jpeg-phone.jpg");
    let fresh = picture::render(&source, &settings).unwrap();

    let cache = Cache::open(directory.path());
    assert_eq!(
        cache.renditions(&Source::new(&source), &settings).unwrap(),
        (fresh.clone(), Origin::Rendered)
    );
    assert_eq!(cache.renditions(&Source::new(&source), &settings).unwrap(), (fresh.clone(), Origin::Cached));
    let other = Settings { keep_metadata: true, ..settings.clone() };
    assert_eq!(cache.renditions(&Source::new(&source), &other).unwrap().1, Origin::Rendered);

    for file in files_in(directory.path()) {
        fs::write(file, b"not an entry").unwrap();
    }
    assert_eq!(
        cache.renditions(&Source::new(&source), &settings).unwrap(),
        (fresh.clone(), Origin::Rendered)
    );
    assert_eq!(cache.renditions(&Source::new(&source), &settings).unwrap(), (fresh, Origin::Cached));

    // What is in the cache is still subject to the limit of the day.
    let strict = Settings { max_pixels: 10, ..settings };
    assert!(matches!(cache.renditions(&Source::new(&source), &strict), Err(Problem::TooManyPixels { .. })));
}

#[test]
fn one_cache_serves_many_builds_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let sources: Vec<Vec<u8>> = (0..6).map(|index| png_of(drawing(520 + index, 64))).collect();
    let settings = Settings::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cache = Cache::open(directory.path());
                for source in &sources {
                    let (renditions, _) = cache.renditions(&Source::new(source), &settings).unwrap();
                    assert_eq!(renditions, picture::render(source, &settings).unwrap());
                }
            });
        }
    });
    let cache = Cache::open(directory.path());
    for source in &sources {
        assert_eq!(cache.renditions(&Source::new(source), &settings).unwrap().1, Origin::Cached);
    }
    let temporary = |file: &PathBuf| file.extension().is_some();
    assert!(!files_in(directory.path()).iter().any(temporary), "no temporary files stay");
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    let source = fixture("png-rgb8.png");
    for cache in [Cache::open(&file.join("cache")), Cache::disabled()] {
        for _ in 0..2 {
            assert_eq!(
                cache.renditions(&Source::new(&source), &Settings::default()).unwrap().1,
                Origin::Rendered
            );
        }
    }
}

/// Found by fuzzing: its decoder finds other segments than stripping does, and what was left was passed on unseen.
#[test]
fn a_jpeg_that_does_not_decode_without_its_metadata_is_encoded_anew() {
    let source = include_bytes!("regressions/undecodable-once-stripped.jpg");
    let settings = Settings::default();
    let renditions = render(source, &settings).unwrap();
    for made in [&renditions.small, &renditions.medium, &renditions.large] {
        assert_eq!(verify(&made.bytes, made.media_type, made.width, made.height, &settings), Ok(()));
    }
}
