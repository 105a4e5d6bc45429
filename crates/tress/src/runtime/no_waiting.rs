//! The twin for models, in which nothing is noted.

use std::io::{self, Write};

pub(super) enum Moment {}

impl Moment {
    pub(super) fn if_on() -> Option<Moment> {
        None
    }

    pub(super) fn write_roots(&self, _: &mut dyn Write) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn write_queues(&self, _: &mut dyn Write) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn write_waits(&self, _: &mut dyn Write, _: u64) -> io::Result<()> {
        match *self {}
    }
}
