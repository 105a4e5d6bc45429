//! What AddressSanitizer has to be told. It does not know donors, since this crate's `pthread_create` takes the place of its
//! own.

use std::ffi::c_void;
use std::mem::{self, MaybeUninit};
use std::ptr;

type Unpoison = unsafe extern "C" fn(*const c_void, usize);

unsafe extern "C" {
    /// Returns the sanitizer's function, or null in a program that is built without it.
    fn tress_sim_sanitizer() -> *const c_void;
}

/// Tells it that nothing is on the calling thread's stack: it would remember what an earlier thread had on the same
/// memory.
pub(super) fn forget_stack() {
    // SAFETY: it reads an address.
    let unpoison = unsafe { tress_sim_sanitizer() };
    if unpoison.is_null() {
        return;
    }
    let mut attributes = MaybeUninit::uninit();
    let (mut low, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes are made by the first call, and are not used after the last. The function has that type.
    // What is below the present frame is not in use.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return;
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        let unpoison: Unpoison = mem::transmute(unpoison);
        let used = 4096;
        let here = ptr::from_ref(&used) as usize;
        unpoison(low, here.saturating_sub(low as usize + used));
    }
}
