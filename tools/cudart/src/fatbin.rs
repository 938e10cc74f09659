//! Fat binaries: what nvcc puts into a program, machine code and PTX for several architectures.
//!
//! A container has a header of 16 bytes (magic, version, its own size, the size of what follows) and then entries, each
//! with a header of its own. Of an entry's header these count here, all little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 1 | 1: PTX, 2: machine code |
//! | 4 to 7 | the size of this header |
//! | 8 to 15 | the size of what follows it, padding included |
//! | 16 to 19 | the size of the compressed text |
//! | 28 to 31 | the architecture: 90 |
//! | 40 to 47 | bit 13: LZ4, bit 15: zstd |
//! | 56 to 63 | the size of the text once it is decompressed |
//!
//! The layout is not documented; it was read off what nvcc 13.5 writes with each of its `--compress-mode`s.

use std::fmt;
use std::io::Read;

const MAGIC: u32 = 0xBA55_ED50;
const HEADER: usize = 16;
const PTX: u16 = 1;
const LZ4: u64 = 1 << 13;
const ZSTD: u64 = 1 << 15;

/// More text than any compiler makes of one file.
const MOST: u64 = 1 << 30;

/// The PTX of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// 90 for sm_90.
    pub arch: u32,
    /// Its text.
    pub text: String,
}

/// What is in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The PTX, of every architecture.
    pub ptx: Vec<Ptx>,
    /// Architectures that have machine code only.
    pub machine: Vec<u32>,
}

/// Why a container cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Where.
    pub at: usize,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fat binary cannot be read: byte {}: {}", self.at, self.problem)
    }
}

impl std::error::Error for Damaged {}

fn damaged(at: usize, problem: impl Into<String>) -> Damaged {
    Damaged { at, problem: problem.into() }
}

