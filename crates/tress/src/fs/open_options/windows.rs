//! What only Windows has.

use super::OpenOptions;
use std::os::windows::fs::OpenOptionsExt;

impl OpenOptions {
    /// The access that is asked for, in place of what [`read`](OpenOptions::read) and the like stand for.
    pub fn access_mode(&mut self, access: u32) -> &mut Self {
        self.std.access_mode(access);
        self
    }

    /// What others may do with the file meanwhile.
    pub fn share_mode(&mut self, share: u32) -> &mut Self {
        self.std.share_mode(share);
        self
    }

    /// More flags of `CreateFile2`.
    pub fn custom_flags(&mut self, flags: u32) -> &mut Self {
        self.std.custom_flags(flags);
        self
    }

    /// Attributes of a file that is made.
    pub fn attributes(&mut self, attributes: u32) -> &mut Self {
        self.std.attributes(attributes);
        self
    }

    /// The security quality of service of named pipes.
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        self.std.security_qos_flags(flags);
        self
    }
}
