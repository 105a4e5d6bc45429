//! Values that belong to a task, wherever it runs.

use crate::context::{self, Frame, Held};
use crate::words;
use futures::TaskLocalFuture;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomPinned;
use std::thread;

/// Declares keys for values that belong to a task.
///
/// Each is a `static` of type [`LocalKey`]. It has a value only inside of
/// [`scope`](crate::task::LocalKey::scope) or [`sync_scope`](crate::task::LocalKey::sync_scope);
/// spawned tasks do not inherit it.
///
/// # Examples
/// ```
/// tress::task_local! {
///     /// The request that the task is working for.
///     pub static REQUEST: u64;
///     static VERBOSE: bool;
/// }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// REQUEST
///     .scope(7, async {
///         assert_eq!(REQUEST.get(), 7);
///         assert!(VERBOSE.try_get().is_err());
///     })
///     .await;
/// # });
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident : $value:ty $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$value> = {
            ::std::thread_local! {
                static SLOT: ::core::cell::RefCell<::core::option::Option<$value>> =
                    const { ::core::cell::RefCell::new(::core::option::Option::None) };
            }
            $crate::task::LocalKey::__new(SLOT)
        };
        $crate::task_local!($($($rest)*)?);
    };
}

/// A key for a value that belongs to a task; declared by [`task_local!`](crate::task_local).
///
/// # Examples
/// ```
/// tress::task_local! { static USER: String; }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = tress::spawn(USER.scope("ada".into(), async {
///     tress::task::yield_now().await; // it may go on elsewhere: the value goes with it
///     USER.with(|user| user.len())
/// }));
/// assert_eq!(task.await.unwrap(), 3);
/// # });
/// ```
pub struct LocalKey<T: 'static> {
    /// Holds the value of the innermost scope that is being polled on this thread.
    slot: thread::LocalKey<RefCell<Option<T>>>,
}

/// An error returned by [`LocalKey::try_with`] and [`LocalKey::try_get`]: the key has no value here.
///
/// # Examples
/// ```
/// tress::task_local! { static NAME: String; }
///
/// let error = NAME.try_get().unwrap_err();
/// println!("{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError {}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::NO_LOCAL_VALUE)
    }
}

impl std::error::Error for AccessError {}

/// Why a scope could not be entered or left.
enum ScopeError {
    /// Code inside of `with` wants to change what it looks at.
    Borrowed,
    /// The thread is ending.
    Gone,
}

impl ScopeError {
    #[cold]
    #[track_caller]
    fn panic(self) -> ! {
        match self {
            ScopeError::Borrowed => panic!(
                "a scope of a task-local value cannot be entered inside of `with` on the same key: \
                 the value is borrowed; copy what you need out of it first"
            ),
            ScopeError::Gone => panic!(
                "a scope of a task-local value cannot be entered while the thread's local data is \
                 being destroyed"
            ),
        }
    }
}

