//! Channels that go with any runtime.

use std::sync::Once;

use super::{Queue, Shared};

/// async-channel, smol's.
pub struct AsyncChannel;

impl Queue for AsyncChannel {
    type Sender = async_channel::Sender<u64>;
    type Receiver = async_channel::Receiver<u64>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        async_channel::bounded(capacity)
    }

    fn try_send(sender: &Self::Sender, value: u64) -> bool {
        sender.try_send(value).is_ok()
    }

    fn try_receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }

    async fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send(value).await.is_ok()
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

impl Shared for AsyncChannel {
    fn another(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

/// `tress::channel`.
pub struct TressChannel;

impl Queue for TressChannel {
    type Sender = tress::channel::Sender<u64>;
    type Receiver = tress::channel::Receiver<u64>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        tress::channel::bounded(capacity)
    }

    fn try_send(sender: &Self::Sender, value: u64) -> bool {
        sender.try_send(value).is_ok()
    }

    fn try_receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }

    async fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send(value).await.is_ok()
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

impl Shared for TressChannel {
    fn another(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

/// flume.
pub struct Flume;

impl Queue for Flume {
    type Sender = flume::Sender<u64>;
    type Receiver = flume::Receiver<u64>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        flume::bounded(capacity)
    }

    fn try_send(sender: &Self::Sender, value: u64) -> bool {
        sender.try_send(value).is_ok()
    }

    fn try_receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }

    async fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send_async(value).await.is_ok()
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv_async().await.ok()
    }
}

impl Shared for Flume {
    fn another(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

/// kanal.
pub struct Kanal;

impl Queue for Kanal {
    type Sender = kanal::AsyncSender<u64>;
    type Receiver = kanal::AsyncReceiver<u64>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        kanal::bounded_async(capacity)
    }

    fn try_send(sender: &Self::Sender, value: u64) -> bool {
        sender.try_send(value) == Ok(true)
    }

    fn try_receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok().flatten()
    }

    async fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send(value).await.is_ok()
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

impl Shared for Kanal {
    fn another(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

/// crossfire, its channel for many receivers.
pub struct Crossfire;

impl Queue for Crossfire {
    type Sender = crossfire::MAsyncTx<crossfire::mpmc::Array<u64>>;
    type Receiver = crossfire::MAsyncRx<crossfire::mpmc::Array<u64>>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        // What its manual asks for on virtual machines.
        static CONFIGURED: Once = Once::new();
        CONFIGURED.call_once(crossfire::detect_backoff_cfg);
        crossfire::mpmc::bounded_async(capacity)
    }

    fn try_send(sender: &Self::Sender, value: u64) -> bool {
        sender.try_send(value).is_ok()
    }

    fn try_receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }

    async fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send(value).await.is_ok()
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

impl Shared for Crossfire {
    fn another(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}
