//! HEIC: ISO base media boxes.
//!
//! A file is read into the pictures that make up what is shown (the primary item, its tiles, its alpha), and whatever
//! is wanted of them is written as a file of its own: a part for the decoder, or the whole as an original. Everything
//! else in the file, and that can be a video, stays behind.

use std::collections::BTreeMap;
use std::ops::Range;

use wakashu_archive::MediaType;

use super::hevc::{self, Sequence};
use super::{Cicp, Facts, Piece, Purpose, pixels};
use crate::picture::colour;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

mod write;

pub(crate) use write::write_row;

type BoxPiece = Piece<[u8; 4]>;

/// How often an item may be derived from another one that is derived.
const MAX_DERIVATIONS: usize = 8;
const ALPHA_KINDS: [&[u8]; 3] = [
    b"urn:mpeg:hevc:2015:auxid:1",
    b"urn:mpeg:avc:2015:auxid:1",
    b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
];

/// What is shown of a file.
pub(crate) struct Still {
    pub(crate) colour: Picture,
    pub(crate) alpha: Option<Alpha>,
}

pub(crate) struct Alpha {
    pub(crate) picture: Picture,
    /// The colours are already multiplied by alpha.
    pub(crate) premultiplied: bool,
}

/// A picture made of one or more coded ones.
pub(crate) struct Picture {
    /// Row by row.
    pub(crate) tiles: Vec<Tile>,
    pub(crate) columns: usize,
    /// The size once the tiles are put together.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The part that is shown.
    pub(crate) window: Window,
    /// Which way is up.
    pub(crate) orientation: Orientation,
    /// The sizes that boxes claim, which another decoder may allocate by.
    claimed: Vec<(u32, u32)>,
    /// A coded picture that the first tile is predicted from.
    reference: Option<Tile>,
    /// The properties of orientation and crop as they stand in the file.
    transforms: Vec<([u8; 4], Vec<u8>)>,
    pub(crate) profile: Option<Vec<u8>>,
    pub(crate) code_points: Option<CodePoints>,
}

/// A part of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// Colours as a `colr` box of the kind `nclx` describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePoints {
    pub(crate) primaries: u16,
    pub(crate) transfer: u16,
    pub(crate) matrix: u16,
    pub(crate) full_range: bool,
}

/// One coded picture.
pub(crate) struct Tile {
    configuration: Vec<u8>,
    data: Vec<Range<usize>>,
    pub(crate) sequence: Sequence,
}

impl Still {
    /// Reads a file; `Ok(None)` if it has no still picture but may have a sequence of them.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, Problem> {
        let Some(items) = Items::read(bytes)? else { return Ok(None) };
        let colour = items.picture(items.primary)?;
        let alpha = items.alpha()?;
        Ok(Some(Self { colour, alpha }))
    }
}

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let Some(still) = Still::read(bytes)? else { return inspect_sequence(bytes) };
    let colour = &still.colour;
    let largest = |picture: &Picture| {
        let coded = picture.tiles.iter().chain(&picture.reference).map(|tile| tile.sequence.coded);
        let claimed = picture.claimed.iter().copied();
        coded.chain(claimed).chain([(picture.width, picture.height)]).max_by_key(|size| pixels(*size))
    };
    let pictures = [Some(colour), still.alpha.as_ref().map(|alpha| &alpha.picture)];
    let largest = pictures.into_iter().flatten().filter_map(largest).max_by_key(|size| pixels(*size));
    let deep = colour.tiles.first().is_some_and(|tile| tile.sequence.bits > 8);
    let canvas = pixels((colour.width, colour.height))
        .saturating_mul(if deep { 2 } else { 1 } * if still.alpha.is_some() { 4 } else { 3 });
    let rows = [Some(colour), still.alpha.as_ref().map(|alpha| &alpha.picture)];
    let row = rows.into_iter().flatten().map(Picture::row_bytes).max().unwrap_or(0);
    Ok(Facts {
        width: colour.window.width,
        height: colour.window.height,
        largest: largest.unwrap_or((colour.width, colour.height)),
        // Rotation and mirroring boxes alone count in HEIC, EXIF does not.
        orientation: colour.orientation,
        animated: false,
        plain: false,
        has_profile: colour.profile.is_some(),
        cicp: None,
        decoding_bytes: canvas.saturating_add(row),
        decoded_bytes_per_pixel: if deep { 8 } else { 4 },
    })
}

