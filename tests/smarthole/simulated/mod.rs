//! Thousands of lives of what hears and works on spoken messages, in time that does not pass by
//! itself: the real door, inbox, worker, agent and store between a SmartHole and a model that do as
//! chance has it, killed at any point and begun again.

mod faults;
mod life;
mod lives;
mod memory;
mod mind;
mod stand_in;
mod world;

#[cfg(unix)]
pub use lives::Keeper;
