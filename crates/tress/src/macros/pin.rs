/// Pins values to the stack of the function, or of the future, that this is written in.
///
/// Futures that are polled by reference, in [`select!`](crate::select) in a loop for instance, must
/// be pinned first. Either give names of variables, which are replaced by pinned references to their
/// values, or declarations:
///
/// ```
/// use tress::time::{Duration, sleep};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let work = async { 1 };
/// tress::pin!(work);
/// assert_eq!(work.as_mut().await, 1);
///
/// tress::pin! {
///     let work = async { 2 };
///     let limit = sleep(Duration::from_secs(60));
/// }
/// tress::select! {
///     n = &mut work => assert_eq!(n, 2),
///     () = &mut limit => unreachable!("it is ready at once"),
/// }
/// # });
/// ```
///
/// A single expression is pinned as well by [`std::pin::pin!`].
#[macro_export]
macro_rules! pin {
    ($($name:ident),+ $(,)?) => { $(
        #[allow(unused_mut)]
        let mut $name = ::core::pin::pin!($name);
    )+ };
    ($(let $name:ident = $value:expr;)+) => { $(
        let $name = $value;
        $crate::pin!($name);
    )+ };
}