/// Reads the size of a file that has a sequence of pictures and no still one.
fn inspect_sequence(bytes: &[u8]) -> Result<Facts, Problem> {
    use heic_decoder::HeifError;
    let problem = |error: HeifError| match error {
        HeifError::Truncated { .. } => Problem::cut_short(MediaType::Heic, "its boxes run past its end"),
        other => Problem::undecodable(MediaType::Heic, other.to_string()),
    };
    let info =
        crate::picture::guard::guarded(MediaType::Heic, || heic_decoder::probe(bytes).map_err(problem))?;
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let coded = (side(info.coded_width), side(info.coded_height));
    Ok(Facts {
        width: side(info.width),
        height: side(info.height),
        largest: coded,
        orientation: Orientation::default(),
        animated: true,
        plain: false,
        has_profile: false,
        cicp: None,
        decoding_bytes: pixels(coded).saturating_mul(write::coded_pixel_bytes(3)),
        decoded_bytes_per_pixel: 8,
    })
}

/// Writes an original anew: what is shown, and nothing else.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    debug_assert!(purpose == Purpose::Original, "no client shows HEIC");
    let broken = || Problem::undecodable(MediaType::Heic, "its coded pictures are broken");
    let still = Still::read(bytes)?.ok_or_else(|| {
        Problem::undecodable(
            MediaType::Heic,
            "it is a sequence of pictures, which cannot be kept as an original",
        )
    })?;
    write::write_still(bytes, &still).ok_or_else(broken)
}

impl Picture {
    /// Returns the rows of tiles.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Tile]> {
        self.tiles.chunks(self.columns.max(1))
    }

    /// Returns the height of all rows of tiles but the last.
    pub(crate) fn row_height(&self) -> u32 {
        self.tiles.first().map_or(1, |tile| tile.sequence.shown.1)
    }

    /// Estimates the memory that the decoder takes for one row of tiles, at its peak.
    fn row_bytes(&self) -> u64 {
        let row = |tiles: &[Tile]| {
            let bytes = |tile: &Tile| {
                pixels(tile.sequence.coded)
                    .saturating_mul(write::coded_pixel_bytes(tile.sequence.chroma_format))
            };
            tiles.iter().chain(&self.reference).map(bytes).sum()
        };
        self.rows().map(row).max().unwrap_or(0)
    }
}

impl Tile {
    fn data_bytes(&self) -> usize {
        self.data.iter().map(ExactSizeIterator::len).sum()
    }
}

/// How items refer to each other: kind, from and to.
type Reference = ([u8; 4], u32, Vec<u32>);

/// The items of a file.
struct Items<'a> {
    bytes: &'a [u8],
    primary: u32,
    kinds: BTreeMap<u32, [u8; 4]>,
    extents: BTreeMap<u32, Vec<Range<usize>>>,
    properties: Vec<BoxPiece>,
    associations: BTreeMap<u32, Vec<usize>>,
    references: Vec<Reference>,
}

fn undecodable(reason: &'static str) -> Problem {
    Problem::undecodable(MediaType::Heic, reason)
}

fn cut_short() -> Problem {
    Problem::cut_short(MediaType::Heic, "its boxes run past its end")
}

