//! A value of any type, stored in place if it is small.

use std::any::{TypeId, type_name};
use std::fmt;
use std::mem::MaybeUninit;

/// Values of at most three words are stored in place.
type Room = [MaybeUninit<usize>; 3];

/// A value of any type that can be sent between threads: what a message or a completion carries.
///
/// Values of at most three words are stored in place, without an allocation.
///
/// # Examples
/// ```
/// use tress_actor::Payload;
///
/// let payload = Payload::new("text".to_string());
/// assert!(payload.is::<String>());
/// assert_eq!(payload.downcast::<String>().unwrap(), "text");
///
/// // The wrong type returns the payload.
/// let payload = Payload::new(7_u64).downcast::<String>().unwrap_err();
/// assert_eq!(payload.downcast_ref::<u64>(), Some(&7));
/// ```
pub struct Payload {
    room: Room,
    kind: &'static Kind,
}

/// What is known about the type of a value.
struct Kind {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
    /// Drops the value (or the box that holds it) in the room.
    drop: unsafe fn(*mut Room),
}

// SAFETY: only values that are `Send` are put in.
unsafe impl Send for Payload {}

/// Whether a value lies in the room itself, and not in a box.
const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>()
}

struct KindOf<T>(T);

impl<T: Send + 'static> KindOf<T> {
    const KIND: Kind = Kind {
        id: TypeId::of::<T>,
        name: type_name::<T>,
        drop: drop_in_room::<T>,
    };
}

/// # Safety
/// The room holds a `T` by the rule of `fits`, and is not used again.
unsafe fn drop_in_room<T>(room: *mut Room) {
    if fits::<T>() {
        // SAFETY: by the caller's promise the value is there and has not been dropped.
        unsafe { room.cast::<T>().drop_in_place() }
    } else {
        // SAFETY: likewise for the box that `new` put there.
        unsafe { room.cast::<Box<T>>().drop_in_place() }
    }
}

impl Payload {
    /// Creates a payload from a value.
    #[inline]
    pub fn new<T: Send + 'static>(value: T) -> Payload {
        let mut payload = Payload::empty();
        payload.fill(value);
        payload
    }

    /// Creates the payload of a message that needs none: a `()`.
    #[inline]
    pub fn empty() -> Payload {
        Payload {
            room: [MaybeUninit::uninit(); 3],
            kind: &KindOf::<()>::KIND,
        }
    }

    /// Stores a value in an empty payload, in place.
    #[inline(always)]
    pub(crate) fn fill<T: Send + 'static>(&mut self, value: T) {
        debug_assert!(self.is::<()>());
        let place = (&raw mut self.room).cast::<T>();
        if fits::<T>() {
            // SAFETY: size and alignment were compared just now.
            unsafe { place.write(value) }
        } else {
            // SAFETY: a box is one word.
            unsafe { place.cast::<Box<T>>().write(Box::new(value)) }
        }
        self.kind = &KindOf::<T>::KIND;
    }

    /// Takes the value out in place if it is a `T`, and leaves an empty payload.
    #[inline(always)]
    pub(crate) fn take<T: Send + 'static>(&mut self) -> Option<T> {
        if !self.is::<T>() {
            return None;
        }
        self.kind = &KindOf::<()>::KIND;
        let place = (&raw mut self.room).cast::<T>();
        Some(if fits::<T>() {
            // SAFETY: the type was compared; the kind says that nothing is left to drop.
            unsafe { place.read() }
        } else {
            // SAFETY: likewise for the box.
            *unsafe { place.cast::<Box<T>>().read() }
        })
    }

    /// Returns `true` if the value is a `T`.
    #[inline]
    pub fn is<T: Send + 'static>(&self) -> bool {
        // The same function means the same type. The reverse does not hold: there may be copies of the
        // function.
        std::ptr::fn_addr_eq(self.kind.id, TypeId::of::<T> as fn() -> TypeId)
            || (self.kind.id)() == TypeId::of::<T>()
    }

    /// Returns the value if it is a `T`.
    ///
    /// # Errors
    /// The payload itself, if its value is of another type.
    #[inline]
    pub fn downcast<T: Send + 'static>(mut self) -> Result<T, Payload> {
        self.take().ok_or(self)
    }

    /// Returns a reference to the value if it is a `T`.
    #[inline]
    pub fn downcast_ref<T: Send + Sync + 'static>(&self) -> Option<&T> {
        if !self.is::<T>() {
            return None;
        }
        let place = (&raw const self.room).cast::<T>();
        if fits::<T>() {
            // SAFETY: the type was compared, and the value lives as long as the payload.
            Some(unsafe { &*place })
        } else {
            // SAFETY: likewise for the box.
            Some(unsafe { &*place.cast::<Box<T>>() })
        }
    }

    /// Returns the name of the value's type, for messages and logs; see [`std::any::type_name`].
    pub fn type_name(&self) -> &'static str {
        (self.kind.name)()
    }
}

impl Drop for Payload {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the kind is the one that the room was filled by, and the room is not used after `drop`.
        unsafe { (self.kind.drop)(&raw mut self.room) }
    }
}

impl Default for Payload {
    fn default() -> Payload {
        Payload::empty()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({})", self.type_name())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Debug, PartialEq)]
    #[repr(align(64))]
    struct Aligned(u8);

    #[test]
    fn values_of_every_size_come_out_as_they_went_in() {
        assert_eq!(Payload::new(()).downcast::<()>().unwrap(), ());
        assert_eq!(
            Payload::new([1_u64; 3]).downcast::<[u64; 3]>().unwrap(),
            [1; 3]
        );
        assert_eq!(
            Payload::new([2_u64; 4]).downcast::<[u64; 4]>().unwrap(),
            [2; 4]
        );
        assert_eq!(
            Payload::new(Aligned(3)).downcast::<Aligned>().unwrap(),
            Aligned(3)
        );
        assert_eq!(
            Payload::new([2_u64; 4]).downcast_ref::<[u64; 4]>(),
            Some(&[2; 4])
        );
        assert_eq!(Payload::new(Aligned(3)).downcast_ref::<u8>(), None);
    }

    #[test]
    fn each_value_is_dropped_once() {
        let value = Arc::new(());
        let small = Payload::new(value.clone());
        let large = Payload::new((value.clone(), [0_u64; 4]));
        assert_eq!(Arc::strong_count(&value), 3);
        drop(small.downcast::<u8>().unwrap_err());
        assert_eq!(Arc::strong_count(&value), 2);
        drop(large.downcast::<(Arc<()>, [u64; 4])>().unwrap());
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn it_says_what_it_is() {
        assert_eq!(format!("{:?}", Payload::new(1_u8)), "Payload(u8)");
        assert_eq!(size_of::<Payload>(), 32);
    }
}
