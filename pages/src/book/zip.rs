//! A ZIP file written front to back, without compression: pictures have theirs, and the texts of a book are small.
//!
//! The same parts make the same bytes: there are no times in it.

use std::io::{self, Write};

use super::BookError;

/// Where and how one part lies in the file.
#[derive(Debug)]
struct Part {
    name: String,
    crc: u32,
    length: u32,
    offset: u32,
}

/// A ZIP file in the making.
#[derive(Debug)]
pub(super) struct Zip<W> {
    out: W,
    offset: u32,
    parts: Vec<Part>,
}

const LOCAL_MARK: u32 = 0x0403_4b50;
const CENTRAL_MARK: u32 = 0x0201_4b50;
const END_MARK: u32 = 0x0605_4b50;
/// Version 1.0: parts are stored as they are.
const VERSION: u16 = 10;
/// The first day that the format knows, 1980-01-01.
const DATE: u16 = 0x0021;

impl<W: Write> Zip<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, offset: 0, parts: Vec::new() }
    }

    /// Adds a part, whose name is ASCII.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), BookError> {
        let length = u32::try_from(bytes.len()).map_err(|_| BookError::TooLarge)?;
        let part = Part { name: name.to_owned(), crc: crc32(bytes), length, offset: self.offset };
        let mut head = LOCAL_MARK.to_le_bytes().to_vec();
        part.describe(&mut head);
        head.extend(name.as_bytes());
        self.write(&head)?;
        self.write(bytes)?;
        self.parts.push(part);
        Ok(())
    }

    /// Writes the directory, and flushes.
    pub(super) fn finish(mut self) -> Result<W, BookError> {
        // The plain format ends at 65,535 parts and 4 GiB.
        let count = u16::try_from(self.parts.len()).map_err(|_| BookError::TooLarge)?;
        let start = self.offset;
        for part in std::mem::take(&mut self.parts) {
            let mut row = CENTRAL_MARK.to_le_bytes().to_vec();
            row.extend(VERSION.to_le_bytes());
            part.describe(&mut row);
            // No comment, the first disk, no attributes inside or outside.
            row.extend([0; 10]);
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

    fn write(&mut self, bytes: &[u8]) -> Result<(), BookError> {
        let length = u32::try_from(bytes.len()).ok().and_then(|length| self.offset.checked_add(length));
        self.offset = length.ok_or(BookError::TooLarge)?;
        Ok(self.out.write_all(bytes)?)
    }
}

impl Part {
    /// Appends what stands before each part and again in the directory: from the version needed to the lengths of the
    /// name and of further fields.
    fn describe(&self, out: &mut Vec<u8>) {
        let name_length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        // Flags, method and time: none, stored, midnight.
        for field in [VERSION, 0, 0, 0, DATE] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, self.length, self.length] {
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

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        let at = usize::from(crc.to_le_bytes()[0] ^ byte);
        REMAINDERS.get(at).copied().unwrap_or_default() ^ (crc >> 8)
    })
}

impl From<io::Error> for BookError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
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
