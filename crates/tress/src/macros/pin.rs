/// Pins values to the stack of the function, or of the future, in which it is used.
///
/// Futures that are polled by reference, for example in a loop around [`select!`](crate::select), must be
/// pinned first. The macro takes either names of variables, which it shadows by pinned references to their
/// values, or `let` statements.
///
/// [`std::pin::pin!`] pins a single expression.
///
/// # Examples
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
