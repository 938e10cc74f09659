//! The modifiers of an instruction.

use super::*;

/// The modifiers of an instruction.
pub(super) struct Mods<'i> {
    pub all: Vec<&'i str>,
}

impl<'i> Mods<'i> {
    pub fn has(&self, m: &str) -> bool {
        self.all.contains(&m)
    }

    pub fn find<T>(&self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.all.iter().find_map(|m| f(m))
    }

    pub fn last(&self) -> &'i str {
        self.all.last().copied().unwrap_or("")
    }

    /// The same but for one.
    pub fn without(&self, name: &str) -> Mods<'i> {
        Mods { all: self.all.iter().copied().filter(|m| *m != name).collect() }
    }

    /// The last type.
    pub fn ty(&self) -> Result<Scalar> {
        self.all.iter().rev().find_map(|m| scalar(m)).ok_or_else(|| "no type".into())
    }

    pub fn width(&self) -> Result<Width> {
        match self.ty()? {
            Scalar::Int(16, _) => Ok(Width::W16),
            Scalar::Int(32, _) => Ok(Width::W32),
            Scalar::Int(64, _) => Ok(Width::W64),
            _ => Err("width".into()),
        }
    }

    pub fn signed(&self) -> bool {
        matches!(self.ty(), Ok(Scalar::Int(_, true)))
    }

    pub fn order(&self) -> Order {
        self.find(|m| {
            Some(match m {
                "volatile" => Order::Volatile,
                "relaxed" | "mmio" => Order::Relaxed,
                "acquire" => Order::Acquire,
                "release" => Order::Release,
                "acq_rel" => Order::AcqRel,
                _ => return None,
            })
        })
        .unwrap_or_default()
    }

    pub fn scope(&self, otherwise: Scope) -> Scope {
        self.find(|m| {
            Some(match m {
                "cta" => Scope::Cta,
                "cluster" => Scope::Cluster,
                "gpu" | "gl" => Scope::Gpu,
                "sys" => Scope::Sys,
                _ => return None,
            })
        })
        .unwrap_or(otherwise)
    }

    pub fn rounding(&self) -> Option<Rounding> {
        self.find(|m| {
            Some(match m {
                "rn" | "rni" => Rounding::NearestEven,
                "rna" => Rounding::NearestAway,
                "rz" | "rzi" => Rounding::Zero,
                "rm" | "rmi" => Rounding::Down,
                "rp" | "rpi" => Rounding::Up,
                _ => return None,
            })
        })
    }
}

pub(super) fn scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        "f16" => Scalar::Float(Float::F16),
        "bf16" => Scalar::Float(Float::Bf16),
        "f32" => Scalar::Float(Float::F32),
        "f64" => Scalar::Float(Float::F64),
        "tf32" => Scalar::Narrow(Format::TF32),
        "pred" => Scalar::Int(1, false),
        _ => {
            let bits = name.get(1..)?.parse::<u8>().ok()?;
            if !matches!(bits, 8 | 16 | 32 | 64 | 128) {
                return None;
            }
            match name.as_bytes()[0] {
                b'b' | b'u' => Scalar::Int(bits, false),
                b's' => Scalar::Int(bits, true),
                _ => return None,
            }
        }
    })
}

pub(super) fn bits(ty: Scalar) -> u8 {
    match ty {
        Scalar::Int(bits, _) => bits,
        Scalar::Float(Float::F16 | Float::Bf16) => 16,
        Scalar::Float(Float::F32) => 32,
        Scalar::Float(Float::F64) => 64,
        Scalar::Narrow(format) => format.bits(),
    }
}
