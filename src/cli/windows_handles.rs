//! Prevents child processes from inheriting this program's input and output.
//!
//! Windows passes every inheritable handle to a child, even if the child's input and output are
//! redirected. A daemon started by an MCP client's relay would hold the client's pipe, so the
//! client would not see the relay end.
#![expect(unsafe_code, reason = "one system call that takes a handle and numbers")]

use std::io;
use std::os::windows::io::AsRawHandle as _;

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};

/// Makes the handles of this program's input and output not inheritable. If a child needs one, the
/// standard library gives it a copy.
pub fn make_uninheritable() {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    for handle in [input.as_raw_handle(), output.as_raw_handle(), error.as_raw_handle()] {
        // SAFETY: the call changes a flag of a handle that is open, and fails without a handle.
        unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    }
}
