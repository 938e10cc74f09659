//! Elements of buffers: numbers to bytes and back, and when two are alike.

use half::{bf16, f16};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

/// A number as TOML has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole one.
    Whole(i128),
    /// A floating-point one.
    Float(f64),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Whole(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number::Whole(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Types of elements.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each name is the type")]
pub enum Element {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    /// Of one.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::U16 | Element::I16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    fn is_signed(self) -> bool {
        matches!(self, Element::I8 | Element::I16 | Element::I32 | Element::I64)
    }

    /// The low bytes of the value; a floating-point type rounds to nearest.
    pub fn encode(self, number: Number) -> Result<[u8; 8], String> {
        if self.is_float() {
            return Ok(self.float(match number {
                Number::Whole(whole) => whole as f64,
                Number::Float(float) => float,
            }));
        }
        let Number::Whole(whole) = number else {
            return Err(format!("a {self:?} is a whole number").to_lowercase());
        };
        let bits = 8 * self.bytes() as u32;
        let (low, high) = match self.is_signed() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        if !(low..=high).contains(&whole) {
            let name = format!("{self:?}").to_lowercase();
            return Err(format!("{whole} is no {name}, which goes from {low} to {high}"));
        }
        Ok((whole as u64).to_le_bytes())
    }

    fn float(self, value: f64) -> [u8; 8] {
        let bits = match self {
            Element::F16 => f16::from_f64(value).to_bits().into(),
            Element::Bf16 => bf16::from_f64(value).to_bits().into(),
            Element::F32 => (value as f32).to_bits().into(),
            _ => value.to_bits(),
        };
        bits.to_le_bytes()
    }

    /// The value of index `i` in an iota.
    pub fn index(self, i: u64) -> [u8; 8] {
        if self.is_float() { self.float(i as f64) } else { i.to_le_bytes() }
    }

    /// A value from random bits.
    pub fn random(self, bits: u64) -> [u8; 8] {
        if self.is_float() {
            // 24 bits are exact in a float of 32; narrower ones round.
            self.float((bits >> 40) as f64 / (1u64 << 23) as f64 - 1.0)
        } else {
            bits.to_le_bytes()
        }
    }

    /// The value of an element's bytes.
    pub fn decode(self, bytes: &[u8]) -> Number {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        let float = match self {
            Element::F16 => f16::from_bits(bits as u16).to_f64(),
            Element::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Element::F32 => f32::from_bits(bits as u32).into(),
            Element::F64 => f64::from_bits(bits),
            _ => {
                let unused = 64 - 8 * self.bytes() as u32;
                return Number::Whole(match self.is_signed() {
                    true => i128::from(((bits << unused) as i64) >> unused),
                    false => bits.into(),
                });
            }
        };
        Number::Float(float)
    }

    /// Whether a result is what was expected. All NaNs are alike.
    pub fn agrees(self, got: &[u8], expected: &[u8], tolerance: f64) -> bool {
        if got == expected {
            return true;
        }
        match (self.decode(got), self.decode(expected)) {
            (Number::Float(got), Number::Float(expected)) => {
                got == expected
                    || got.is_nan() && expected.is_nan()
                    || (got - expected).abs() <= tolerance * expected.abs().max(1.0)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(whole) => write!(f, "{whole}"),
            Number::Float(float) => write!(f, "{float:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_their_bytes() {
        for (element, number) in [
            (Element::I8, Number::Whole(-128)),
            (Element::U64, Number::Whole(u64::MAX.into())),
            (Element::I64, Number::Whole(i64::MIN.into())),
            (Element::F16, Number::Float(-1.5)),
            (Element::Bf16, Number::Float(3.0)),
            (Element::F32, Number::Float(0.25)),
            (Element::F64, Number::Float(1e300)),
        ] {
            let bytes = element.encode(number).expect("it fits");
            assert_eq!(element.decode(&bytes[..element.bytes()]), number, "{element:?}");
        }
    }

    #[test]
    fn what_a_type_cannot_hold_is_refused() {
        let problem =
            |element: Element, number| element.encode(number).expect_err("it does not fit");
        assert_eq!(
            problem(Element::U8, Number::Whole(256)),
            "256 is no u8, which goes from 0 to 255"
        );
        assert_eq!(
            problem(Element::I8, Number::Whole(-129)),
            "-129 is no i8, which goes from -128 to 127"
        );
        assert_eq!(problem(Element::U32, Number::Float(1.0)), "a u32 is a whole number");
    }

    #[test]
    fn random_floats_lie_around_zero() {
        for bits in [0, u64::MAX, 1 << 63] {
            let Number::Float(value) = Element::F32.decode(&Element::F32.random(bits)[..4]) else {
                panic!("a float");
            };
            assert!((-1.0..=1.0).contains(&value), "{value}");
        }
    }

    #[test]
    fn a_tolerance_is_absolute_for_small_and_relative_for_large_numbers() {
        let bytes = |value: f32| value.to_le_bytes();
        let agrees = |got, want, t| Element::F32.agrees(&bytes(got), &bytes(want), t);
        assert!(agrees(0.009, 0.0, 0.01) && !agrees(0.011, 0.0, 0.01));
        assert!(agrees(1009.0, 1000.0, 0.01) && !agrees(1011.0, 1000.0, 0.01));
        assert!(agrees(0.0, -0.0, 0.0) && agrees(f32::NAN, f32::from_bits(0xFFFF_FFFF), 0.0));
        assert!(!agrees(f32::NAN, 0.0, 1.0) && !agrees(f32::INFINITY, 0.0, 1.0));
    }
}
