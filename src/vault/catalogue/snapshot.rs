//! The catalogue as bytes, which saves the build at the next start.
//!
//! The loaded catalogue is compared with the scan of the same start, entry by entry, and corrected
//! ([`Catalogue::difference`]). A snapshot that is damaged, truncated or of another version of the
//! program fails its check and is ignored.
//!
//! Format, all numbers little-endian: header, lengths, rows, tree order, devices, link targets,
//! keys, paths, and the BLAKE3 (32 bytes) of all before.

use std::collections::HashMap;

use super::build::as_u32;
use super::{Catalogue, GONE, LinkTarget, Row, VaultPath, name_prefix};

const HEADER: &str = concat!("vault-steward catalogue 3 ", env!("CARGO_PKG_VERSION"), "\n");

const HASH_BYTES: usize = 32;
const ROW_BYTES: usize = 40;

impl Catalogue {
    /// Serializes; rebuilds first if there are gaps or rows out of order.
    pub(in crate::vault) fn to_bytes(&self) -> Vec<u8> {
        let in_order = self.by_time.iter().enumerate().all(|(at, row)| *row as usize == at);
        if self.gone > 0 || !in_order {
            let entries = self.ordered.iter().map(|row| self.entry(*row).to_new()).collect();
            return Self::build(entries).to_bytes();
        }
        let mut targets = Vec::new();
        let mut links: Vec<_> = self.targets.iter().collect();
        links.sort_unstable_by_key(|(row, _)| **row);
        for (row, target) in links {
            let text = match &**target {
                LinkTarget::Inside(path) => Some(path.as_str()),
                LinkTarget::Outside => None,
            };
            targets.extend(row.to_le_bytes());
            targets.extend(text.map_or(u32::MAX, |text| as_u32(text.len())).to_le_bytes());
            targets.extend(text.unwrap_or_default().as_bytes());
        }
        let mut bytes = Vec::with_capacity(
            self.rows.len() * (ROW_BYTES + 4) + self.keys.len() + self.paths.len() + 4_096,
        );
        bytes.extend(HEADER.as_bytes());
        for length in
            [self.rows.len(), self.devices.len(), targets.len(), self.keys.len(), self.paths.len()]
        {
            bytes.extend(as_u32(length).to_le_bytes());
        }
        for row in &self.rows {
            bytes.extend(row.modified.to_le_bytes());
            bytes.extend(row.size.to_le_bytes());
            bytes.extend(row.inode.to_le_bytes());
            bytes.extend(row.change_mark.to_le_bytes());
            bytes.extend(row.key_at.to_le_bytes());
            bytes.extend(row.path_at.to_le_bytes());
            bytes.extend(row.device.to_le_bytes());
            bytes.extend([row.depth, row.marks]);
        }
        self.ordered.iter().for_each(|row| bytes.extend(row.to_le_bytes()));
        self.devices.iter().for_each(|device| bytes.extend(device.to_le_bytes()));
        bytes.extend(targets);
        bytes.extend(self.keys.as_bytes());
        bytes.extend(self.paths.as_bytes());
        let hash = blake3::hash(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }

    /// Deserializes; `None` if the bytes are not a valid snapshot of this version.
    pub(in crate::vault) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (body, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH_BYTES)?)?;
        if !body.starts_with(HEADER.as_bytes()) || *blake3::hash(body).as_bytes() != *hash {
            return None;
        }
        let mut reader = SnapshotReader(&body[HEADER.len()..]);
        let mut lengths = [0; 5];
        for length in &mut lengths {
            *length = reader.number()? as usize;
        }
        let [rows, devices, targets, keys, paths] = lengths;
        let row_bytes = reader.take(rows.checked_mul(ROW_BYTES)?)?;
        let order = reader.take(rows.checked_mul(4)?)?;
        let device_bytes = reader.take(devices.checked_mul(8)?)?;
        let target_bytes = reader.take(targets)?;
        let keys = reader.text(keys)?;
        let paths = reader.text(paths)?;
        let mut catalogue = Self {
            rows: row_bytes.chunks_exact(ROW_BYTES).map(row).collect::<Option<_>>()?,
            keys: keys.to_owned(),
            paths: paths.to_owned(),
            by_time: (0..as_u32(rows)).collect(),
            ordered: order.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect(),
            devices: device_bytes.as_chunks().0.iter().map(|n| u64::from_le_bytes(*n)).collect(),
            targets: targets_of(target_bytes)?,
            built: rows,
            ..Self::default()
        };
        if !reader.0.is_empty() || !catalogue.is_sound() {
            return None;
        }
        catalogue.name_prefixes =
            (0..as_u32(rows)).map(|row| name_prefix(catalogue.key(row))).collect();
        catalogue.hash_all();
        (0..as_u32(rows)).for_each(|row| catalogue.count(row, true));
        Some(catalogue)
    }

    /// Whether all offsets and indexes are valid.
    fn is_sound(&self) -> bool {
        let from_start = |row: &Row| (row.key_at, row.path_at) == (0, 0);
        let (mut key_at, mut path_at) = (0, 0);
        let rows = self.rows.iter().all(|row| {
            let before = (key_at, path_at);
            (key_at, path_at) = (row.key_at as usize, row.path_at as usize);
            key_at >= before.0
                && path_at >= before.1
                && self.keys.is_char_boundary(key_at)
                && self.paths.is_char_boundary(path_at)
                && usize::from(row.device) < self.devices.len()
                && row.marks & GONE == 0
        });
        let mut seen = vec![false; self.rows.len()];
        let once = |row: &u32| {
            seen.get_mut(*row as usize).is_some_and(|seen| !std::mem::replace(seen, true))
        };
        rows && self.rows.first().is_none_or(from_start) && self.ordered.iter().all(once)
    }
}

fn row(bytes: &[u8]) -> Option<Row> {
    let mut reader = SnapshotReader(bytes);
    Some(Row {
        modified: i64::from_le_bytes(reader.array()?),
        size: u64::from_le_bytes(reader.array()?),
        inode: u64::from_le_bytes(reader.array()?),
        change_mark: reader.number()?,
        key_at: reader.number()?,
        path_at: reader.number()?,
        device: u16::from_le_bytes(reader.array()?),
        depth: u8::from_le_bytes(reader.array()?),
        marks: u8::from_le_bytes(reader.array()?),
    })
}

fn targets_of(bytes: &[u8]) -> Option<HashMap<u32, Box<LinkTarget>>> {
    let mut reader = SnapshotReader(bytes);
    let mut targets = HashMap::new();
    while !reader.0.is_empty() {
        let row = reader.number()?;
        let target = match reader.number()? {
            u32::MAX => LinkTarget::Outside,
            length => LinkTarget::Inside(VaultPath::from_disk(reader.text(length as usize)?)?),
        };
        targets.insert(row, Box::new(target));
    }
    Some(targets)
}

/// The bytes not yet read.
struct SnapshotReader<'b>(&'b [u8]);

impl<'b> SnapshotReader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn text(&mut self, bytes: usize) -> Option<&'b str> {
        std::str::from_utf8(self.take(bytes)?).ok()
    }
}
