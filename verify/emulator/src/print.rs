//! The calls that a kernel may leave to the driver: `vprintf`, `__assertfail`, `malloc`, `free`.

use crate::detect::{Order, Space};
use crate::error::Fault;
use crate::ir::*;
use crate::warp::{Path, Warp};
use crate::world::{Flow, World, lanes_of};

/// A string ends at the latest here.
const MAX_TEXT: usize = 4096;

/// What stands for the heap: whoever gets memory comes behind those who gave it back.
const HEAP: (Space, u64) = (Space::Global, u64::MAX);

impl World<'_> {
    pub(crate) fn driver_call(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        call: &Call,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        for lane in lanes_of(mask) {
            let argument = |warp: &Warp, i: usize| -> u64 {
                let Some(&(at, bytes)) = call.args.get(i) else { return 0 };
                let from = lane * warp.stride + (frame.local + at) as usize;
                let mut word = [0; 8];
                let n = (bytes as usize).min(8);
                word[..n].copy_from_slice(&warp.local[from..from + n]);
                u64::from_le_bytes(word)
            };
            let result = match call.target {
                CallTarget::Vprintf => {
                    let (format, args) = (argument(warp, 0), argument(warp, 1));
                    let format = self.text(warp, lane, format)?;
                    let text = self.format(warp, lane, &format, args)?;
                    self.output.push_str(&text);
                    text.len() as u64
                }
                CallTarget::AssertFail => {
                    let text = |w: &mut Self, i: usize| {
                        let at = argument(warp, i);
                        w.text(warp, lane, at).map(|t| String::from_utf8_lossy(&t).into_owned())
                    };
                    let (message, file) = (text(self, 0)?, text(self, 1)?);
                    let function = text(self, 3)?;
                    let line = argument(warp, 2) as u32;
                    return Err(Fault::Assert { message, function, file, line });
                }
                CallTarget::Malloc => {
                    let bytes = argument(warp, 0);
                    match self.memory.alloc(bytes, 16) {
                        Ok(address) => {
                            self.heap.push(address);
                            if let Some(detect) = &mut self.detect {
                                let how = (Order::Acquire, Scope::Gpu);
                                detect.strong_load(self.current, 1 << lane, HEAP, how, path.site());
                            }
                            address
                        }
                        // As the device heap does when it is full.
                        Err(_) => 0,
                    }
                }
                CallTarget::Free => {
                    let address = argument(warp, 0);
                    if address != 0 {
                        let Some(i) = self.heap.iter().position(|&a| a == address) else {
                            return Err(Fault::Memory(format!(
                                "free of {address:#x}, which malloc did not give"
                            )));
                        };
                        self.heap.swap_remove(i);
                        self.memory.free(address).map_err(Fault::Memory)?;
                        if let Some(detect) = &mut self.detect {
                            let how = (Order::Release, Scope::Gpu);
                            let w = self.current;
                            let what = (detect.epoch(w), (None, None));
                            detect.strong_store(w, lane, HEAP, how, false, what);
                        }
                    }
                    0
                }
                _ => 0,
            };
            if let Some(&(at, bytes)) = call.returns.first() {
                let to = lane * warp.stride + (frame.local + at) as usize;
                let n = (bytes as usize).min(8);
                warp.local[to..to + n].copy_from_slice(&result.to_le_bytes()[..n]);
            }
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    fn byte(&mut self, warp: &Warp, lane: usize, at: u64) -> Result<u8, Fault> {
        let place = self.resolve(warp, lane, MemSpace::Generic, at, 1, 1, false)?;
        Ok(self.view(warp, place, 1)[0])
    }

    fn text(&mut self, warp: &Warp, lane: usize, mut at: u64) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        if at == 0 {
            return Ok(text);
        }
        while text.len() < MAX_TEXT {
            match self.byte(warp, lane, at)? {
                0 => break,
                byte => text.push(byte),
            }
            at += 1;
        }
        Ok(text)
    }

    fn value(&mut self, warp: &Warp, lane: usize, at: &mut u64, bytes: u64) -> Result<u64, Fault> {
        *at = at.next_multiple_of(bytes);
        let place = self.resolve(warp, lane, MemSpace::Generic, *at, bytes, bytes, false)?;
        let mut word = [0; 8];
        word[..bytes as usize].copy_from_slice(self.view(warp, place, bytes as usize));
        *at += bytes;
        Ok(u64::from_le_bytes(word))
    }

    /// C's format, as far as device code uses it.
    fn format(
        &mut self,
        warp: &Warp,
        lane: usize,
        format: &[u8],
        mut args: u64,
    ) -> Result<String, Fault> {
        let mut out: Vec<u8> = Vec::new();
        let mut rest = format.iter().copied().peekable();
        while let Some(c) = rest.next() {
            if c != b'%' {
                out.push(c);
                continue;
            }
            let mut spec = Spec::default();
            while let Some(&flag) = rest.peek() {
                match flag {
                    b'-' => spec.left = true,
                    b'0' => spec.zero = true,
                    b'+' => spec.plus = true,
                    b' ' => spec.space = true,
                    b'#' => spec.alternate = true,
                    _ => break,
                }
                rest.next();
            }
            let mut number = |rest: &mut std::iter::Peekable<_>| -> Result<Option<usize>, Fault> {
                let rest: &mut std::iter::Peekable<std::iter::Copied<std::slice::Iter<u8>>> = rest;
                if rest.next_if_eq(&b'*').is_some() {
                    return Ok(Some(self.value(warp, lane, &mut args, 4)? as usize & 0xFFF));
                }
                let mut n = None;
                while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
                    n = Some((n.unwrap_or(0) * 10 + usize::from(digit - b'0')).min(0xFFF));
                }
                Ok(n)
            };
            spec.width = number(&mut rest)?.unwrap_or(0);
            if rest.next_if_eq(&b'.').is_some() {
                spec.precision = Some(number(&mut rest)?.unwrap_or(0));
            }
            let mut long = 0;
            while let Some(length) = rest.next_if(|c| matches!(c, b'l' | b'h' | b'z' | b'j' | b't'))
            {
                long += match length {
                    b'h' => 0,
                    b'l' => 1,
                    _ => 2,
                };
            }
            let bytes = if long > 0 { 8 } else { 4 };
            match rest.next() {
                Some(b'%') => out.push(b'%'),
                Some(b'd' | b'i') => {
                    let value = self.value(warp, lane, &mut args, bytes)?;
                    let value =
                        if bytes == 4 { i64::from(value as u32 as i32) } else { value as i64 };
                    spec.integer(&mut out, value < 0, value.unsigned_abs().to_string());
                }
                Some(b'u') => {
                    let value = self.value(warp, lane, &mut args, bytes)?;
                    spec.integer(&mut out, false, value.to_string());
                }
                Some(kind @ (b'x' | b'X' | b'o')) => {
                    let value = self.value(warp, lane, &mut args, bytes)?;
                    let digits = match kind {
                        b'x' => format!("{}{value:x}", if spec.alternate { "0x" } else { "" }),
                        b'X' => format!("{}{value:X}", if spec.alternate { "0X" } else { "" }),
                        _ => format!("{value:o}"),
                    };
                    spec.plus = false;
                    spec.integer(&mut out, false, digits);
                }
                Some(b'c') => {
                    let value = self.value(warp, lane, &mut args, 4)?;
                    spec.pad(&mut out, &[value as u8]);
                }
                Some(b'p') => {
                    let value = self.value(warp, lane, &mut args, 8)?;
                    spec.pad(&mut out, format!("{value:#x}").as_bytes());
                }
                Some(b's') => {
                    let at = self.value(warp, lane, &mut args, 8)?;
                    let mut text = self.text(warp, lane, at)?;
                    text.truncate(spec.precision.unwrap_or(MAX_TEXT));
                    spec.pad(&mut out, &text);
                }
                Some(kind @ (b'f' | b'F' | b'e' | b'E' | b'g' | b'G')) => {
                    let value = f64::from_bits(self.value(warp, lane, &mut args, 8)?);
                    spec.float(&mut out, kind.to_ascii_lowercase(), value);
                }
                Some(other) => out.extend([b'%', other]),
                None => out.push(b'%'),
            }
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Spec {
    fn pad(&self, out: &mut Vec<u8>, text: &[u8]) {
        let fill = self.width.saturating_sub(text.len());
        if !self.left {
            out.extend(std::iter::repeat_n(b' ', fill));
        }
        out.extend(text);
        if self.left {
            out.extend(std::iter::repeat_n(b' ', fill));
        }
    }

    fn signed(&self, out: &mut Vec<u8>, negative: bool, digits: &str, zero: bool) {
        let sign = match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        if zero && !self.left {
            let fill = self.width.saturating_sub(sign.len() + digits.len());
            out.extend(sign.bytes());
            out.extend(std::iter::repeat_n(b'0', fill));
            out.extend(digits.bytes());
        } else {
            self.pad(out, format!("{sign}{digits}").as_bytes());
        }
    }

    fn integer(&self, out: &mut Vec<u8>, negative: bool, digits: String) {
        let missing = self.precision.unwrap_or(1).saturating_sub(digits.len());
        let digits = format!("{}{digits}", "0".repeat(missing));
        self.signed(out, negative, &digits, self.zero && self.precision.is_none());
    }

    fn float(&self, out: &mut Vec<u8>, kind: u8, value: f64) {
        let negative = value.is_sign_negative();
        let x = value.abs();
        if !x.is_finite() {
            let text = if x.is_nan() { "nan" } else { "inf" };
            return self.signed(out, negative, text, false);
        }
        let precision = self.precision.unwrap_or(6);
        let text = match kind {
            b'f' => format!("{x:.precision$}"),
            b'e' => exponential(x, precision),
            _ => {
                let significant = precision.max(1);
                let scientific = exponential(x, significant - 1);
                let exponent: i32 =
                    scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
                let plain = (-4..significant as i32).contains(&exponent);
                let trim = |t: &str| match t.contains('.') && !self.alternate {
                    true => t.trim_end_matches('0').trim_end_matches('.').to_owned(),
                    false => t.to_owned(),
                };
                if plain {
                    let decimals = (significant as i32 - 1 - exponent).max(0) as usize;
                    trim(&format!("{x:.decimals$}"))
                } else {
                    match scientific.split_once('e') {
                        Some((m, e)) => format!("{}e{e}", trim(m)),
                        None => scientific,
                    }
                }
            }
        };
        self.signed(out, negative, &text, self.zero);
    }
}

/// C's `%e`: at least two digits of exponent.
fn exponential(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_c_does() {
        let print = |spec: Spec, kind, x| {
            let mut out = Vec::new();
            spec.float(&mut out, kind, x);
            String::from_utf8(out).unwrap()
        };
        let plain = Spec::default();
        assert_eq!(print(plain, b'f', 1.5), "1.500000");
        assert_eq!(print(plain, b'e', 12345.678), "1.234568e+04");
        assert_eq!(print(plain, b'g', 0.0001), "0.0001");
        assert_eq!(print(plain, b'g', 0.00001), "1e-05");
        assert_eq!(print(plain, b'g', 1234567.0), "1.23457e+06");
        assert_eq!(print(plain, b'g', 100.0), "100");
        assert_eq!(print(Spec { width: 8, zero: true, ..plain }, b'f', -1.0), "-1.000000");
        assert_eq!(print(Spec { width: 6, precision: Some(1), ..plain }, b'f', -1.0), "  -1.0");
    }
}
