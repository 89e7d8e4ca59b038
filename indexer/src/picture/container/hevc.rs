//! Coded HEVC pictures: how large they are before they are decoded, and which of their units make the picture.
//!
//! The decoder allocates by the size in the coded picture; boxes around it may claim another.

use std::ops::RangeInclusive;

use crate::picture::reader::Reader;

const SPS_NAL_TYPE: u8 = 33;
/// Video, sequence and picture parameter sets; the types below are coded pictures.
const PARAMETER_SETS: RangeInclusive<u8> = 32..=34;
/// What comes before the units of a decoder configuration.
const HEAD_BYTES: usize = 22;

/// What a sequence parameter set says about the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The size that is coded, which a decoder allocates by.
    pub(crate) coded: (u32, u32),
    /// The size that is shown of it.
    pub(crate) shown: (u32, u32),
    /// None, one of two in both directions, one of two across, all of them.
    pub(crate) chroma_format: u32,
    /// The depth of luma or chroma, whichever is greater.
    pub(crate) bits: u32,
}

/// Reads the sequence parameter set of a decoder configuration (`hvcC`).
pub(crate) fn sequence(configuration: &[u8]) -> Option<Sequence> {
    let nal = units(configuration)?.into_iter().find(|(kind, _)| *kind == SPS_NAL_TYPE)?.1;
    read_sequence(nal.get(2..)?)
}

/// Lists the units of a decoder configuration with their types.
fn units(configuration: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut reader = Reader::new(configuration);
    reader.take(HEAD_BYTES)?;
    let mut units = Vec::new();
    for _ in 0..reader.u8()? {
        let nal_type = reader.u8()? & 0x3F;
        for _ in 0..reader.u16_be()? {
            let length = usize::from(reader.u16_be()?);
            units.push((nal_type, reader.take(length)?));
        }
    }
    Some(units)
}

/// Returns a decoder configuration with its parameter sets and nothing else.
pub(crate) fn rebuild_configuration(configuration: &[u8]) -> Option<Vec<u8>> {
    let mut output = configuration.get(..HEAD_BYTES)?.to_owned();
    let units = units(configuration)?;
    let kept: Vec<_> = units.iter().filter(|(kind, _)| PARAMETER_SETS.contains(kind)).collect();
    output.push(u8::try_from(kept.len()).ok()?);
    for (kind, unit) in kept {
        output.push(0x80 | kind);
        output.extend_from_slice(&1_u16.to_be_bytes());
        output.extend_from_slice(&u16::try_from(unit.len()).ok()?.to_be_bytes());
        output.extend_from_slice(unit);
    }
    Some(output)
}

/// Returns the units of a coded picture that make the picture; remarks of the encoder and the like are left out.
pub(crate) fn rebuild_data(configuration: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let length_bytes = usize::from(configuration.get(HEAD_BYTES - 1)? & 3) + 1;
    let mut reader = Reader::new(data);
    let mut output = Vec::with_capacity(data.len());
    while !reader.is_at_end() {
        let start = reader.position();
        let length =
            reader.take(length_bytes)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        let unit = reader.take(length)?;
        let kind = unit.first()? >> 1 & 0x3F;
        if kind < *PARAMETER_SETS.start() || PARAMETER_SETS.contains(&kind) {
            output.extend_from_slice(data.get(start..reader.position())?);
        }
    }
    (!output.is_empty()).then_some(output)
}

/// Reads a sequence parameter set (ITU-T H.265, 7.3.2.2) up to the depth of its samples.
fn read_sequence(payload: &[u8]) -> Option<Sequence> {
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
    let coded = (bits.exp_golomb()?, bits.exp_golomb()?);
    let mut shown = coded;
    if bits.read(1)? == 1 {
        let (across, down) = match chroma_format {
            1 => (2, 2),
            2 => (2, 1),
            _ => (1, 1),
        };
        let mut crop = |unit: u64| {
            let (before, after) = (u64::from(bits.exp_golomb()?), u64::from(bits.exp_golomb()?));
            u32::try_from((before + after) * unit).ok()
        };
        let (columns, rows) = (crop(across)?, crop(down)?);
        shown = (coded.0.checked_sub(columns)?, coded.1.checked_sub(rows)?);
    }
    let bits = bits.exp_golomb()?.max(bits.exp_golomb()?).checked_add(8)?;
    Some(Sequence { coded, shown, chroma_format, bits })
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
            assert_eq!(sequence(broken), None);
            assert_eq!(rebuild_data(broken, broken), None);
        }
    }
}
