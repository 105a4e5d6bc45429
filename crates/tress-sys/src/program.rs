//! Statics of which each program has its own.

/// A static of which each program has its own.
///
/// A process runs one program: then this is an ordinary static. In a simulation a process runs several, and what one of them
/// knows of its signals or of its children is not for the others.
#[derive(Debug)]
pub struct PerProgram<T: 'static> {
    of_process: T,
    #[cfg(feature = "sim")]
    new: fn() -> T,
}

impl<T: Sync> PerProgram<T> {
    /// Creates one with the value of the process. `new` makes that of a simulated program; it is not called elsewhere.
    pub const fn new(of_process: T, new: fn() -> T) -> PerProgram<T> {
        #[cfg(not(feature = "sim"))]
        let _ = new;
        PerProgram {
            of_process,
            #[cfg(feature = "sim")]
            new,
        }
    }

    /// Returns the value of the program that the calling thread is part of.
    ///
    /// It may be called by a handler of a signal.
    #[inline]
    pub fn get(&'static self) -> &'static T {
        #[cfg(feature = "sim")]
        {
            let new = || {
                let value: &'static T = Box::leak(Box::new((self.new)()));
                std::ptr::from_ref(value).cast()
            };
            let key = std::ptr::from_ref(self) as usize;
            if let Some(found) = crate::sim::of_program(key, &new) {
                // SAFETY: what is found under the address of this static was made by `new` above, for this static, and is
                // never freed.
                return unsafe { &*found.cast::<T>() };
            }
        }
        &self.of_process
    }
}
