//! What is shown of a HEIC file: the primary picture, made of its tiles, with its crops, turns, colours and alpha.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::super::{Cicp, hevc};
use super::items::{Items, MAX_PARTS, undecodable};
use super::{ALPHA_KINDS, Alpha, CodePoints, Picture, Still, Tile, Window};
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

/// How often an item may be derived from another one that is derived.
const MAX_DERIVATIONS: usize = 8;
/// A crop, the longest of the properties that turn and cut; an item may have one of them many times.
const MAX_TRANSFORM_BYTES: usize = 32;

impl Still {
    /// Reads a file; `Ok(None)` if it has no still picture but may have a sequence of them.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, Problem> {
        let Some(items) = Items::read(bytes)? else { return Ok(None) };
        let colour = items.picture(items.primary)?;
        let alpha = items.alpha()?;
        Ok(Some(Self { colour, alpha }))
    }
}

impl Items<'_> {
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
        let sequence = hevc::sequence(configuration.body(self.bytes)).ok_or_else(broken)?;
        let data = self.extents(item)?;
        let data_bytes = data.iter().map(|extent| extent.len() as u64).sum();
        Ok(Tile { configuration: configuration.body.clone(), data, data_bytes, sequence })
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
        let grid = (self.kinds.get(&source) == Some(b"grid"))
            .then(|| Grid::read(&self.grid(source)?).ok_or_else(|| undecodable("its grid is broken")))
            .transpose()?;
        let tile_items = match &grid {
            Some(_) => self.references(*b"dimg", source).unwrap_or_default().to_vec(),
            None => vec![source],
        };
        let uncovered = || undecodable("its tiles do not make its picture");
        if grid.as_ref().is_some_and(|grid| tile_items.len() != grid.rows * grid.columns) {
            return Err(uncovered());
        }
        // An item may be named many times, and costs no more than once.
        let mut known: BTreeMap<u32, Tile> = BTreeMap::new();
        let mut tiles = Vec::with_capacity(tile_items.len());
        for item in &tile_items {
            let tile = match known.entry(*item) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => place.insert(self.tile(*item)?).clone(),
            };
            tiles.push(tile);
        }
        let first = tiles.first().ok_or_else(|| undecodable("its tiles are missing"))?.sequence;
        let (columns, width, height) = match &grid {
            Some(grid) if !grid.is_covered_by(first.shown) => return Err(uncovered()),
            Some(grid) => (grid.columns, grid.width, grid.height),
            None => (1, first.shown.0, first.shown.1),
        };
        let reference = match self.references(*b"pred", source) {
            None | Some([]) => None,
            Some([only]) if grid.is_none() => Some(self.tile(*only)?),
            Some(_) => return Err(undecodable("it is predicted from several pictures")),
        };
        // Tiles that share their bytes cost nothing in the file and everything in the decoder.
        let coded = || tiles.iter().chain(&reference);
        let shared: u64 = coded().map(|tile| tile.data_bytes).sum();
        let pieces: usize = coded().map(|tile| tile.data.len()).sum();
        if shared > 2 * self.bytes.len() as u64 + (16 << 20) || pieces > MAX_PARTS {
            return Err(undecodable("its tiles are larger than the file"));
        }

        let mut transforms = Vec::new();
        for item in chain.iter().rev() {
            for piece in
                self.properties(*item).filter(|piece| matches!(&piece.tag, b"clap" | b"irot" | b"imir"))
            {
                let body = piece.body(self.bytes);
                transforms.push((piece.tag, body.get(..MAX_TRANSFORM_BYTES).unwrap_or(body).to_owned()));
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
            let mut reader = Reader::new(self.property(*item, *b"ispe")?.body(self.bytes));
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
            let property = self.property(item, *b"auxC");
            let kind = property.and_then(|piece| piece.body(self.bytes).get(4..));
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

    /// Tells whether tiles of that size cover the picture, and none of them lies outside.
    fn is_covered_by(&self, tile: (u32, u32)) -> bool {
        let covered = |count: usize, tile: u32, length: u32| {
            let (count, tile, length) = (count as u64, u64::from(tile), u64::from(length));
            count * tile >= length && (count - 1) * tile < length
        };
        covered(self.columns, tile.0, self.width) && covered(self.rows, tile.1, self.height)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(tag: [u8; 4], body: &[u8]) -> Vec<u8> {
        [&u32::try_from(body.len() + 8).unwrap().to_be_bytes()[..], &tag, body].concat()
    }

    /// Returns a file of a grid that refers to one item so many times, and where these two have their bytes.
    fn grid_of_one_tile(times: u16, places: &[u8]) -> Vec<u8> {
        let photo = include_bytes!("../../../../../fixtures/pictures/heic-photo.heic");
        let start = photo.windows(4).position(|window| window == b"hvcC").unwrap() - 4;
        let configuration = &photo[start..start + photo[start + 3] as usize];
        let info =
            |id: u8, kind: [u8; 4]| boxed(*b"infe", &[&[2, 0, 0, 0, 0, id, 0, 0][..], &kind, &[0]].concat());
        let links = [0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 1, 0x81];
        let described = [boxed(*b"ipco", configuration), boxed(*b"ipma", &links)].concat();
        let refers = [&[0, 1][..], &times.to_be_bytes(), &[0, 2].repeat(times.into())].concat();
        let meta = [
            vec![0; 4],
            boxed(*b"pitm", &[0, 0, 0, 0, 0, 1]),
            boxed(*b"iinf", &[vec![0, 0, 0, 0, 0, 2], info(1, *b"grid"), info(2, *b"hvc1")].concat()),
            boxed(*b"iloc", places),
            boxed(*b"iprp", &described),
            boxed(*b"iref", &[vec![0; 4], boxed(*b"dimg", &refers)].concat()),
        ];
        let meta = boxed(*b"meta", &meta.concat());
        // Rows and columns of the grid, and its size: two tiles beside each other.
        let grid = [0, 0, 0, 1, 2, 0, 0, 192];
        [boxed(*b"ftyp", b"heic\0\0\0\0mif1heic"), meta, boxed(*b"mdat", &grid)].concat()
    }

    /// Places of two items with as many extents each, all of them the last eight bytes of the file.
    fn places(extents: u16, file_bytes: u32) -> Vec<u8> {
        let extent = [(file_bytes - 8).to_be_bytes(), 8_u32.to_be_bytes()].concat();
        let item =
            |id: u8| [&[0, id, 0, 0][..], &extents.to_be_bytes(), &extent.repeat(extents.into())].concat();
        [vec![0, 0, 0, 0, 0x44, 0, 0, 2], item(1), item(2)].concat()
    }

    fn grid(times: u16, extents: u16) -> Vec<u8> {
        let length = grid_of_one_tile(times, &places(extents, 8)).len();
        grid_of_one_tile(times, &places(extents, u32::try_from(length).unwrap()))
    }

    #[test]
    fn an_item_that_is_named_twice_is_in_memory_once() {
        let still = Still::read(&grid(2, 1)).unwrap().unwrap();
        let [first, second] = &still.colour.tiles[..] else { panic!("two tiles") };
        assert!(std::sync::Arc::ptr_eq(&first.data, &second.data));
        assert!(Still::read(&grid(3, 1)).is_err(), "three tiles are not two");
    }

    #[test]
    fn bytes_that_are_named_again_and_again_are_not_put_together() {
        let file = grid(2, 1_000);
        let items = Items::read(&file).unwrap().unwrap();
        assert_eq!(items.grid(1).unwrap().len(), 12);
    }

    #[test]
    fn extents_that_take_no_bytes_are_counted() {
        let item = |id: u8, extents: u16| [&[0, id, 0, 0][..], &extents.to_be_bytes()].concat();
        let sizeless = |extents: u16, more: u8| {
            let items = (3..3 + more).flat_map(|id| item(id, extents));
            [vec![0, 0, 0, 0, 0, 0, 0, 2 + more], item(1, 1), item(2, 1)]
                .into_iter()
                .flatten()
                .chain(items)
                .collect()
        };
        let read = |places: Vec<u8>| Items::read(&grid_of_one_tile(2, &places)).map(|items| items.is_some());
        assert_eq!(read(sizeless(65_535, 1)), Ok(true));
        // A thousand items are six kilobytes of a file, and were a gigabyte of extents.
        assert!(read(sizeless(65_535, 3)).is_err());
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
