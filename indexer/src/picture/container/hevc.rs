//! The one thing to know about a coded HEVC picture before decoding it: how large it is.
//!
//! The decoder allocates by this size; boxes around it may claim another.

use crate::picture::reader::Reader;

const SPS_NAL_TYPE: u8 = 33;

/// Returns the coded size that a decoder configuration (`hvcC`) declares.
pub(crate) fn coded_size(configuration: &[u8]) -> Option<(u32, u32)> {
    let mut reader = Reader::new(configuration);
    reader.take(22)?;
    for _ in 0..reader.u8()? {
        let nal_type = reader.u8()? & 0x3F;
        for _ in 0..reader.u16_be()? {
            let length = usize::from(reader.u16_be()?);
            let nal = reader.take(length)?;
            if nal_type == SPS_NAL_TYPE {
                return size_of_sequence(nal.get(2..)?);
            }
        }
    }
    None
}

/// Reads a sequence parameter set (ITU-T H.265, 7.3.2.2) up to the picture's size.
fn size_of_sequence(payload: &[u8]) -> Option<(u32, u32)> {
    let payload = without_emulation_prevention(payload);
    let mut bits = Bits { bytes: &payload, position: 0 };
    bits.skip(4)?;
    let sub_layers = bits.read(3)?;
    bits.skip(1)?;
    skip_profile(&mut bits, sub_layers)?;
    let _id = bits.exp_golomb()?;
    let chroma_format = bits.exp_golomb()?;
    if chroma_format == 3 {
        bits.skip(1)?;
    }
    Some((bits.exp_golomb()?, bits.exp_golomb()?))
}

/// Skips profile, tier and level (7.3.3).
fn skip_profile(bits: &mut Bits<'_>, sub_layers: u32) -> Option<()> {
    const PROFILE_BITS: usize = 88;
    const LEVEL_BITS: usize = 8;
    bits.skip(PROFILE_BITS + LEVEL_BITS)?;
    let mut sub_layer_bits = 0;
    for _ in 0..sub_layers {
        sub_layer_bits += if bits.read(1)? == 1 { PROFILE_BITS } else { 0 };
        sub_layer_bits += if bits.read(1)? == 1 { LEVEL_BITS } else { 0 };
    }
    if sub_layers > 0 {
        bits.skip(2 * (8 - sub_layers as usize))?;
    }
    bits.skip(sub_layer_bits)
}

/// Drops the bytes that keep start codes from appearing inside a unit.
fn without_emulation_prevention(bytes: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if *byte == 3 && output.ends_with(&[0, 0]) {
            continue;
        }
        output.push(*byte);
    }
    output
}

/// Reads bits, most significant first.
struct Bits<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Bits<'_> {
    fn bit(&mut self) -> Option<u32> {
        let byte = *self.bytes.get(self.position / 8)?;
        let bit = byte >> (7 - self.position % 8) & 1;
        self.position += 1;
        Some(u32::from(bit))
    }

    /// Reads up to 31 bits.
    fn read(&mut self, count: usize) -> Option<u32> {
        (0..count).try_fold(0, |value, _| Some(value << 1 | self.bit()?))
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.position = self.position.checked_add(count)?;
        (self.position <= self.bytes.len() * 8).then_some(())
    }

    fn exp_golomb(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while self.bit()? == 0 {
            zeros += 1;
            if zeros > 30 {
                return None;
            }
        }
        Some((1 << zeros) - 1 + self.read(zeros)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_standard_writes_them() {
        // 1, 010, 011, 00100, 00101: 0 to 4.
        let mut bits = Bits { bytes: &[0b1010_0110, 0b0100_0010, 0b1000_0000], position: 0 };
        let read: Vec<u32> = std::iter::from_fn(|| bits.exp_golomb()).take(5).collect();
        assert_eq!(read, [0, 1, 2, 3, 4]);
        assert_eq!(bits.exp_golomb(), None);
    }

    #[test]
    fn broken_configurations_have_no_size() {
        for broken in [&[][..], &[0; 22], &[0; 23], &[0xFF; 64]] {
            assert_eq!(coded_size(broken), None);
        }
    }
}
