//! Tests that run with a driver of their choice.
//!
//! Which driver a process has is settled before it starts, so each test runs itself again in a
//! process whose library path begins with the driver that it wants.

#![allow(dead_code, reason = "each test executable uses a part of this")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cudarc::driver::sys;

/// Marks the process that a test has started.
const INSIDE: &str = "BATON_TEST_INSIDE";

/// The folder of a `libcuda.so` that this test wants.
pub enum Driver {
    /// The stand-in, as it is.
    StandIn,
    /// The stand-in without a symbol that launches need.
    Incomplete,
    /// Files that are no libraries: they hide the machine's own driver, if it has one.
    None,
}

impl Driver {
    pub fn folder(&self) -> &'static Path {
        static FOLDERS: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
        let (slot, name, cfg): (_, _, &[&str]) = match self {
            Self::StandIn => (&FOLDERS[0], "stand-in", &[]),
            Self::Incomplete => (&FOLDERS[1], "incomplete", &["--cfg", "without_event_destroy"]),
            Self::None => (&FOLDERS[2], "none", &[]),
        };
        slot.get_or_init(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::create_dir_all(&folder).unwrap();
            if matches!(self, Self::None) {
                for library in ["libcuda.so", "libcuda.so.1"] {
                    std::fs::write(folder.join(library), "no library").unwrap();
                }
                return folder;
            }
            let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
            let built = Command::new(rustc)
                .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "cuda"])
                .args(["--cap-lints", "allow", "-o"])
                .arg(folder.join("libcuda.so"))
                .args(cfg)
                .arg(source())
                .status()
                .unwrap();
            assert!(built.success(), "the stand-in driver does not compile");
            folder
        })
    }
}

/// The stand-in's source, from whichever package of the repository the test is.
fn source() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut sources = folders.map(|folder| folder.join("host/tests/stand_in/driver.rs"));
    sources.find(|source| source.is_file()).expect("the repository has a stand-in")
}

/// Runs `body` in a process of its own, as the test of that name, with that driver.
pub fn with(driver: Driver, wishes: &[(&str, &str)], test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("LD_LIBRARY_PATH", driver.folder())
        .env(INSIDE, "1")
        .env_remove("BATON_DEVICE")
        .envs(wishes.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A text that the stand-in gives away.
fn text(symbol: &str) -> String {
    // SAFETY: the stand-in is loaded, the callers name symbols of this type, and the text is ours to keep.
    unsafe {
        let text = sys::culib().get::<unsafe extern "C" fn() -> *mut c_char>(symbol.as_bytes());
        CStr::from_ptr(text.unwrap()()).to_string_lossy().into_owned()
    }
}

/// What the stand-in was asked so far.
pub fn log() -> String {
    text("stand_in_log")
}

/// How many allocations the stand-in has.
pub fn allocations() -> usize {
    number("stand_in_allocations")
}

/// A number that the stand-in keeps.
fn number(symbol: &str) -> usize {
    // SAFETY: the stand-in is loaded, and the callers name symbols of this type.
    unsafe { sys::culib().get::<unsafe extern "C" fn() -> usize>(symbol.as_bytes()).unwrap()() }
}

/// How many allocations of the stand-in had memory at the same time, at most.
pub fn places() -> usize {
    number("stand_in_places")
}

/// How often the stand-in was asked for a primary context.
pub fn contexts() -> usize {
    number("stand_in_contexts")
}

/// How often the stand-in was asked which context is current, or to make one so.
pub fn context_calls() -> usize {
    number("stand_in_context_calls")
}

/// Which functions were refused, and how often.
pub fn refused() -> BTreeMap<String, usize> {
    let text = text("stand_in_refused");
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(symbol, count)| (symbol.to_owned(), count.parse().unwrap())).collect()
}

/// Which of the driver's functions are called while `act` runs, in their order.
pub fn called<T>(act: impl FnOnce() -> T) -> (T, Vec<String>) {
    text("stand_in_trace");
    let done = act();
    (done, text("stand_in_trace").lines().map(str::to_owned).collect())
}

/// How many calls were refused.
pub fn refusals() -> usize {
    number("stand_in_refusals")
}

/// How many calls there were since the last [`fail`].
pub fn calls() -> usize {
    number("stand_in_calls")
}

/// Gives the stand-in's devices back what they were before a context was lost. Nothing of theirs is kept.
pub fn revive() {
    // SAFETY: the stand-in is loaded, and the symbol has this type.
    unsafe {
        sys::culib().get::<unsafe extern "C" fn()>(b"stand_in_revive").unwrap()();
    }
}

/// What was done that no driver forgives.
pub fn violations() -> String {
    text("stand_in_violations")
}

/// Lets the stand-in do some of its work early, as the seed says.
pub fn seed(seed: u64) {
    // SAFETY: the stand-in is loaded, and the symbol has this type.
    unsafe {
        sys::culib().get::<unsafe extern "C" fn(u64)>(b"stand_in_seed").unwrap()(seed);
    }
}

/// Makes a context current that is nobody's here, and says which is current.
pub fn current_context(set: Option<usize>) -> usize {
    use std::ffi::c_void;
    use std::ptr::{null_mut, without_provenance_mut};
    // SAFETY: the stand-in is loaded, and the symbols have these types.
    unsafe {
        let get =
            sys::culib().get::<unsafe extern "C" fn(*mut *mut c_void) -> u32>(b"cuCtxGetCurrent");
        let put = sys::culib().get::<unsafe extern "C" fn(*mut c_void) -> u32>(b"cuCtxSetCurrent");
        if let Some(context) = set {
            put.unwrap()(without_provenance_mut(context));
        }
        let mut context = null_mut();
        get.unwrap()(&mut context);
        context.addr()
    }
}

/// Lets the stand-in's events be complete, or not.
pub fn complete(complete: bool) {
    // SAFETY: the stand-in is loaded, and the symbol has this type.
    unsafe {
        let set = sys::culib().get::<unsafe extern "C" fn(bool)>(b"stand_in_complete");
        set.unwrap()(complete);
    }
}

/// Lets a function of the stand-in fail from now on: `symbol:code`.
pub fn fail(wish: &str) {
    let wish = CString::new(wish).unwrap();
    // SAFETY: the stand-in is loaded, the symbol has this type, and the text lives during the call.
    unsafe {
        let set = sys::culib().get::<unsafe extern "C" fn(*const c_char)>(b"stand_in_fail");
        set.unwrap()(wish.as_ptr());
    }
}

/// What the stand-in is asked while `act` runs.
pub fn asked(act: impl FnOnce()) -> Vec<String> {
    // SAFETY: the stand-in is loaded, and the symbol has this type.
    unsafe {
        let forget = sys::culib().get::<unsafe extern "C" fn()>(b"stand_in_forget");
        forget.unwrap()();
    }
    act();
    log().lines().map(str::to_owned).collect()
}
