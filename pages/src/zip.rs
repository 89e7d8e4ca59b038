//! A ZIP file written front to back: a book, or a bundle for a program that people install from.
//!
//! The same parts make the same bytes: there are no times in it. Nothing is compressed here: pictures have theirs, and the
//! texts of a book are small. What was compressed by someone else can be put in as it is.

use std::io::{self, Write};

/// Why a ZIP file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZipError {
    /// Writing failed, or reading what was to be written.
    #[error("could not write the file")]
    Io(#[from] io::Error),
    /// There are more parts or bytes than the plain format holds.
    #[error("the file is too large: at most 65,535 parts and 4 GiB")]
    TooLarge,
}

/// Where and how one part lies in the file.
#[derive(Debug)]
struct Part {
    name: String,
    crc: u32,
    length: u32,
    /// What it takes in the file.
    stored: u32,
    method: u16,
    mode: u32,
    offset: u32,
}

/// A ZIP file in the making.
#[derive(Debug)]
pub struct Zip<W> {
    out: W,
    offset: u32,
    parts: Vec<Part>,
}

const LOCAL_MARK: u32 = 0x0403_4b50;
const CENTRAL_MARK: u32 = 0x0201_4b50;
const END_MARK: u32 = 0x0605_4b50;
/// Version 1.0: parts are stored as they are.
const STORED: (u16, u16) = (10, 0);
/// Version 2.0 knows parts that are deflated.
const DEFLATED: (u16, u16) = (20, 8);
/// Written as if on Unix, so that programs may say that they are programs.
const MADE_BY: u16 = 0x0314;
/// A file that its owner may write and all may read; that of a program all may run.
const MODES: [u32; 2] = [0o100_644, 0o100_755];
/// How much of a large part is in memory at a time.
const BLOCK_BYTES: u64 = 4 << 20;
/// The first day that the format knows, 1980-01-01.
const DATE: u16 = 0x0021;

impl<W: Write> Zip<W> {
    /// Begins a file.
    pub fn new(out: W) -> Self {
        Self { out, offset: 0, parts: Vec::new() }
    }

