//! Writing HEIC files: parts for the decoder, and originals.

use std::collections::BTreeMap;

use super::super::hevc;
use super::{ALPHA_KINDS, Picture, Still, Tile, kept_profile};

/// Estimates the memory that the decoder takes for each pixel of a coded picture, at its peak.
///
/// Samples are of 32 bits and have a mark each, and a filter copies a plane at a time; blocks of 4 x 4 have notes.
/// Putting rows of tiles together and turning them into RGB takes less.
pub(crate) fn coded_pixel_bytes(chroma_format: u32) -> u64 {
    match chroma_format {
        0 => 11,
        1 => 14,
        2 => 17,
        _ => 25,
    }
}

/// Writes one row of tiles as a file of its own, without crop, turns or colours.
pub(crate) fn write_row(file: &[u8], picture: &Picture, tiles: &[Tile], height: u32) -> Option<Vec<u8>> {
    let mut output = Items::default();
    let reference = picture.reference.as_ref();
    output.picture(file, tiles, reference, tiles.len(), (picture.width, height), &[])?;
    output.finish(8)
}

/// Writes all of a picture and its alpha.
pub(super) fn write_still(file: &[u8], still: &Still) -> Option<Vec<u8>> {
    let mut output = Items::default();
    let colour = output.whole(file, &still.colour, None)?;
    if let Some(alpha) = &still.alpha {
        let item = output.whole(file, &alpha.picture, ALPHA_KINDS.first().copied())?;
        output.references.push((*b"auxl", item, vec![colour]));
        if alpha.premultiplied {
            output.references.push((*b"prem", colour, vec![item]));
        }
    }
    let bits = still.colour.tiles.first().map_or(8, |tile| tile.sequence.bits);
    output.finish(bits)
}

/// A property: its type and its body.
type Property = ([u8; 4], Vec<u8>);

/// The items of a file to be written; the first one is what it shows.
#[derive(Default)]
struct Items {
    all: Vec<Item>,
    references: Vec<([u8; 4], u32, Vec<u32>)>,
    properties: BTreeMap<Property, usize>,
    /// The bytes of all items, each of them once.
    data: Vec<u8>,
    coded: BTreeMap<(usize, Vec<(usize, usize)>), Coded>,
}

/// A coded picture that is written: where its bytes lie, and how they are to be decoded.
#[derive(Clone)]
struct Coded {
    place: (usize, usize),
    configuration: Vec<u8>,
}

struct Item {
    kind: [u8; 4],
    place: (usize, usize),
    /// Their numbers, and whether they must be understood to show the picture.
    properties: Vec<(usize, bool)>,
    hidden: bool,
}

impl Items {
    fn whole(&mut self, file: &[u8], picture: &Picture, auxiliary: Option<&[u8]>) -> Option<u32> {
        let mut properties = Vec::new();
        if let Some(kind) = auxiliary {
            properties.push((*b"auxC", [&[0; 4], kind, &[0]].concat()));
        }
        if let Some(profile) = kept_profile(picture) {
            properties.push((*b"colr", [b"prof".as_slice(), profile].concat()));
        }
        if let Some(points) = picture.code_points {
            let fields = [points.primaries, points.transfer, points.matrix].map(u16::to_be_bytes).concat();
            let range = if points.full_range { 0x80 } else { 0 };
            properties.push((*b"colr", [b"nclx".as_slice(), &fields, &[range]].concat()));
        }
        for (tag, body) in &picture.transforms {
            let length = if tag == b"clap" { 32 } else { 1 };
            properties.push((*tag, body.get(..length)?.to_owned()));
        }
        let size = (picture.width, picture.height);
        self.picture(file, &picture.tiles, picture.reference.as_ref(), picture.columns, size, &properties)
    }

    /// Adds a picture and what it is made of, and returns its item.
    fn picture(
        &mut self,
        file: &[u8],
        tiles: &[Tile],
        reference: Option<&Tile>,
        columns: usize,
        (width, height): (u32, u32),
        properties: &[Property],
    ) -> Option<u32> {
        let whole = tiles.first()?.sequence.shown == (width, height) && tiles.len() == 1;
        if whole {
            let item = self.coded(file, tiles.first()?, properties, false)?;
            if let Some(reference) = reference {
                let reference = self.coded(file, reference, &[], true)?;
                self.references.push((*b"pred", item, vec![reference]));
            }
            return Some(item);
        }
        let rows = tiles.len().checked_div(columns)?;
        let number = |count: usize| u8::try_from(count.checked_sub(1)?).ok();
        let mut grid = vec![0, 1, number(rows)?, number(columns)?];
        grid.extend_from_slice(&width.to_be_bytes());
        grid.extend_from_slice(&height.to_be_bytes());
        let place = (self.data.len(), grid.len());
        self.data.extend_from_slice(&grid);
        let depth = (*b"pixi", pixel_depth(tiles.first()?));
        let first = [(*b"ispe", size_property(width, height)), depth];
        let indices = first.iter().chain(properties).map(|property| self.property(property)).collect();
        let item = self.add(Item { kind: *b"grid", place, properties: indices, hidden: false });
        let parts: Option<Vec<u32>> = tiles.iter().map(|tile| self.coded(file, tile, &[], true)).collect();
        self.references.push((*b"dimg", item, parts?));
        Some(item)
    }

