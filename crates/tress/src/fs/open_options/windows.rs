//! Options that only Windows has.

use super::OpenOptions;
use std::os::windows::fs::OpenOptionsExt;

impl OpenOptions {
    /// Sets the `dwDesiredAccess` argument of `CreateFile`, overriding the access that
    /// [`read`](OpenOptions::read), [`write`](OpenOptions::write) and [`append`](OpenOptions::append) ask
    /// for.
    ///
    /// See [`OpenOptionsExt::access_mode`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.access_mode(0); // query metadata only
    /// ```
    pub fn access_mode(&mut self, access: u32) -> &mut Self {
        self.std.access_mode(access);
        self
    }

    /// Sets the `dwShareMode` argument of `CreateFile`: what other processes may do with the file while it
    /// is open.
    ///
    /// By default others may read, write, rename and delete it. See [`OpenOptionsExt::share_mode`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.write(true).share_mode(0); // exclusive
    /// ```
    pub fn share_mode(&mut self, share: u32) -> &mut Self {
        self.std.share_mode(share);
        self
    }

    /// Sets additional flags of the `dwFlagsAndAttributes` argument of `CreateFile`.
    ///
    /// They replace those of an earlier call. See [`OpenOptionsExt::custom_flags`].
    ///
    /// # Examples
    ///
    /// ```
    /// # const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.write(true).create(true).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    /// ```
    pub fn custom_flags(&mut self, flags: u32) -> &mut Self {
        self.std.custom_flags(flags);
        self
    }

    /// Sets the attributes of a file that is created.
    ///
    /// See [`OpenOptionsExt::attributes`].
    ///
    /// # Examples
    ///
    /// ```
    /// # const FILE_ATTRIBUTE_HIDDEN: u32 = 2;
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.write(true).create(true).attributes(FILE_ATTRIBUTE_HIDDEN);
    /// ```
    pub fn attributes(&mut self, attributes: u32) -> &mut Self {
        self.std.attributes(attributes);
        self
    }

    /// Sets the security quality of service with which a named pipe is opened.
    ///
    /// See [`OpenOptionsExt::security_qos_flags`].
    ///
    /// # Examples
    ///
    /// ```
    /// # const SECURITY_IDENTIFICATION: u32 = 0x0001_0000;
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.read(true).write(true).security_qos_flags(SECURITY_IDENTIFICATION);
    /// ```
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        self.std.security_qos_flags(flags);
        self
    }
}
