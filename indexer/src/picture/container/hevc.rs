//! Coded HEVC pictures: how large they are before they are decoded, and which of their units make the picture.
//!
//! The decoder allocates by the size in the coded picture; boxes around it may claim another.

use std::collections::BTreeSet;

use crate::picture::reader::Reader;

const VPS: u8 = 32;
const SPS: u8 = 33;
const PPS: u8 = 34;
/// What comes before the units of a decoder configuration.
const HEAD_BYTES: usize = 22;
/// The most units that a decoder configuration may have; four is common.
const MAX_UNITS: usize = 1_024;
/// What is looked at of a sequence parameter set; the size of the picture stands far before.
const MAX_SEQUENCE_BYTES: usize = 1_024;

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
    read_sequence(units(configuration)?.into_iter().find(|unit| unit.kind == SPS)?.payload())
}

/// A unit of coded data (NAL), its header included.
#[derive(Clone, Copy)]
struct Unit<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Unit<'a> {
    /// Reads the header; `None` if it is of another layer than the picture's own, which decoders pass by.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let [first, second, ..] = *bytes else { return None };
        let layer = (first & 1) << 5 | second >> 3;
        (first & 0x80 == 0 && layer == 0).then_some(Self { kind: first >> 1 & 0x3F, bytes })
    }

    fn payload(self) -> &'a [u8] {
        self.bytes.get(2..).unwrap_or_default()
    }

    /// Tells whether it is a part of a coded picture; decoders pass by the kinds between and behind, which are reserved.
    fn is_slice(self) -> bool {
        matches!(self.kind, 0..=9 | 16..=21)
    }

    /// Returns the number of the picture parameter set that a part of a coded picture refers to.
    fn parameter_set(self) -> Option<u32> {
        let mut bits = Bits { bytes: self.payload(), position: 0 };
        // Whether it is the first, and in pictures that refer to no other, whether those before are shown.
        bits.skip(if self.kind < 16 { 1 } else { 2 })?;
        bits.exp_golomb()
    }
}

/// Lists the parameter sets of a decoder configuration.
fn units(configuration: &[u8]) -> Option<Vec<Unit<'_>>> {
    let mut reader = Reader::new(configuration);
    reader.take(HEAD_BYTES)?;
    let mut units = Vec::new();
    let mut left = MAX_UNITS;
    for _ in 0..reader.u8()? {
        let kind = reader.u8()? & 0x3F;
        for _ in 0..reader.u16_be()? {
            left = left.checked_sub(1)?;
            let length = usize::from(reader.u16_be()?);
            let unit = Unit::read(reader.take(length)?);
            units.extend(unit.filter(|unit| unit.kind == kind && (VPS..=PPS).contains(&kind)));
        }
    }
    Some(units)
}

/// Returns a decoder configuration and a coded picture with the units that make the picture: the picture's own parts and
/// the parameter sets they refer to. Remarks of the encoder, other layers, reserved kinds and the like are left out.
pub(crate) fn rebuild(configuration: &[u8], data: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let length_bytes = usize::from(configuration.get(HEAD_BYTES - 1)? & 3) + 1;
    let mut reader = Reader::new(data);
    let mut picture = Vec::with_capacity(data.len());
    let mut referred = BTreeSet::new();
    while !reader.is_at_end() {
        let start = reader.position();
        let length =
            reader.take(length_bytes)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        let unit = reader.take(length)?;
        if let Some(unit) = Unit::read(unit).filter(|unit| unit.is_slice()) {
            referred.insert(unit.parameter_set()?);
            picture.extend_from_slice(data.get(start..reader.position())?);
        }
    }
    if picture.is_empty() {
        return None;
    }
    let mut output = configuration.get(..HEAD_BYTES)?.to_owned();
    let mut sets = Vec::new();
    let (mut video, mut sequence) = (true, true);
    for unit in units(configuration)? {
        // Of equal numbers the first counts.
        let is_kept = match unit.kind {
            VPS => std::mem::take(&mut video),
            SPS => std::mem::take(&mut sequence),
            _ => referred.remove(&Bits { bytes: unit.payload(), position: 0 }.exp_golomb()?),
        };
        if is_kept {
            sets.push(unit);
        }
    }
    output.push(u8::try_from(sets.len()).ok()?);
    for unit in sets {
        output.push(0x80 | unit.kind);
        output.extend_from_slice(&1_u16.to_be_bytes());
        output.extend_from_slice(&u16::try_from(unit.bytes.len()).ok()?.to_be_bytes());
        output.extend_from_slice(unit.bytes);
    }
    Some((output, picture))
}

/// Reads a sequence parameter set (ITU-T H.265, 7.3.2.2) up to the depth of its samples.
fn read_sequence(payload: &[u8]) -> Option<Sequence> {
    let payload = payload.get(..MAX_SEQUENCE_BYTES).unwrap_or(payload);
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
            assert_eq!(rebuild(broken, broken), None);
        }
    }
}