impl<'a> Items<'a> {
    fn read(bytes: &'a [u8]) -> Result<Option<Self>, Problem> {
        let (top, complete) = boxes_until_broken(bytes, 0..bytes.len());
        let Some(meta) = top.iter().find(|piece| piece.tag == *b"meta") else {
            let sequence = top.iter().any(|piece| piece.tag == *b"moov");
            return match (sequence, complete) {
                (true, _) => Ok(None),
                (false, true) => Err(undecodable("there is no picture in it")),
                (false, false) => Err(cut_short()),
            };
        };
        let broken = || undecodable("the boxes that describe its pictures are broken");
        // A full box: four bytes of version and flags come first.
        let children = boxes(bytes, meta.body.start + 4..meta.body.end).ok_or_else(broken)?;
        let child = |tag: &[u8; 4]| children.iter().find(|piece| piece.tag == *tag);
        let primary = child(b"pitm").and_then(|piece| {
            let mut reader = Reader::new(piece.body(bytes));
            let wide = reader.u32_be()? >> 24 != 0;
            item_id(&mut reader, wide)
        });
        let info = child(b"iinf").ok_or_else(broken)?;
        let locations = child(b"iloc").ok_or_else(broken)?;
        let data_box = child(b"idat").map_or(0..0, |piece| piece.body.clone());
        let properties =
            child(b"iprp").and_then(|piece| boxes(bytes, piece.body.clone())).ok_or_else(broken)?;
        let container = properties.iter().find(|piece| piece.tag == *b"ipco").ok_or_else(broken)?;
        let mut associations = BTreeMap::new();
        for piece in properties.iter().filter(|piece| piece.tag == *b"ipma") {
            read_associations(piece.body(bytes), &mut associations).ok_or_else(broken)?;
        }
        let references =
            child(b"iref").map_or_else(|| Some(Vec::new()), |piece| read_references(bytes, piece));
        Ok(Some(Self {
            bytes,
            primary: primary.ok_or_else(|| undecodable("it does not say which of its pictures is meant"))?,
            kinds: read_kinds(bytes, info).ok_or_else(broken)?,
            extents: read_extents(locations.body(bytes), &data_box).ok_or_else(broken)?,
            properties: boxes(bytes, container.body.clone()).ok_or_else(broken)?,
            associations,
            references: references.ok_or_else(broken)?,
        }))
    }

    /// Returns the properties of an item in the order in which they apply; an index of zero means none.
    fn properties(&self, item: u32) -> impl Iterator<Item = &BoxPiece> {
        let indices = self.associations.get(&item).map(Vec::as_slice).unwrap_or_default();
        indices.iter().filter_map(|index| self.properties.get(index.checked_sub(1)?))
    }

