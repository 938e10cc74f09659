//! libNVVM, loaded when it is needed: nothing of it is there when this library is built.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use crate::Error;

type Program = *mut c_void;
/// What every call answers; 0 is success.
type Status = c_int;

/// The library of one toolkit.
pub(super) struct Library {
    library: libloading::Library,
    path: PathBuf,
    version: (c_int, c_int),
}

/// The version of a libNVVM's interface, major and minor; nothing if it cannot be used.
pub(crate) fn version(path: &Path) -> Option<(i32, i32)> {
    Library::open(path).ok().map(|library| library.version)
}

/// Symbols that are called, by their types.
macro_rules! symbol {
    ($library:expr, $name:expr, fn($($argument:ty),*)) => {
        // SAFETY: the type is that of the declaration in nvvm.h, which has not changed since the first release.
        unsafe { $library.get::<unsafe extern "C" fn($($argument),*) -> Status>($name) }
    };
}

impl Library {
    /// Loads it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unusable = |why: String| {
            Error::Setup(format!("{} cannot be used as libNVVM: {why}", path.display()))
        };
        // SAFETY: what it does when it is loaded is NVIDIA's, as with every library of a toolkit; nothing else is promised to it.
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| unusable(error.to_string()))?;
        let (mut major, mut minor) = (0, 0);
        {
            let version = symbol!(library, b"nvvmVersion\0", fn(*mut c_int, *mut c_int))
                .map_err(|error| unusable(error.to_string()))?;
            // SAFETY: both are places for one number.
            let status = unsafe { version(&mut major, &mut minor) };
            if status != 0 {
                return Err(unusable(format!("nvvmVersion answers {status}")));
            }
        }
        Ok(Self { library, path: path.to_owned(), version: (major, minor) })
    }

    /// The version of LLVM whose IR it reads for a target; nothing if it does not know the target.
    pub fn llvm_version(&self, compute: &str) -> Option<i32> {
        let target = CString::new(compute).ok()?;
        let mut version = 0;
        let ask = symbol!(self.library, b"nvvmLLVMVersion\0", fn(*const c_char, *mut c_int));
        match ask {
            // SAFETY: a text that ends with 0, and a place for one number.
            Ok(ask) => (unsafe { ask(target.as_ptr(), &mut version) } == 0).then_some(version),
            // Before CUDA 12.9 nobody could ask, and all targets had the old dialect.
            Err(_) => Some(7),
        }
    }

    /// PTX of a module, or what the library says of it.
    pub fn compile(&self, ir: &str, name: &str, compute: &str) -> Result<String, String> {
        let program = Compilation::new(self)?;
        program.add(ir, name)?;
        program.compile(&[&format!("-arch={compute}")])
    }

    fn lost(&self, error: &libloading::Error) -> String {
        format!("{} lacks a function: {error}", self.path.display())
    }
}

/// A program object of the library.
struct Compilation<'a> {
    library: &'a Library,
    program: Program,
}

impl<'a> Compilation<'a> {
    fn new(library: &'a Library) -> Result<Self, String> {
        let create = symbol!(library.library, b"nvvmCreateProgram\0", fn(*mut Program))
            .map_err(|error| library.lost(&error))?;
        let mut program = ptr::null_mut();
        // SAFETY: a place for one handle.
        match unsafe { create(&mut program) } {
            0 => Ok(Self { library, program }),
            status => Err(format!("nvvmCreateProgram answers {status}")),
        }
    }

    /// Adds a module of IR.
    fn add(&self, ir: &str, name: &str) -> Result<(), String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let add = symbol!(
            self.library.library,
            b"nvvmAddModuleToProgram\0",
            fn(Program, *const c_char, usize, *const c_char)
        )
        .map_err(|error| self.library.lost(&error))?;
        // SAFETY: the handle is of a program that is alive; the text has that many bytes, and is copied.
        let status = unsafe { add(self.program, ir.as_ptr().cast(), ir.len(), name.as_ptr()) };
        if status == 0 { Ok(()) } else { Err(self.log(status)) }
    }

    /// Compiles what was added.
    fn compile(&self, options: &[&str]) -> Result<String, String> {
        let options: Vec<CString> = options
            .iter()
            .map(|option| CString::new(*option).map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()?;
        let mut pointers: Vec<*const c_char> =
            options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).map_err(|error| error.to_string())?;
        let compile = symbol!(
            self.library.library,
            b"nvvmCompileProgram\0",
            fn(Program, c_int, *mut *const c_char)
        )
        .map_err(|error| self.library.lost(&error))?;
        // SAFETY: the handle is alive, and so are that many texts.
        match unsafe { compile(self.program, count, pointers.as_mut_ptr()) } {
            0 => self.text(b"nvvmGetCompiledResultSize\0", b"nvvmGetCompiledResult\0"),
            status => Err(self.log(status)),
        }
    }

    /// What it says of a failure.
    fn log(&self, status: Status) -> String {
        match self.text(b"nvvmGetProgramLogSize\0", b"nvvmGetProgramLog\0") {
            Ok(log) if !log.trim().is_empty() => log.trim().to_owned(),
            _ => format!("no reason is given (status {status})"),
        }
    }

    fn text(&self, size: &[u8], text: &[u8]) -> Result<String, String> {
        let lost = |error| self.library.lost(&error);
        let ask = symbol!(self.library.library, size, fn(Program, *mut usize)).map_err(lost)?;
        let fill = symbol!(self.library.library, text, fn(Program, *mut c_char)).map_err(lost)?;
        let mut bytes = 0;
        // SAFETY: the handle is alive; a place for one number.
        let status = unsafe { ask(self.program, &mut bytes) };
        if status != 0 || bytes == 0 {
            return Err(format!("it has no text (status {status})"));
        }
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the handle is alive; as many bytes as it asked for, the final 0 included.
        let status = unsafe { fill(self.program, buffer.as_mut_ptr().cast()) };
        let text = CStr::from_bytes_until_nul(&buffer).map_err(|error| error.to_string())?;
        if status == 0 {
            Ok(text.to_string_lossy().into_owned())
        } else {
            Err(format!("it has no text (status {status})"))
        }
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) =
            symbol!(self.library.library, b"nvvmDestroyProgram\0", fn(*mut Program))
        {
            // SAFETY: the handle is alive, and nobody uses it after this.
            unsafe { destroy(&mut self.program) };
        }
    }
}
