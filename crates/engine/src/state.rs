//! The state a plan was made against, as the plan file itself tells: cheaper than asking the backend again, and of the same moment.

use csis_values::plan::StateFacts;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// A directory larger than this is no plan file's.
const DIRECTORY: u64 = 64 << 20;

/// Lineage and serial of the state before the plan. None when the file is no archive that can be read, e.g. an encrypted one.
pub fn of_plan_file(path: &Path) -> Option<StateFacts> {
    let mut file = File::open(path).ok()?;
    for name in ["tfstate", "tfstate-prev"] {
        if let Ok(Some(entry)) = find(&mut file, name) {
            return read(&mut file, &entry).ok();
        }
    }
    None
}

struct Entry {
    method: u16,
    compressed: u64,
    header: u64,
}

/// Finds an entry in the archive's directory.
fn find(file: &mut File, name: &str) -> io::Result<Option<Entry>> {
    let length = file.seek(SeekFrom::End(0))?;
    // The end record is 22 bytes and a comment of at most 64 kB.
    let start = length.saturating_sub(22 + 65_535);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let Some(at) = end.windows(4).rposition(|window| window == END) else { return Ok(None) };
    let (size, offset) = (number(&end, at + 12, 4)?, number(&end, at + 16, 4)?);
    if size > DIRECTORY {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut directory = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact(&mut directory)?;
    let mut at = 0;
    while directory[at..].starts_with(&ENTRY) {
        let part = |from: usize, bytes: usize| number(&directory, at + from, bytes);
        let names = usize::try_from(part(28, 2)?).map_err(io::Error::other)?;
        let rest = part(30, 2)? + part(32, 2)?;
        let entry = Entry {
            method: u16::try_from(part(10, 2)?).map_err(io::Error::other)?,
            compressed: part(20, 4)?,
            header: part(42, 4)?,
        };
        if directory.get(at + 46..at + 46 + names) == Some(name.as_bytes()) {
            return Ok(Some(entry));
        }
        at += 46 + names + usize::try_from(rest).map_err(io::Error::other)?;
        if at >= directory.len() {
            break;
        }
    }
    Ok(None)
}

fn number(bytes: &[u8], at: usize, length: usize) -> io::Result<u64> {
    let part = bytes.get(at..at + length).ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(part.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

fn read(file: &mut File, entry: &Entry) -> io::Result<StateFacts> {
    file.seek(SeekFrom::Start(entry.header))?;
    let mut header = [0; 30];
    file.read_exact(&mut header)?;
    if header[..4] != LOCAL {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let skip = number(&header, 26, 2)? + number(&header, 28, 2)?;
    file.seek(SeekFrom::Current(i64::try_from(skip).map_err(io::Error::other)?))?;
    let body = file.take(entry.compressed);
    let facts: Facts = match entry.method {
        0 => serde_json::from_reader(io::BufReader::new(body)),
        8 => serde_json::from_reader(io::BufReader::new(flate2::read::DeflateDecoder::new(body))),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    }
    .map_err(io::Error::other)?;
    Ok(facts.0)
}

/// Only the two words of a state that are wanted; its resources are passed over.
struct Facts(StateFacts);

impl<'de> serde::Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Facts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a state")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Facts, A::Error> {
                let mut facts = StateFacts::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "lineage" => {
                            facts.lineage = map.next_value::<Option<String>>()?.filter(|lineage| !lineage.is_empty());
                        }
                        "serial" => facts.serial = map.next_value()?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                // The engine plans against an empty state when there is none; only a stored one has a lineage.
                facts.exists = facts.lineage.is_some();
                if !facts.exists {
                    facts.serial = None;
                }
                Ok(Facts(facts))
            }
        }
        deserializer.deserialize_map(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one stored entry.
    fn archive(name: &str, body: &str) -> Vec<u8> {
        let le = |number: usize, bytes: usize| number.to_le_bytes()[..bytes].to_vec();
        let mut out =
            [LOCAL.to_vec(), vec![0; 14], le(body.len(), 4), le(body.len(), 4), le(name.len(), 2), le(0, 2)].concat();
        out.extend(name.bytes().chain(body.bytes()));
        let directory = out.len();
        out.extend(
            [ENTRY.to_vec(), vec![0; 16], le(body.len(), 4), le(body.len(), 4), le(name.len(), 2), vec![0; 16]]
                .concat(),
        );
        out.extend(name.bytes());
        let size = out.len() - directory;
        out.extend([END.to_vec(), vec![0; 8], le(size, 4), le(directory, 4), vec![0; 2]].concat());
        out
    }

    fn facts(bytes: &[u8]) -> Option<StateFacts> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        of_plan_file(file.path())
    }

    #[test]
    fn a_plan_file_tells_its_state() {
        let body = r#"{"version":4,"serial":7,"resources":[{"x":1}],"lineage":"abc"}"#;
        let expected = StateFacts { exists: true, lineage: Some("abc".into()), serial: Some(7) };
        assert_eq!(facts(&archive("tfstate-prev", body)), Some(expected.clone()));
        assert_eq!(facts(&archive("tfstate", body)), Some(expected));
        let none = facts(&archive("tfstate", r#"{"serial":0,"lineage":""}"#));
        assert_eq!(none, Some(StateFacts { exists: false, lineage: None, serial: None }));
    }

    #[test]
    fn broken_archives_tell_nothing() {
        let good = archive("tfstate", r#"{"serial":0,"lineage":"x"}"#);
        for end in 0..good.len() - 2 {
            assert_eq!(facts(&good[..end]), None);
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] = 0xff;
            let _ = facts(&bad);
        }
        assert_eq!(facts(b"not a zip"), None);
    }
}
