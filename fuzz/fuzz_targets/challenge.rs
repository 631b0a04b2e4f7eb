#![no_main]

#[path = "../../tests/support/fuzzing.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::fuzz_challenge(data));
