//! Backtraces with names, independent of the crate that takes them.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

/// A backtrace with names; returned by [`Trace::resolve_backtraces`](super::Trace::resolve_backtraces).
#[derive(Clone, Debug)]
pub struct Backtrace {
    frames: Box<[BacktraceFrame]>,
}

/// A frame of a [`Backtrace`].
#[derive(Clone, Debug)]
pub struct BacktraceFrame {
    ip: usize,
    symbol_address: usize,
    symbols: Box<[BacktraceSymbol]>,
}

/// A function of a [`BacktraceFrame`].
#[derive(Clone, Debug)]
pub struct BacktraceSymbol {
    name: Option<Box<[u8]>>,
    demangled: Option<Box<str>>,
    plain: Option<Box<str>>,
    addr: Option<usize>,
    file: Option<PathBuf>,
    line: Option<u32>,
    column: Option<u32>,
}

impl Backtrace {
    pub(super) fn new(resolved: &backtrace::Backtrace) -> Backtrace {
        let frames = resolved.frames().iter().map(BacktraceFrame::new);
        Backtrace {
            frames: frames.collect(),
        }
    }

    /// Returns the frames, the innermost first: that of the leaf operation.
    pub fn frames(&self) -> impl Iterator<Item = &BacktraceFrame> {
        self.frames.iter()
    }

    /// Returns the functions, the outermost first.
    pub(super) fn functions(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        let outside_in = self.frames.iter().rev();
        outside_in.flat_map(|frame| frame.symbols.iter().rev())
    }
}

impl BacktraceFrame {
    fn new(frame: &backtrace::BacktraceFrame) -> BacktraceFrame {
        BacktraceFrame {
            ip: frame.ip().addr(),
            symbol_address: frame.symbol_address().addr(),
            symbols: frame.symbols().iter().map(BacktraceSymbol::new).collect(),
        }
    }

    /// Returns the instruction pointer.
    pub fn ip(&self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.ip)
    }

    /// Returns where the function begins.
    pub fn symbol_address(&self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.symbol_address)
    }

    /// Returns the functions of the frame, the innermost first: several if some were inlined.
    pub fn symbols(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter()
    }
}

impl BacktraceSymbol {
    fn new(symbol: &backtrace::BacktraceSymbol) -> BacktraceSymbol {
        let name = symbol.name();
        BacktraceSymbol {
            name: name.as_ref().map(|name| name.as_bytes().into()),
            demangled: name.as_ref().map(|name| name.to_string().into()),
            plain: name.as_ref().map(|name| format!("{name:#}").into()),
            addr: symbol.addr().map(|addr| addr.addr()),
            file: symbol.filename().map(Path::to_owned),
            line: symbol.lineno(),
            column: symbol.colno(),
        }
    }

    /// Returns the name as the linker knows it.
    pub fn name_raw(&self) -> Option<&[u8]> {
        self.name.as_deref()
    }

    /// Returns the name as the source has it, with a hash at its end.
    pub fn name_demangled(&self) -> Option<&str> {
        self.demangled.as_deref()
    }

    /// Returns the name without the hash.
    pub(super) fn name_plain(&self) -> Option<&str> {
        self.plain.as_deref()
    }

    /// Returns where the function begins.
    pub fn addr(&self) -> Option<*mut c_void> {
        self.addr.map(std::ptr::without_provenance_mut)
    }

    /// Returns the file of the source; `None` without debug information.
    pub fn filename(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the line that is executed; `None` without debug information.
    pub fn lineno(&self) -> Option<u32> {
        self.line
    }

    /// Returns the column that is executed; `None` without debug information.
    pub fn colno(&self) -> Option<u32> {
        self.column
    }
}