    fn property(&self, item: u32, tag: [u8; 4]) -> Option<&'a [u8]> {
        self.properties(item).find(|piece| piece.tag == tag).map(|piece| piece.body(self.bytes))
    }

    fn references(&self, kind: [u8; 4], from: u32) -> Option<&[u32]> {
        let found = self.references.iter().find(|(found, item, _)| *found == kind && *item == from);
        found.map(|(.., to)| to.as_slice())
    }

    fn extents(&self, item: u32) -> Result<Vec<Range<usize>>, Problem> {
        let extents =
            self.extents.get(&item).ok_or_else(|| undecodable("a part of its picture is missing"))?;
        if extents.iter().any(|extent| extent.end > self.bytes.len()) {
            return Err(cut_short());
        }
        Ok(extents.clone())
    }

    fn data(&self, item: u32) -> Result<Vec<u8>, Problem> {
        let extents = self.extents(item)?;
        Ok(extents
            .into_iter()
            .flat_map(|extent| self.bytes.get(extent).unwrap_or_default())
            .copied()
            .collect())
    }

    fn tile(&self, item: u32) -> Result<Tile, Problem> {
        match self.kinds.get(&item) {
            Some(b"hvc1") => {}
            Some(b"av01") => return Err(Problem::Unsupported { found: "AVIF" }),
            Some(b"iovl") => return Err(undecodable("it is several pictures laid over each other (`iovl`)")),
            Some(b"grid") => return Err(undecodable("its tiles are made of tiles themselves")),
            Some(_) => return Err(undecodable("its pictures are not coded as HEVC")),
            None => return Err(undecodable("a part of its picture is missing")),
        }
        let broken = || undecodable("the description of its coded picture is broken");
        let configuration = self.property(item, *b"hvcC").ok_or_else(broken)?;
        let sequence = hevc::sequence(configuration).ok_or_else(broken)?;
        let configuration = hevc::rebuild_configuration(configuration).ok_or_else(broken)?;
        Ok(Tile { configuration, data: self.extents(item)?, sequence })
    }

    fn picture(&self, item: u32) -> Result<Picture, Problem> {
        let mut chain = vec![item];
        let mut source = item;
        while self.kinds.get(&source) == Some(b"iden") {
            source = match self.references(*b"dimg", source) {
                Some([only]) if chain.len() < MAX_DERIVATIONS => *only,
                _ => return Err(undecodable("what its picture is derived from is missing")),
            };
            chain.push(source);
        }
        let grid = self.kinds.get(&source) == Some(b"grid");
        let tile_items =
            if grid { self.references(*b"dimg", source).unwrap_or_default().to_vec() } else { vec![source] };
        let tiles = tile_items.iter().map(|item| self.tile(*item)).collect::<Result<Vec<_>, _>>()?;
        let first = tiles.first().ok_or_else(|| undecodable("its tiles are missing"))?.sequence;
        let (columns, width, height) = if grid {
            let grid = Grid::read(&self.data(source)?).ok_or_else(|| undecodable("its grid is broken"))?;
            if !grid.is_covered_by(tiles.len(), first.shown) {
                return Err(undecodable("its tiles do not make its picture"));
            }
            (grid.columns, grid.width, grid.height)
        } else {
            (1, first.shown.0, first.shown.1)
        };
        // Tiles that share their bytes cost nothing in the file and everything in the decoder.
        let shared = tiles.iter().map(|tile| tile.data_bytes() as u64).sum::<u64>();
        if shared > 2 * self.bytes.len() as u64 + (16 << 20) {
            return Err(undecodable("its tiles are larger than the file"));
        }
        let reference = match self.references(*b"pred", source) {
            None | Some([]) => None,
            Some([only]) if !grid => Some(self.tile(*only)?),
            Some(_) => return Err(undecodable("it is predicted from several pictures")),
        };

        let mut transforms = Vec::new();
        for item in chain.iter().rev() {
            for piece in
                self.properties(*item).filter(|piece| matches!(&piece.tag, b"clap" | b"irot" | b"imir"))
            {
                transforms.push((piece.tag, piece.body(self.bytes).to_owned()));
            }
        }
        let whole = Window { left: 0, top: 0, width, height };
        let (window, orientation) = view(whole, &transforms)?;

        // Some writers describe the colours of the tiles rather than of the grid.
        let mut profile = None;
        let mut code_points = None;
        for item in chain.iter().chain(&tile_items) {
            for piece in self.properties(*item).filter(|piece| piece.tag == *b"colr") {
                match piece.body(self.bytes).split_first_chunk::<4>() {
                    Some((b"nclx", body)) => code_points = code_points.or_else(|| CodePoints::read(body)),
                    Some((b"prof" | b"rICC", body)) => profile = profile.or_else(|| Some(body.to_owned())),
                    _ => {}
                }
            }
            if profile.is_some() && code_points.is_some() {
                break;
            }
        }
        let claim = |item: &u32| {
            let mut reader = Reader::new(self.property(*item, *b"ispe")?);
            let _version_and_flags = reader.u32_be()?;
            Some((reader.u32_be()?, reader.u32_be()?))
        };
        Ok(Picture {
            claimed: chain.iter().chain(&tile_items).filter_map(claim).collect(),
            tiles,
            columns,
            width,
            height,
            window,
            orientation,
            reference,
            transforms,
            profile,
            code_points,
        })
    }

    /// Returns the alpha of the primary picture.
    fn alpha(&self) -> Result<Option<Alpha>, Problem> {
        let is_alpha = |item: u32| {
            let kind = self.property(item, *b"auxC").and_then(|body| body.get(4..));
            kind.and_then(|kind| kind.split(|byte| *byte == 0).next())
                .is_some_and(|kind| ALPHA_KINDS.contains(&kind))
        };
        let links = self.references.iter().filter(|(kind, from, to)| {
            kind == b"auxl" && to.contains(&self.primary) && *from != self.primary && is_alpha(*from)
        });
        let Some((_, item, _)) = links.into_iter().next() else { return Ok(None) };
        let premultiplied = self.references(*b"prem", self.primary).is_some_and(|to| to.contains(item));
        Ok(Some(Alpha { picture: self.picture(*item)?, premultiplied }))
    }
}