impl<T: 'static> LocalKey<T> {
    /// For the macro.
    #[doc(hidden)]
    pub const fn __new(slot: thread::LocalKey<RefCell<Option<T>>>) -> LocalKey<T> {
        LocalKey { slot }
    }

    /// Runs a future, during which the key has the given value.
    ///
    /// Scopes nest; the innermost one counts. The value is also there while the future is dropped.
    ///
    /// # Panics
    /// Panics if polled inside of [`with`](LocalKey::with) on the same key.
    ///
    /// # Cancel safety
    /// The returned future is as cancel safe as `future` is.
    ///
    /// # Examples
    /// ```
    /// tress::task_local! { static DEPTH: u32; }
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// DEPTH
    ///     .scope(1, async {
    ///         DEPTH.scope(2, async { assert_eq!(DEPTH.get(), 2) }).await;
    ///         assert_eq!(DEPTH.get(), 1);
    ///     })
    ///     .await;
    /// # });
    /// ```
    pub fn scope<F>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F>
    where
        F: Future,
    {
        TaskLocalFuture {
            key: self,
            value: Some(value),
            future: Some(future),
            _pinned: PhantomPinned,
        }
    }

    /// Runs a closure, during which the key has the given value.
    ///
    /// If a coroutine waits in it, the value waits with it: other tasks of the thread do not see it.
    ///
    /// # Panics
    /// Panics if called inside of [`with`](LocalKey::with) on the same key.
    ///
    /// # Examples
    /// ```
    /// tress::task_local! { static DEPTH: u32; }
    ///
    /// let twice = DEPTH.sync_scope(4, || DEPTH.get() * 2);
    /// assert_eq!(twice, 8);
    /// ```
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let mut value = Some(value);
        match self.with_value(&mut value, f) {
            Ok(result) => result,
            Err(error) => error.panic(),
        }
    }

    /// Calls `f` with `value` in the slot; puts back what was there, also on a panic. While a coroutine
    /// is suspended in `f` what was there is back.
    fn with_value<R>(
        &'static self,
        value: &mut Option<T>,
        f: impl FnOnce() -> R,
    ) -> Result<R, ScopeError> {
        #[repr(C)]
        struct Restore<T: 'static> {
            /// First: a pointer to it is one to the whole.
            frame: Frame,
            key: &'static LocalKey<T>,
            value: *mut Option<T>,
        }
        /// # Safety
        /// The frame is a `Restore<T>`'s that is in its list.
        unsafe fn swap<T: 'static>(frame: *const Frame) -> bool {
            // SAFETY: by the caller's promise. The value is borrowed for as long as it is in the list.
            unsafe {
                let restore = frame.cast::<Restore<T>>();
                (*restore).key.swap(&mut *(*restore).value).is_ok()
            }
        }
        impl<T: 'static> Drop for Restore<T> {
            fn drop(&mut self) {
                if self.frame.inside.get() {
                    // It could be swapped in; whatever was borrowed since then has been given back,
                    // since a borrow ends with the closure it was made for.
                    // SAFETY: borrowed for longer than this lives.
                    let swapped = self.key.swap(unsafe { &mut *self.value });
                    debug_assert!(swapped.is_ok());
                }
            }
        }

        self.swap(value)?;
        let restore = Restore {
            frame: Frame::new(swap::<T>),
            key: self,
            value,
        };
        // SAFETY: it stays here until this returns, and the pointer may be used for all of it.
        Ok(unsafe { Frame::enter((&raw const restore).cast(), f) })
    }

    fn swap(&'static self, value: &mut Option<T>) -> Result<(), ScopeError> {
        let swapped = self.slot.try_with(|slot| match slot.try_borrow_mut() {
            Ok(mut slot) => {
                std::mem::swap(&mut *slot, value);
                Ok(())
            }
            Err(_) => Err(ScopeError::Borrowed),
        });
        swapped.unwrap_or(Err(ScopeError::Gone))
    }

    /// Calls `f` with the value.
    ///
    /// A coroutine cannot wait in `f`.
    ///
    /// # Panics
    /// Panics if the key has no value here.
    ///
    /// # Examples
    /// ```
    /// tress::task_local! { static NAME: String; }
    ///
    /// let len = NAME.sync_scope("ada".into(), || NAME.with(|name| name.len()));
    /// assert_eq!(len, 3);
    /// ```
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(AccessError {}) => panic!(
                "{}: wrap the future in `LocalKey::scope`, also when it is spawned from a task that \
                 has the value",
                words::UNSET_LOCAL
            ),
        }
    }

    /// Calls `f` with the value, if there is one.
    ///
    /// A coroutine cannot wait in `f`.
    ///
    /// # Errors
    /// Returns [`AccessError`] if the key has no value here.
    ///
    /// # Examples
    /// ```
    /// tress::task_local! { static NAME: String; }
    ///
    /// assert!(NAME.try_with(|name| name.len()).is_err());
    /// ```
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let found = self.slot.try_with(|slot| {
            // Only ever borrowed mutably for a swap, which calls nobody.
            let value = slot.borrow();
            let value = value.as_ref()?;
            Some(context::hold(Held::Borrowing, || f(value)))
        });
        match found {
            Ok(Some(result)) => Ok(result),
            Ok(None) | Err(_) => Err(AccessError {}),
        }
    }
}

