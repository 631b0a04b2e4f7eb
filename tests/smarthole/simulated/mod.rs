//! Thousands of lives of the voice path, on a simulated clock: the real connection, inbox, worker,
//! agent and store between a random SmartHole and a random model, killed at any point and
//! restarted.

mod faults;
mod life;
mod lives;
mod memory;
mod mind;
mod stand_in;
mod world;

#[cfg(unix)]
pub use lives::Keeper;
