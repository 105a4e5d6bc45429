use std::time::Duration;
use tress::runtime::{Builder, Runtime};
use tress::task::{spawn_blocking, yield_now, block_in_place};
use tress::time::{sleep, timeout};

#[test]
fn multi() {
    let rt = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let sum = rt.block_on(async {
        tress::spawn(async {
            let hs: Vec<_> = (0..10_000u64).map(|i| tress::spawn(async move { yield_now().await; i })).collect();
            let mut s = 0; for h in hs { s += h.await.unwrap(); } s
        }).await.unwrap()
    });
    assert_eq!(sum, 9999*10000/2);
    rt.block_on(async { sleep(Duration::from_millis(10)).await; });
    rt.block_on(async { tress::spawn(async { sleep(Duration::from_millis(10)).await; }).await.unwrap() });
    assert!(rt.block_on(async { timeout(Duration::from_millis(5), std::future::pending::<()>()).await }).is_err());
    assert_eq!(rt.block_on(async { spawn_blocking(|| 5).await.unwrap() }), 5);
    assert_eq!(rt.block_on(tress_spawn_bip()), 6);
    println!("{:#?}", rt.metrics());
}
async fn tress_spawn_bip() -> i32 { tress::spawn(async { block_in_place(|| 6) }).await.unwrap() }

#[test]
fn current() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let sum = rt.block_on(async {
        let hs: Vec<_> = (0..10_000u64).map(|i| tress::spawn(async move { yield_now().await; i })).collect();
        let mut s = 0; for h in hs { s += h.await.unwrap(); } s
    });
    assert_eq!(sum, 9999*10000/2);
    rt.block_on(async { sleep(Duration::from_millis(10)).await; });
    assert_eq!(rt.block_on(async { spawn_blocking(|| 5).await.unwrap() }), 5);
}
#[test]
fn pending_dropped() {
    let rt = Runtime::new().unwrap();
    for _ in 0..100 { rt.spawn(std::future::pending::<()>()); }
    let h = rt.spawn(std::future::pending::<()>());
    drop(rt);
    assert!(h.is_finished());
}
