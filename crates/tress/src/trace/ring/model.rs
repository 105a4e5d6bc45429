//! A writer that laps a reader: the reader may miss events, but never sees a mixed one.

use super::*;
use crate::sys::Arc;

/// All words say which event it is.
fn words(number: u64) -> Words {
    [number; 4].map(|n| n + 10)
}

#[test]
fn model_a_reader_sees_whole_events_or_none() {
    loom::model(|| {
        let ring = Arc::new(Ring::new(1));
        ring.push(words(0));
        let writer = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                ring.push(words(1));
                ring.push(words(2));
            })
        };
        for number in 0..3 {
            if let Some(seen) = ring.get(number) {
                assert_eq!(seen, words(number));
            }
        }
        writer.join().unwrap();
        assert_eq!(ring.get(2), Some(words(2)));
    });
}

#[test]
fn model_what_is_counted_as_written_is_there() {
    loom::model(|| {
        let ring = Arc::new(Ring::new(2));
        let writer = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                ring.push(words(0));
                ring.push(words(1));
            })
        };
        // Not lapped: everything that the count promises can be read.
        for number in 0..ring.written() {
            assert_eq!(ring.get(number), Some(words(number)));
        }
        writer.join().unwrap();
    });
}
