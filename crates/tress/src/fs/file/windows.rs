use super::File;
use std::os::windows::io::{
    AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle,
};

impl AsHandle for File {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.std.as_handle()
    }
}

impl AsRawHandle for File {
    fn as_raw_handle(&self) -> RawHandle {
        self.std.as_raw_handle()
    }
}

impl From<OwnedHandle> for File {
    fn from(handle: OwnedHandle) -> File {
        File::from_std(handle.into())
    }
}

impl FromRawHandle for File {
    unsafe fn from_raw_handle(handle: RawHandle) -> File {
        // SAFETY: the handle is open and given away, by the caller's promise.
        File::from_std(unsafe { std::fs::File::from_raw_handle(handle) })
    }
}
