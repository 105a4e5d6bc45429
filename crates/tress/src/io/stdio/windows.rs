use super::{Stderr, Stdin, Stdout};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

macro_rules! handle {
    ($($name:ident)*) => {
        $(
            impl AsHandle for $name {
                fn as_handle(&self) -> BorrowedHandle<'_> {
                    self.std.as_handle()
                }
            }

            impl AsRawHandle for $name {
                fn as_raw_handle(&self) -> RawHandle {
                    self.std.as_raw_handle()
                }
            }
        )*
    };
}

handle!(Stdin Stdout Stderr);