    fn coded(&mut self, file: &[u8], tile: &Tile, properties: &[Property], hidden: bool) -> Option<u32> {
        let key =
            (tile.configuration.start, tile.data.iter().map(|extent| (extent.start, extent.end)).collect());
        let Coded { place, configuration } = if let Some(coded) = self.coded.get(&key) {
            coded.clone()
        } else {
            let extents: Option<Vec<&[u8]>> =
                tile.data.iter().map(|extent| file.get(extent.clone())).collect();
            let configuration = file.get(tile.configuration.clone())?;
            let (configuration, data) = hevc::rebuild(configuration, &extents?.concat())?;
            let place = (self.data.len(), data.len());
            self.data.extend_from_slice(&data);
            let coded = Coded { place, configuration };
            self.coded.insert(key, coded.clone());
            coded
        };
        let (width, height) = tile.sequence.shown;
        let own = [
            (*b"hvcC", configuration),
            (*b"ispe", size_property(width, height)),
            (*b"pixi", pixel_depth(tile)),
        ];
        let properties = own.iter().chain(properties).map(|property| self.property(property)).collect();
        Some(self.add(Item { kind: *b"hvc1", place, properties, hidden }))
    }

    fn add(&mut self, item: Item) -> u32 {
        self.all.push(item);
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of a property, from one upwards, and whether it is essential; equal ones are the same.
    fn property(&mut self, property: &Property) -> (usize, bool) {
        let next = self.properties.len() + 1;
        let essential = matches!(&property.0, b"hvcC" | b"clap" | b"irot" | b"imir");
        (*self.properties.entry(property.clone()).or_insert(next), essential)
    }

    fn finish(&self, bits: u32) -> Option<Vec<u8>> {
        let brand = if bits > 8 { b"heix" } else { b"heic" };
        let mut output = Vec::with_capacity(self.data.len() + 4096);
        push_box(&mut output, *b"ftyp", &[brand.as_slice(), &[0; 4], b"mif1", brand, b"miaf"].concat())?;
        // The length of everything before the data does not depend on where they lie.
        let before = output.len() + self.meta(0)?.len() + 8;
        output.extend_from_slice(&self.meta(before)?);
        push_box(&mut output, *b"mdat", &self.data)?;
        Some(output)
    }

    fn meta(&self, data_start: usize) -> Option<Vec<u8>> {
        let mut body = vec![0; 4];
        push_box(&mut body, *b"hdlr", b"\0\0\0\0\0\0\0\0pict\0\0\0\0\0\0\0\0\0\0\0\0\0")?;
        push_box(&mut body, *b"pitm", &[1, 0, 0, 0, 0, 0, 0, 1])?;
        let count = u32::try_from(self.all.len()).ok()?;
        let ids = 1..=count;

        let mut locations = vec![2, 0, 0, 0, 0x44, 0];
        locations.extend_from_slice(&count.to_be_bytes());
        let mut info = [[1, 0, 0, 0], count.to_be_bytes()].concat();
        let mut associations = [[1, 0, 0, 1], count.to_be_bytes()].concat();
        for (id, item) in ids.zip(&self.all) {
            let id = id.to_be_bytes();
            let entry =
                [[3, 0, 0, u8::from(item.hidden)].as_slice(), &id, &[0, 0], &item.kind, &[0]].concat();
            push_box(&mut info, *b"infe", &entry)?;
            let (start, length) = item.place;
            let start = u32::try_from(data_start.checked_add(start)?).ok()?;
            let length = u32::try_from(length).ok()?;
            locations.extend(
                [id.as_slice(), &[0, 0, 0, 0, 0, 1], &start.to_be_bytes(), &length.to_be_bytes()].concat(),
            );
            associations.extend_from_slice(&id);
            associations.push(u8::try_from(item.properties.len()).ok()?);
            for (index, essential) in &item.properties {
                let flag = if *essential { 0x8000 } else { 0 };
                associations.extend_from_slice(&(flag | u16::try_from(*index).ok()?).to_be_bytes());
            }
        }
        push_box(&mut body, *b"iloc", &locations)?;
        push_box(&mut body, *b"iinf", &info)?;
        if !self.references.is_empty() {
            let mut references = vec![1, 0, 0, 0];
            for (kind, from, to) in &self.references {
                let mut reference = from.to_be_bytes().to_vec();
                reference.extend_from_slice(&u16::try_from(to.len()).ok()?.to_be_bytes());
                reference.extend(to.iter().flat_map(|item| item.to_be_bytes()));
                push_box(&mut references, *kind, &reference)?;
            }
            push_box(&mut body, *b"iref", &references)?;
        }
        let mut properties: Vec<_> = self.properties.iter().collect();
        properties.sort_by_key(|(_, index)| **index);
        let mut container = Vec::new();
        for ((tag, property), _) in properties {
            push_box(&mut container, *tag, property)?;
        }
        let mut described = Vec::new();
        push_box(&mut described, *b"ipco", &container)?;
        push_box(&mut described, *b"ipma", &associations)?;
        push_box(&mut body, *b"iprp", &described)?;
        let mut output = Vec::new();
        push_box(&mut output, *b"meta", &body)?;
        Some(output)
    }
}

fn size_property(width: u32, height: u32) -> Vec<u8> {
    [[0; 4], width.to_be_bytes(), height.to_be_bytes()].concat()
}

fn pixel_depth(tile: &Tile) -> Vec<u8> {
    let bits = u8::try_from(tile.sequence.bits).unwrap_or(8);
    let channels = if tile.sequence.chroma_format == 0 { 1 } else { 3 };
    let mut body = vec![0, 0, 0, 0, channels];
    body.extend((0..channels).map(|_| bits));
    body
}

fn push_box(output: &mut Vec<u8>, tag: [u8; 4], body: &[u8]) -> Option<()> {
    output.extend_from_slice(&u32::try_from(body.len() + 8).ok()?.to_be_bytes());
    output.extend_from_slice(&tag);
    output.extend_from_slice(body);
    Some(())
}
