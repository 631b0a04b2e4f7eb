//! `steward`: reads arguments and hands over to `cli`.
fn main() {}
