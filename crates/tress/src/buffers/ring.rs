use std::sync::Arc;
use tress_driver::Driver;

/// The buffer pool of one driver, from which its kernel takes buffers.
#[derive(Debug)]
pub(crate) struct RingPool {
    pub(crate) driver: Arc<Driver>,
    pub(crate) pool: tress_driver::Pool,
}

impl RingPool {
    /// Creates a pool. `None` if the driver has no ring, or the kernel refuses the pool.
    pub(crate) fn new(driver: &Arc<Driver>, buffers: u16, size: usize) -> Option<RingPool> {
        let pool = tress_driver::Pool::new(driver, buffers, size).ok()?;
        Some(RingPool {
            driver: Arc::clone(driver),
            pool,
        })
    }

    pub(crate) fn available(&self) -> usize {
        self.pool.available()
    }
}
