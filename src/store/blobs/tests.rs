//! Stored texts are read back unchanged, and damage is detected.

use super::*;

fn blobs() -> (tempfile::TempDir, Blobs) {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::at(&folder.path().join("blobs"));
    (folder, blobs)
}

#[test]
fn stored_texts_are_read_back() {
    let (_folder, blobs) = blobs();
    let noise: Vec<u8> = (0..5_000_u32).flat_map(|n| BlobHash::of(&n.to_le_bytes()).0).collect();
    let texts: Vec<Vec<u8>> = (0..20_usize)
        .map(|n| "line of a note\n".repeat(n * n).into_bytes())
        .chain([noise.clone()])
        .collect();
    let given: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let hashes = blobs.put(&given).unwrap();
    for (hash, text) in hashes.iter().zip(&texts) {
        assert_eq!(blobs.get(*hash).unwrap(), *text);
    }
    let stored = blobs.list().unwrap();
    assert_eq!(stored.len(), 21, "the empty text is one of them");
    let size = |text: &[u8]| {
        let hash = BlobHash::of(text);
        stored.iter().find(|one| one.hash == hash).unwrap().bytes as usize
    };
    assert!(size(&texts[19]) < texts[19].len() / 10);
    assert_eq!(size(&noise), noise.len() + HEADER, "noise does not compress");
    assert_eq!(blobs.put(&given).unwrap(), hashes);
    let (hash, length) = blobs.put_reader(&mut &texts[19][..]).unwrap();
    assert_eq!((hash, length), (hashes[19], texts[19].len() as u64));
    blobs.verify(hash).unwrap();
}

#[test]
fn every_flipped_bit_is_detected() {
    let (_folder, blobs) = blobs();
    for text in ["short".to_owned(), "a longer text, ".repeat(100)] {
        let hash = blobs.put(&[text.as_bytes()]).unwrap()[0];
        let path = blobs.path_of(hash);
        let whole = std::fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            match blobs.get(hash) {
                Err(BlobError::Damaged { .. }) => {}
                // A bit of zstd's frame that changes nothing.
                Ok(bytes) => assert_eq!(bytes, text.as_bytes(), "bit {bit}"),
                Err(error) => panic!("bit {bit}: {error}"),
            }
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(matches!(blobs.get(hash), Err(BlobError::Damaged { .. })), "{length}");
        }
        // Storing it again repairs it.
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for damaged in [&whole[..whole.len() / 2], &whole[..HEADER + 1], &flipped] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(blobs.put(&[text.as_bytes()]).unwrap()[0], hash);
            assert_eq!(blobs.get(hash).unwrap(), text.as_bytes());
        }
        blobs.remove(hash).unwrap();
        blobs.remove(hash).unwrap();
        assert!(matches!(blobs.get(hash), Err(BlobError::Missing { .. })));
    }
}
