use super::pipe;
use std::os::fd::AsRawFd;
use std::process::Command;

/// Set for a process of its own: in this one other tests open what they like under the same numbers.
const CHILD: &str = "TRESS_TEST_PIPE_CHILD";

/// A child could be started at any moment: there must be none at which it would get the pipe. Another
/// thread looks at the numbers that the pipes have, again and again.
#[test]
fn a_pipe_is_never_open_to_children() {
    if std::env::var_os(CHILD).is_none() {
        let name = "signal::registry::tests::a_pipe_is_never_open_to_children";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let status = child.args(["--exact", name]).env(CHILD, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    let (read, write) = pipe().unwrap();
    let numbers = [read.as_raw_fd(), write.as_raw_fd()];
    drop((read, write));
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut seen = 0;
            while seen < 50_000 {
                for number in numbers {
                    // SAFETY: asks for flags; a number that is not in use is an error.
                    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
                    assert!(flags == -1 || flags & libc::FD_CLOEXEC != 0);
                    seen += u32::from(flags != -1);
                }
            }
        });
        while !looks.is_finished() {
            drop(pipe().unwrap());
        }
        looks.join().unwrap();
    });
}