impl<T: Clone + 'static> LocalKey<T> {
    /// Returns a copy of the value.
    ///
    /// # Panics
    /// Panics if the key has no value here.
    ///
    /// # Examples
    /// ```
    /// tress::task_local! { static ANSWER: u32; }
    ///
    /// assert_eq!(ANSWER.sync_scope(42, || ANSWER.get()), 42);
    /// ```
    #[track_caller]
    pub fn get(&'static self) -> T {
        self.with(T::clone)
    }

    /// Returns a copy of the value, if there is one.
    ///
    /// # Errors
    /// Returns [`AccessError`] if the key has no value here.
    ///
    /// # Examples
    /// ```
    /// tress::task_local! { static ANSWER: u32; }
    ///
    /// assert!(ANSWER.try_get().is_err());
    /// ```
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Futures of this module that have a name.
pub mod futures {
    use super::LocalKey;
    use pin_project_lite::pin_project;
    use std::fmt;
    use std::future::Future;
    use std::marker::PhantomPinned;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    pin_project! {
        /// A future during which a task-local key has a value; returned by [`LocalKey::scope`].
        ///
        /// # Examples
        /// ```
        /// tress::task_local! { static NAME: String; }
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// let mut future = std::pin::pin!(NAME.scope("ada".into(), async {}));
        /// future.as_mut().await;
        /// // What the future did to the value, if it could, can be looked at.
        /// assert_eq!(future.take_value().as_deref(), Some("ada"));
        /// # });
        /// ```
        pub struct TaskLocalFuture<T: 'static, F> {
            pub(super) key: &'static LocalKey<T>,
            pub(super) value: Option<T>,
            #[pin]
            pub(super) future: Option<F>,
            // Never `Unpin`, so that how the value is kept stays free to change.
            #[pin]
            pub(super) _pinned: PhantomPinned,
        }

        impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
            fn drop(this: Pin<&mut Self>) {
                let this = this.project();
                let mut future = this.future;
                if future.is_some() {
                    // Its destructor sees the value. If the scope cannot be entered here, the
                    // field's own destructor runs without it.
                    let _ = this.key.with_value(this.value, || future.set(None));
                }
            }
        }
    }

    impl<T: 'static, F> TaskLocalFuture<T, F> {
        /// Takes the value out of the future.
        ///
        /// If the future is polled afterwards, it runs without one.
        ///
        /// # Examples
        /// ```
        /// tress::task_local! { static COUNT: u32; }
        ///
        /// let mut future = Box::pin(COUNT.scope(1, async {}));
        /// assert_eq!(future.as_mut().take_value(), Some(1));
        /// assert_eq!(future.as_mut().take_value(), None);
        /// ```
        pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
            self.project().value.take()
        }
    }

    impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
        type Output = F::Output;

        /// # Panics
        /// Panics if polled after completion, or inside of [`LocalKey::with`] on the same key.
        #[track_caller]
        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            let this = self.project();
            let mut future = this.future;
            assert!(
                future.is_some(),
                "`TaskLocalFuture` polled after completion"
            );
            let polled = this.key.with_value(this.value, || {
                let polled = future.as_mut().as_pin_mut()?.poll(cx);
                if polled.is_ready() {
                    // Its destructor sees the value, as it does when it is cancelled.
                    future.set(None);
                }
                Some(polled)
            });
            match polled {
                Ok(Some(polled)) => polled,
                Ok(None) => unreachable!("checked above"),
                Err(error) => error.panic(),
            }
        }
    }

    impl<T: fmt::Debug + 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("TaskLocalFuture")
                .field("value", &self.value)
                .finish_non_exhaustive()
        }
    }
}
