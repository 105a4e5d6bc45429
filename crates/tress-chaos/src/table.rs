//! All sites of a program, also those that no run gets to.
//!
//! Each macro puts a reference to its site into a section of the executable that has nothing else in it. The linker defines where
//! that section starts and ends.

use crate::Site;

// The linker defines where the sections of a program start and end whose names are identifiers. A pointer is as large as a
// reference.
#[cfg(all(feature = "enabled", target_os = "linux"))]
unsafe extern "C" {
    #[link_name = "__start_tress_chaos_sites"]
    static START: [*const u8; 0];
    #[link_name = "__stop_tress_chaos_sites"]
    static STOP: [*const u8; 0];
}

/// There is at least one entry, so that there is a section: an array of none.
#[cfg(all(feature = "enabled", target_os = "linux"))]
#[used]
#[unsafe(link_section = "tress_chaos_sites")]
static NONE: [&Site; 0] = [];

/// Returns all sites of the program.
///
/// On systems other than Linux, and without the feature `enabled`, there are none.
///
/// # Examples
/// ```
/// fn never_called() {
///     tress_chaos::reachable!("somewhere");
/// }
///
/// let is_it = |site: &&&tress_chaos::Site| site.message() == "somewhere";
/// # if cfg!(all(feature = "enabled", target_os = "linux")) {
/// assert_eq!(tress_chaos::sites().iter().filter(is_it).count(), 1);
/// # }
/// ```
pub fn sites() -> &'static [&'static Site] {
    #[cfg(all(feature = "enabled", target_os = "linux"))]
    {
        let (start, stop) = (&raw const START, &raw const STOP);
        let (start, stop): (*const &Site, *const &Site) = (start.cast(), stop.cast());
        // SAFETY: the macros put nothing but references into the section, which is aligned for them and has no gaps. It is
        // not written to.
        unsafe {
            core::slice::from_raw_parts(
                start,
                (stop as usize - start as usize) / size_of::<&Site>(),
            )
        }
    }
    #[cfg(not(all(feature = "enabled", target_os = "linux")))]
    {
        &[]
    }
}