/// How tiles are laid out.
struct Grid {
    rows: usize,
    columns: usize,
    width: u32,
    height: u32,
}

impl Grid {
    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let _version = reader.u8()?;
        let wide = reader.u8()? & 1 != 0;
        let (rows, columns) = (usize::from(reader.u8()?) + 1, usize::from(reader.u8()?) + 1);
        let mut side = || if wide { reader.u32_be() } else { reader.u16_be().map(u32::from) };
        let (width, height) = (side()?, side()?);
        (width > 0 && height > 0).then_some(Self { rows, columns, width, height })
    }

    /// Tells whether so many tiles cover the picture, and none of them lies outside.
    fn is_covered_by(&self, tiles: usize, tile: (u32, u32)) -> bool {
        let covered = |count: usize, tile: u32, length: u32| {
            let (count, tile, length) = (count as u64, u64::from(tile), u64::from(length));
            count * tile >= length && (count - 1) * tile < length
        };
        tiles == self.rows * self.columns
            && covered(self.columns, tile.0, self.width)
            && covered(self.rows, tile.1, self.height)
    }
}

impl CodePoints {
    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        Some(Self {
            primaries: reader.u16_be()?,
            transfer: reader.u16_be()?,
            matrix: reader.u16_be()?,
            full_range: reader.u8()? & 0x80 != 0,
        })
    }

    /// Returns primaries and transfer function.
    pub(crate) fn cicp(self) -> Option<Cicp> {
        Some(Cicp {
            primaries: u8::try_from(self.primaries).ok()?,
            transfer: u8::try_from(self.transfer).ok()?,
        })
    }
}

/// Returns what is shown of a picture, and which way is up, after all crops and turns in their order.
fn view(whole: Window, transforms: &[([u8; 4], Vec<u8>)]) -> Result<(Window, Orientation), Problem> {
    let (mut window, mut orientation) = (whole, Orientation::default());
    for (tag, body) in transforms {
        let value = body.first().copied().unwrap_or(0);
        match tag {
            b"irot" => (0..value & 3).for_each(|_| orientation = orientation.turned_left()),
            b"imir" => orientation = orientation.mirrored(value & 1 == 1),
            _ => {
                let shown = orientation.upright_size(window.width, window.height);
                let crop =
                    read_crop(body, shown).ok_or_else(|| undecodable("its crop lies outside the picture"))?;
                let (left, top, width, height) = orientation.stored_part(shown, crop);
                window = Window { left: window.left + left, top: window.top + top, width, height };
            }
        }
    }
    Ok((window, orientation))
}

/// Reads a crop (`clap`): left, top, width and height.
fn read_crop(body: &[u8], (width, height): (u32, u32)) -> Option<(u32, u32, u32, u32)> {
    let mut reader = Reader::new(body);
    let mut pair = || Some((i64::from(reader.u32_be()?), i64::from(reader.u32_be()?)));
    let (crop_width, crop_height, across, down) = (pair()?, pair()?, pair()?, pair()?);
    let axis = |full: u32, (length, length_unit): (i64, i64), (offset, offset_unit): (i64, i64)| {
        let length = length.checked_div(length_unit)?;
        // Offsets are signed; they count from middle to middle.
        let offset = i64::from(u32::try_from(offset).ok()?.cast_signed());
        let start = ((i64::from(full) - length).checked_mul(offset_unit)? + 2 * offset)
            .checked_div(2 * offset_unit)?;
        let (start, length) = (u32::try_from(start).ok()?, u32::try_from(length).ok()?);
        (length > 0 && start.checked_add(length)? <= full).then_some((start, length))
    };
    let (left, crop_width) = axis(width, crop_width, across)?;
    let (top, crop_height) = axis(height, crop_height, down)?;
    Some((left, top, crop_width, crop_height))
}

/// Lists the boxes within a part of the file; `None` if one runs past its end.
fn boxes(file: &[u8], within: Range<usize>) -> Option<Vec<BoxPiece>> {
    let (boxes, complete) = boxes_until_broken(file, within);
    complete.then_some(boxes)
}

