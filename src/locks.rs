//! Locking that ignores poisoning: every guarded value is consistent between any two statements.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn read<T>(guarded: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    guarded.read().unwrap_or_else(PoisonError::into_inner)
}

pub fn write<T>(guarded: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    guarded.write().unwrap_or_else(PoisonError::into_inner)
}
