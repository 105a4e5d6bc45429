use std::fmt;

/// Where a thread was: the addresses of its frames, innermost first.
///
/// It is printed with the functions' names, files and lines if the feature `diagnostics` is on and the program has
/// that information; otherwise as bare addresses.
#[derive(Clone, PartialEq, Eq)]
pub struct Backtrace {
    frames: Vec<usize>,
}

impl Backtrace {
    #[cfg_attr(
        not(all(target_os = "linux", target_env = "gnu", not(loom), not(miri))),
        allow(dead_code, reason = "there is nobody who makes one")
    )]
    pub(super) fn new(frames: Vec<usize>) -> Backtrace {
        Backtrace { frames }
    }

    /// Returns the addresses of the frames, innermost first.
    pub fn frames(&self) -> &[usize] {
        &self.frames
    }
}

impl fmt::Debug for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, &address) in self.frames.iter().enumerate() {
            let line = if n == 0 { "" } else { "\n" };
            write!(f, "{line}{n:>4}: ")?;
            symbol(f, address)?;
        }
        Ok(())
    }
}

#[cfg(feature = "diagnostics")]
fn symbol(f: &mut fmt::Formatter<'_>, address: usize) -> fmt::Result {
    let mut result = None;
    backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
        // Functions that were inlined there come first; each has its own line.
        let again = result.is_some();
        let mut write = || {
            if again {
                write!(f, "\n      ")?;
            }
            match symbol.name() {
                Some(name) => write!(f, "{name:#}")?,
                None => write!(f, "{address:#x}")?,
            }
            if let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) {
                write!(f, " at {}:{line}", file.display())?;
            }
            Ok(())
        };
        result = Some(write().and(result.unwrap_or(Ok(()))));
    });
    result.unwrap_or_else(|| write!(f, "{address:#x}"))
}

#[cfg(not(feature = "diagnostics"))]
fn symbol(f: &mut fmt::Formatter<'_>, address: usize) -> fmt::Result {
    write!(f, "{address:#x}")
}
