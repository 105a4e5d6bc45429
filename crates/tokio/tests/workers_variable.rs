//! In a process of its own, because it sets an environment variable.

use tokio::runtime::{Builder, Runtime};

#[test]
fn the_number_of_workers_can_come_from_the_environment() {
    // SAFETY: this test is alone in its process, and no other thread is running yet.
    unsafe { std::env::set_var("TOKIO_WORKER_THREADS", "3") };
    let mut builder = Builder::new_multi_thread();
    assert_eq!(builder.build().unwrap().metrics().num_workers(), 3);
    let explicit = builder.worker_threads(2).build().unwrap();
    assert_eq!(explicit.metrics().num_workers(), 2);

    for nonsense in ["0", "many", ""] {
        // SAFETY: as above; the threads of the runtimes have ended or read no environment.
        unsafe { std::env::set_var("TOKIO_WORKER_THREADS", nonsense) };
        let built = std::panic::catch_unwind(|| Builder::new_multi_thread().build());
        assert!(built.is_err(), "{nonsense:?}");
        assert!(std::panic::catch_unwind(|| Runtime::new()).is_err());
    }
}
