//! The C structures of the interface.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// A stream, which gives the schema of a table and then its rows in chunks: `ArrowArrayStream`.
#[repr(C)]
pub struct Stream {
    pub(crate) get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    pub(crate) get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    pub(crate) get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    pub(crate) release: Option<unsafe extern "C" fn(*mut Stream)>,
    pub(crate) private_data: *mut c_void,
}

/// The names and types of columns: `ArrowSchema`.
#[repr(C)]
pub(crate) struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// The contents of columns: `ArrowArray`.
#[repr(C)]
pub(crate) struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *const *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

// SAFETY: nothing changes the contents of an array, and any thread may release it.
unsafe impl Send for Array {}

impl Stream {
    /// The stream's message about its last error.
    pub(crate) fn last_error(&mut self) -> String {
        let Some(get) = self.get_last_error else { return String::new() };
        // SAFETY: the function exists for this call; the text ends in a zero and lives until the next call.
        unsafe {
            let text = get(ptr::from_mut(self));
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
    }
}

/// Implements an empty structure, for the library to fill in.
macro_rules! empty {
    ($type:ty) => {
        impl Default for $type {
            fn default() -> Self {
                // SAFETY: null pointers, zeros, and nothing to release.
                unsafe { std::mem::zeroed() }
            }
        }

        impl Drop for $type {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it is released once.
                    unsafe { release(ptr::from_mut(self)) }
                }
            }
        }
    };
}

empty!(Schema);
empty!(Array);

/// The text at a pointer, which ends in a zero; `None` for a null pointer.
///
/// # Safety
/// The pointer is null or leads to such a text, which lives as long as its owner.
pub(crate) unsafe fn text<'a>(start: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) })
}

/// The items at a pointer; `None` if their count or the address cannot be right.
///
/// # Safety
/// If the count is over zero and the pointer not null, it leads to this number of items, which live as long as their
/// owner.
pub(crate) unsafe fn items<'a, T>(start: *const T, count: i64) -> Option<&'a [T]> {
    let count = usize::try_from(count).ok()?;
    if count == 0 {
        return Some(&[]);
    }
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    // SAFETY: the caller's promise; where it begins and ends was looked at.
    (fits && !start.is_null() && start.is_aligned()).then(|| unsafe { std::slice::from_raw_parts(start, count) })
}