/// Lists the boxes up to one that runs past the end, and tells whether there is none such.
fn boxes_until_broken(file: &[u8], within: Range<usize>) -> (Vec<BoxPiece>, bool) {
    let mut boxes = Vec::new();
    let Some(part) = file.get(..within.end) else { return (boxes, false) };
    let mut reader = Reader::new(part);
    if reader.take(within.start).is_none() {
        return (boxes, false);
    }
    while !reader.is_at_end() {
        match read_box(&mut reader, within.end) {
            Some(piece) => boxes.push(piece),
            None => return (boxes, false),
        }
    }
    (boxes, true)
}

fn read_box(reader: &mut Reader<'_>, end: usize) -> Option<BoxPiece> {
    let start = reader.position();
    let short_length = reader.u32_be()?;
    let tag = reader.array()?;
    let length = match short_length {
        0 => end - start,
        1 => usize::try_from(reader.u64_be()?).ok()?,
        length => length as usize,
    };
    let body_start = reader.position();
    reader.take(length.checked_sub(body_start - start)?)?;
    Some(BoxPiece { tag, span: start..reader.position(), body: body_start..reader.position() })
}

fn item_id(reader: &mut Reader<'_>, wide: bool) -> Option<u32> {
    if wide { reader.u32_be() } else { reader.u16_be().map(u32::from) }
}

/// Returns the types of the items.
fn read_kinds(file: &[u8], info: &BoxPiece) -> Option<BTreeMap<u32, [u8; 4]>> {
    let version = *info.body(file).first()?;
    let header_bytes = if version == 0 { 6 } else { 8 };
    let mut kinds = BTreeMap::new();
    for entry in boxes(file, info.body.start + header_bytes..info.body.end)? {
        let mut reader = Reader::new(entry.body(file));
        let version = reader.u32_be()? >> 24;
        // The oldest forms name no type; pictures are never stored in them.
        if version < 2 || entry.tag != *b"infe" {
            continue;
        }
        let id = item_id(&mut reader, version > 2)?;
        let _protection = reader.u16_be()?;
        kinds.insert(id, reader.array()?);
    }
    Some(kinds)
}

/// Reads which properties the items have, by their numbers from one upwards.
fn read_associations(body: &[u8], associations: &mut BTreeMap<u32, Vec<usize>>) -> Option<()> {
    let mut reader = Reader::new(body);
    let head = reader.u32_be()?;
    let (wide_ids, wide_indices) = (head >> 24 != 0, head & 1 != 0);
    for _ in 0..reader.u32_be()? {
        let id = item_id(&mut reader, wide_ids)?;
        let mut indices = Vec::new();
        for _ in 0..reader.u8()? {
            let index = if wide_indices { reader.u16_be()? & 0x7FFF } else { u16::from(reader.u8()? & 0x7F) };
            indices.push(usize::from(index));
        }
        associations.insert(id, indices);
    }
    Some(())
}

/// Reads how items refer to each other.
fn read_references(file: &[u8], piece: &BoxPiece) -> Option<Vec<Reference>> {
    let wide = *piece.body(file).first()? != 0;
    let mut references = Vec::new();
    for reference in boxes(file, piece.body.start + 4..piece.body.end)? {
        let mut reader = Reader::new(reference.body(file));
        let from = item_id(&mut reader, wide)?;
        let count = reader.u16_be()?;
        let to = (0..count).map(|_| item_id(&mut reader, wide)).collect::<Option<Vec<_>>>()?;
        references.push((reference.tag, from, to));
    }
    Some(references)
}