    /// Adds a part, whose name is ASCII.
    ///
    /// # Errors
    ///
    /// If it cannot be written or the file grows too large.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), ZipError> {
        self.begin(name, crc32(!0, bytes) ^ !0, bytes.len() as u64, None, false)?;
        self.write(bytes)
    }

    /// Adds a part that is a program, or one that starts it: `deflated` is what a compressor made of `bytes`.
    ///
    /// # Errors
    ///
    /// If it cannot be written or the file grows too large.
    pub fn add_program(&mut self, name: &str, bytes: &[u8], deflated: &[u8]) -> Result<(), ZipError> {
        self.begin(name, crc32(!0, bytes) ^ !0, bytes.len() as u64, Some(deflated.len()), true)?;
        self.write(deflated)
    }

    /// Adds a part that may be too large for memory. `read` is asked twice for every block, from front to back.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written, or the file grows too large.
    pub fn add_blocks<B: AsRef<[u8]>, E>(
        &mut self,
        name: &str,
        length: u64,
        read: impl Fn(u64, u64) -> Result<B, E>,
    ) -> Result<(), E>
    where
        E: From<ZipError>,
    {
        let blocks = || (0..length.div_ceil(BLOCK_BYTES)).map(|block| block * BLOCK_BYTES);
        let block = |offset: u64| read(offset, BLOCK_BYTES.min(length - offset));
        let crc = blocks().try_fold(!0, |crc, offset| Ok::<_, E>(crc32(crc, block(offset)?.as_ref())))? ^ !0;
        self.begin(name, crc, length, None, false)?;
        blocks().try_for_each(|offset| Ok(self.write(block(offset)?.as_ref())?))
    }

    fn begin(
        &mut self,
        name: &str,
        crc: u32,
        length: u64,
        deflated: Option<usize>,
        is_program: bool,
    ) -> Result<(), ZipError> {
        let length = u32::try_from(length).map_err(|_| ZipError::TooLarge)?;
        let stored = deflated.map_or(Ok(length), u32::try_from);
        let part = Part {
            name: name.to_owned(),
            crc,
            length,
            stored: stored.map_err(|_| ZipError::TooLarge)?,
            method: if deflated.is_some() { DEFLATED.1 } else { STORED.1 },
            mode: if is_program { MODES[1] } else { MODES[0] },
            offset: self.offset,
        };
        let mut head = LOCAL_MARK.to_le_bytes().to_vec();
        part.describe(&mut head);
        head.extend(name.as_bytes());
        self.parts.push(part);
        self.write(&head)
    }

    /// Writes the directory, and flushes.
    ///
    /// # Errors
    ///
    /// If it cannot be written or the file grows too large.
    pub fn finish(mut self) -> Result<W, ZipError> {
        // The plain format ends at 65,535 parts and 4 GiB.
        let count = u16::try_from(self.parts.len()).map_err(|_| ZipError::TooLarge)?;
        let start = self.offset;
        for part in std::mem::take(&mut self.parts) {
            let mut row = CENTRAL_MARK.to_le_bytes().to_vec();
            row.extend(MADE_BY.to_le_bytes());
            part.describe(&mut row);
            // No comment, the first disk, no attributes inside.
            row.extend([0; 6]);
            row.extend((part.mode << 16).to_le_bytes());
            row.extend(part.offset.to_le_bytes());
            row.extend(part.name.as_bytes());
            self.write(&row)?;
        }
        let length = self.offset - start;
        let mut end = END_MARK.to_le_bytes().to_vec();
        end.extend([0; 4]);
        end.extend(count.to_le_bytes());
        end.extend(count.to_le_bytes());
        end.extend(length.to_le_bytes());
        end.extend(start.to_le_bytes());
        end.extend([0; 2]);
        self.write(&end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ZipError> {
        let length = u32::try_from(bytes.len()).ok().and_then(|length| self.offset.checked_add(length));
        self.offset = length.ok_or(ZipError::TooLarge)?;
        Ok(self.out.write_all(bytes)?)
    }
}

impl Part {
    /// Appends what stands before each part and again in the directory: from the version needed to the lengths of the
    /// name and of further fields.
    fn describe(&self, out: &mut Vec<u8>) {
        let name_length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        let version = if self.method == DEFLATED.1 { DEFLATED.0 } else { STORED.0 };
        // No flags, and midnight.
        for field in [version, 0, self.method, 0, DATE] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, self.stored, self.length] {
            out.extend(field.to_le_bytes());
        }
        out.extend(name_length.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
    }
}

/// The remainders of all bytes, for the polynomial that ZIP uses.
const REMAINDERS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { 0xedb8_8320 ^ (remainder >> 1) } else { remainder >> 1 };
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "evaluated while compiling")]
        {
            table[byte as usize] = remainder;
        }
        byte += 1;
    }
    table
};

/// Goes on with a sum that begins as all ones and ends inverted.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, byte| {
        let at = usize::from(crc.to_le_bytes()[0] ^ byte);
        REMAINDERS.get(at).copied().unwrap_or_default() ^ (crc >> 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_standard() {
        assert_eq!(crc32(!0, b"123456789") ^ !0, 0xcbf4_3926);
        assert_eq!(crc32(crc32(!0, b"12345"), b"6789") ^ !0, 0xcbf4_3926);
        assert_eq!(crc32(!0, b"") ^ !0, 0);
    }

    #[test]
    fn parts_lie_where_the_directory_says() {
        let mut zip = Zip::new(Vec::new());
        zip.add("mimetype", b"application/epub+zip").unwrap();
        zip.add("b", b"").unwrap();
        let bytes = zip.finish().unwrap();
        // Readers of books look for these at fixed places.
        assert_eq!(&bytes[..4], b"PK\x03\x04");
        assert_eq!(&bytes[30..58], b"mimetypeapplication/epub+zip");
        let end = bytes.len() - 22;
        assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
        let start = u32::from_le_bytes(bytes[end + 16..end + 20].try_into().unwrap()) as usize;
        assert_eq!(&bytes[start..start + 4], b"PK\x01\x02");
    }
}