/// A number of the container.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<u64, Damaged> {
    let found = bytes.get(at..at.saturating_add(N)).ok_or_else(|| damaged(at, "it ends here"))?;
    Ok(found.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

fn size(value: u64, at: usize) -> Result<usize, Damaged> {
    usize::try_from(value)
        .ok()
        .filter(|_| value <= MOST)
        .ok_or_else(|| damaged(at, format!("a size of {value} bytes")))
}

/// How many bytes a container has whose header is given.
pub fn length(header: &[u8; HEADER]) -> Result<usize, Damaged> {
    if number::<4>(header, 0)? != u64::from(MAGIC) {
        return Err(damaged(0, "it does not begin as a fat binary does"));
    }
    let own = size(number::<2>(header, 6)?, 6)?;
    Ok(own + size(number::<8>(header, 8)?, 8)?)
}

/// Takes a container apart.
pub fn parse(bytes: &[u8]) -> Result<Contents, Damaged> {
    let header = bytes.get(..HEADER).and_then(|header| header.try_into().ok());
    let end = length(header.ok_or_else(|| damaged(0, "it ends here"))?)?;
    if end > bytes.len() {
        return Err(damaged(8, format!("it says {end} bytes and has {}", bytes.len())));
    }
    let mut at = size(number::<2>(bytes, 6)?, 6)?;
    let mut contents = Contents::default();
    while at < end {
        let own = size(number::<4>(bytes, at + 4)?, at + 4)?;
        let body = size(number::<8>(bytes, at + 8)?, at + 8)?;
        if own < 64 || at + own + body > end {
            return Err(damaged(at, format!("an entry of {own} and {body} bytes")));
        }
        let arch = number::<4>(bytes, at + 28)? as u32;
        let payload = &bytes[at + own..at + own + body];
        match number::<2>(bytes, at)? as u16 {
            PTX => {
                let packed = size(number::<4>(bytes, at + 16)?, at + 16)?;
                let whole = size(number::<8>(bytes, at + 56)?, at + 56)?;
                let flags = number::<8>(bytes, at + 40)?;
                let text = text(payload, flags, packed, whole)
                    .map_err(|problem| damaged(at, format!("the PTX of sm_{arch}: {problem}")))?;
                contents.ptx.push(Ptx { arch, text });
            }
            _ => contents.machine.push(arch),
        }
        at += own + body;
    }
    Ok(contents)
}

fn text(payload: &[u8], flags: u64, packed: usize, whole: usize) -> Result<String, String> {
    let packed = || payload.get(..packed).ok_or("it is shorter than its header says");
    let bytes = if flags & LZ4 != 0 {
        lz4_flex::block::decompress(packed()?, whole).map_err(|error| error.to_string())?
    } else if flags & ZSTD != 0 {
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed()?);
        let decoder = decoder.map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        decoder.take(MOST).read_to_end(&mut text).map_err(|error| error.to_string())?;
        text
    } else {
        payload.to_vec()
    };
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A container with entries of a kind, flags, an architecture and bytes, of which so many are the text.
    fn container(entries: &[(u16, u64, u32, &[u8], usize)]) -> Vec<u8> {
        let mut all = Vec::new();
        for (kind, flags, arch, bytes, whole) in entries {
            let mut header = vec![0; 80];
            header[..2].copy_from_slice(&kind.to_le_bytes());
            header[4] = 80;
            let padded = bytes.len().next_multiple_of(8);
            header[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
            header[16..20].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            header[28..32].copy_from_slice(&arch.to_le_bytes());
            header[40..48].copy_from_slice(&flags.to_le_bytes());
            header[56..64].copy_from_slice(&(*whole as u64).to_le_bytes());
            all.extend(header);
            all.extend_from_slice(bytes);
            all.resize(all.len() + padded - bytes.len(), 0);
        }
        let mut container = MAGIC.to_le_bytes().to_vec();
        container.extend([1, 0, 16, 0]);
        container.extend((all.len() as u64).to_le_bytes());
        container.extend(all);
        container
    }

    const TEXT: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

    #[test]
    fn text_and_machine_code_are_told_apart() {
        let packed = lz4_flex::block::compress(TEXT.as_bytes());
        let all = container(&[
            (2, 0, 80, b"\x7fELF", 4),
            (PTX, 0, 70, TEXT.as_bytes(), TEXT.len()),
            (PTX, LZ4, 90, &packed, TEXT.len()),
        ]);
        let contents = parse(&all).expect("a container");
        assert_eq!(contents.machine, [80]);
        let of = |arch| Ptx { arch, text: TEXT.to_owned() };
        assert_eq!(contents.ptx, [of(70), of(90)]);
    }

    /// What nvcc 13.5 makes of one file with `--compress-mode` none, speed (LZ4) and size (zstd).
    #[test]
    fn nvcc_packs_one_text_in_three_ways() {
        let files: [&[u8]; 3] = [
            include_bytes!("../tests/fatbin/none.bin"),
            include_bytes!("../tests/fatbin/speed.bin"),
            include_bytes!("../tests/fatbin/size.bin"),
        ];
        let all = files.map(|file| parse(file).expect("a container").ptx);
        assert_eq!((all[0].len(), all[0][0].arch), (1, 90));
        assert!(all[0][0].text.contains(".visible .entry add"), "{}", all[0][0].text);
        assert!(all.iter().all(|ptx| *ptx == all[0]));
    }

    #[test]
    fn whatever_is_damaged_is_told_and_nothing_panics() {
        let packed = lz4_flex::block::compress(TEXT.as_bytes());
        let good = container(&[(PTX, LZ4, 90, &packed, TEXT.len()), (PTX, ZSTD, 90, &packed, 9)]);
        assert!(parse(&good).is_err_and(|error| error.to_string().contains("sm_90")));
        for end in 0..good.len() {
            assert!(parse(&good[..end]).is_err());
        }
        for at in 0..good.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut bad = good.clone();
                bad[at] = value;
                let _ = parse(&bad);
            }
        }
    }
}