/// Returns where the bytes of each item lie in the file.
fn read_extents(locations: &[u8], data_box: &Range<usize>) -> Option<BTreeMap<u32, Vec<Range<usize>>>> {
    let mut reader = Reader::new(locations);
    let version = reader.u32_be()? >> 24;
    let sizes = reader.u8()?;
    let (offset_bytes, length_bytes) = (sizes >> 4, sizes & 15);
    let sizes = reader.u8()?;
    let (base_bytes, index_bytes) = (sizes >> 4, if version == 0 { 0 } else { sizes & 15 });
    let count = item_id(&mut reader, version > 1)?;
    let mut items = BTreeMap::new();
    for _ in 0..count {
        let id = item_id(&mut reader, version > 1)?;
        let method = if version == 0 { 0 } else { reader.u16_be()? & 15 };
        let _data_reference = reader.u16_be()?;
        let base = sized(&mut reader, base_bytes)?;
        let mut extents = Vec::new();
        for _ in 0..reader.u16_be()? {
            sized(&mut reader, index_bytes)?;
            let offset = sized(&mut reader, offset_bytes)?;
            let length = sized(&mut reader, length_bytes)?;
            let start = base.checked_add(offset)?;
            match method {
                0 => extents.push(start..start.checked_add(length)?),
                1 => {
                    let start = data_box.start.checked_add(start)?;
                    // No length means all there is.
                    let end = if length == 0 { data_box.end } else { start.checked_add(length)? };
                    extents.push(start..end.min(data_box.end).max(start));
                }
                // Parts of other items.
                _ => {}
            }
        }
        items.insert(id, extents);
    }
    Some(items)
}

fn sized(reader: &mut Reader<'_>, bytes: u8) -> Option<usize> {
    match bytes {
        0 => Some(0),
        2 => reader.u16_be().map(usize::from),
        4 => usize::try_from(reader.u32_be()?).ok(),
        8 => usize::try_from(reader.u64_be()?).ok(),
        _ => None,
    }
}

/// Tells whether a profile may be kept.
fn kept_profile(picture: &Picture) -> Option<&[u8]> {
    picture.profile.as_deref().filter(|profile| colour::is_readable(profile))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHOTO: &[u8] = include_bytes!("../../../../fixtures/pictures/heic-photo.heic");
    const GRID: &[u8] = include_bytes!("../../../../fixtures/pictures/heic-grid-phone.heic");

    #[test]
    fn sizes_are_those_of_the_coded_picture() {
        let facts = inspect(PHOTO).unwrap();
        assert_eq!((facts.width, facts.height, facts.largest), (256, 192, (256, 192)));
    }

    #[test]
    fn originals_are_what_is_shown_and_nothing_else() {
        let rebuilt = rebuild(GRID, Purpose::Original).unwrap();
        let contains = |file: &[u8], text: &[u8]| file.windows(text.len()).any(|window| window == text);
        assert!(contains(GRID, b"secret-maker") && !contains(&rebuilt, b"secret-maker"));
        let (before, after) = (inspect(GRID).unwrap(), inspect(&rebuilt).unwrap());
        assert_eq!((before.width, before.height), (after.width, after.height));
        // What is rebuilt has nothing left to leave out.
        assert_eq!(rebuild(&rebuilt, Purpose::Original).unwrap(), rebuilt);
    }

    #[test]
    fn crops_and_turns_apply_in_their_order() {
        let whole = Window { left: 0, top: 0, width: 100, height: 60 };
        let clap = |width: u32, height: u32, across: i32, down: i32| {
            let fields = [width, 1, height, 1, across.cast_unsigned(), 1, down.cast_unsigned(), 1];
            (*b"clap", fields.iter().flat_map(|field| field.to_be_bytes()).collect::<Vec<u8>>())
        };
        let crop = clap(40, 20, 10, -5);
        let (window, orientation) = view(whole, std::slice::from_ref(&crop)).unwrap();
        assert_eq!(window, Window { left: 40, top: 15, width: 40, height: 20 });
        assert!(orientation.is_upright());
        // Turned first, the crop counts in the turned picture, which is 60 wide and 100 high.
        let (window, _) = view(whole, &[(*b"irot", vec![1]), clap(20, 40, -5, -10)]).unwrap();
        // Turning left brings the right edge to the top.
        assert_eq!(window, Window { left: 40, top: 15, width: 40, height: 20 });
        assert!(view(whole, &[clap(101, 1, 0, 0)]).is_err());
        assert!(view(whole, &[clap(100, 60, 1, 0)]).is_err());
    }
}
