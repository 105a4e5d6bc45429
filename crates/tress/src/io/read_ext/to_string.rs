use super::to_end::Spare;
use crate::io::AsyncRead;
use crate::io::operation::Step;
use crate::io::text::Text;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncReadExt::read_to_string`](crate::io::AsyncReadExt::read_to_string).
#[derive(Debug)]
pub struct ReadToString<'a> {
    text: Text<'a>,
    spare: Spare,
}

impl<'a> ReadToString<'a> {
    pub(super) fn new(string: &'a mut String) -> Self {
        let text = Text::new(string);
        let spare = Spare::new(&text.bytes);
        ReadToString { text, spare }
    }
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToString<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        ready!(
            self.spare
                .poll_read_to_end(reader, cx, &mut self.text.bytes)
        )?;
        Poll::Ready(self.text.commit())
    }
}
