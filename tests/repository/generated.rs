//! The generator of the benchmarks' vaults gives the same vault for the same numbers.

use std::fs;
use std::path::Path;

use crate::vaultgen;

/// One hash over every path, content and modification time below `root`; for the folder
/// `.obsidian`, whose time varies, only the contents count.
fn fingerprint(root: &Path) -> blake3::Hash {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).expect("a folder just written can be listed") {
            let path = entry.expect("a folder just written can be listed").path();
            if path.is_dir() {
                walk(root, &path, found);
                continue;
            }
            let name = path.strip_prefix(root).expect("the walk stays below its root");
            let name = name.to_string_lossy().replace('\\', "/");
            let mut bytes = fs::read(&path).expect("a file just written can be read");
            if !name.starts_with(".obsidian") {
                let modified = path.metadata().and_then(|meta| meta.modified());
                let modified = modified.expect("a file just written has a time");
                let since = modified.duration_since(std::time::UNIX_EPOCH);
                let since = since.expect("generated times are after 1970");
                bytes.extend(since.as_nanos().to_le_bytes());
            }
            found.push((name, bytes));
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    let mut hash = blake3::Hasher::new();
    for (name, bytes) in found {
        hash.update(name.as_bytes()).update(&bytes);
    }
    hash.finalize()
}

fn generated(notes: usize, seed: u64) -> (tempfile::TempDir, vaultgen::Summary) {
    let folder = tempfile::tempdir().expect("the machine has a folder for temporary files");
    let summary = vaultgen::generate(folder.path(), notes, seed).expect("the vault is written");
    (folder, summary)
}

#[test]
fn two_runs_with_the_same_numbers_give_the_same_vault() {
    let (first, summary) = generated(200, 7);
    let (second, _) = generated(200, 7);
    let (other, _) = generated(200, 8);
    assert_eq!(fingerprint(first.path()), fingerprint(second.path()));
    assert_ne!(fingerprint(first.path()), fingerprint(other.path()));
    assert_eq!((summary.notes, summary.attachments), (200, 6));
}

#[test]
fn planted_text_is_in_the_vault() {
    let (vault, _) = generated(200, 1);
    let mut texts = Vec::new();
    let mut folders = vec![vault.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder just written can be listed").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|extension| extension == "md") => {
                    texts.push(fs::read_to_string(path).expect("a note is UTF-8"));
                }
                _ => {}
            }
        }
    }
    let holding = |needle: &str| texts.iter().filter(|text| text.contains(needle)).count();
    assert_eq!(texts.len(), 200);
    assert_eq!(holding("Zyxqua Needle"), 10);
    assert_eq!(holding("quarterly retrospective"), 2);
    let frontmatter = texts.iter().filter(|text| text.starts_with("---\n")).count();
    assert!((110..170).contains(&frontmatter), "{frontmatter} of 200 have frontmatter");
}

#[test]
fn a_folder_that_holds_anything_is_left_alone() {
    let folder = tempfile::tempdir().expect("the machine has a folder for temporary files");
    fs::write(folder.path().join("precious.md"), "mine").expect("the folder can be written to");
    let error = vaultgen::generate(folder.path(), 5, 1).expect_err("the folder is not empty");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
}
