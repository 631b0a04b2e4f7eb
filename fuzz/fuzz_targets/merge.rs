#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vault_steward::fuzzing::fuzz_merge(data));
