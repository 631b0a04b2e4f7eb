//! Writes a generated vault: `cargo run --release --example vaultgen -- OUT NOTES [SEED]`.

#[path = "../benches/support/vaultgen.rs"]
mod vaultgen;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> =
        arguments.iter().skip(1).map(|number| number.replace(',', "").parse().ok()).collect();
    let (Some(out), Some([notes, seed @ ..])) = (arguments.first(), numbers.as_deref()) else {
        eprintln!("usage: vaultgen OUT NOTES [SEED]   (OUT must not exist or be empty)");
        return ExitCode::from(2);
    };
    let seed = seed.first().copied().unwrap_or(1);
    match vaultgen::generate(Path::new(out), *notes as usize, seed) {
        Ok(made) => {
            println!(
                "{out}: {} notes of {} bytes on average, {} folders, {} attachments, seed {seed}",
                made.notes,
                made.note_bytes / (made.notes as u64).max(1),
                made.folders,
                made.attachments
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("could not generate a vault in `{out}`: {error}");
            ExitCode::FAILURE
        }
    }
}
