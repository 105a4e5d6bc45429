//! How a socket is made from the standard library's, and shows what is inside.

/// Implements conversion from the standard library's type and access to the descriptor, outside of the
/// socket's `impl`.
macro_rules! socket_traits {
    ($Socket:ident, $Std:ty) => {
        impl TryFrom<$Std> for $Socket {
            type Error = std::io::Error;

            /// Converts like [`from_std`](Self::from_std).
            #[track_caller]
            fn try_from(socket: $Std) -> std::io::Result<$Socket> {
                $Socket::from_std(socket)
            }
        }

        impl std::fmt::Debug for $Socket {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.io.fmt(f)
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $Socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.get_ref().as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $Socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.get_ref().as_fd()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $Socket {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.io.get_ref().as_raw_socket()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $Socket {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                self.io.get_ref().as_socket()
            }
        }
    };
}

pub(super) use socket_traits;
