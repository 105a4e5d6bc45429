use super::{Stderr, Stdin, Stdout};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

macro_rules! descriptor {
    ($($name:ident)*) => {
        $(
            impl AsFd for $name {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    self.std.as_fd()
                }
            }

            impl AsRawFd for $name {
                fn as_raw_fd(&self) -> RawFd {
                    self.std.as_raw_fd()
                }
            }
        )*
    };
}

descriptor!(Stdin Stdout Stderr);
