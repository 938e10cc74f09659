//! The modifiers of an instruction.
//!
//! A decoder says of each modifier that it has used it, by asking for it, or by naming it among those that change nothing
//! here. What is left over makes the instruction an unknown one: a misspelt order or scope would otherwise count as none.

use super::*;
use std::cell::Cell;

/// The modifiers of an instruction.
pub(super) struct Mods<'i> {
    all: Vec<&'i str>,
    /// By place, whether somebody has asked for it.
    used: Cell<u64>,
}

impl<'i> Mods<'i> {
    pub fn new(instruction: &'i ptx::Instruction) -> Mods<'i> {
        Mods { all: instruction.modifiers().collect(), used: Cell::new(0) }
    }

    fn mark(&self, place: usize) {
        self.used.set(self.used.get() | 1 << (place & 63));
    }

    /// The first that nobody has asked for.
    pub fn left_over(&self) -> Option<&'i str> {
        let unused = |place: &usize| self.used.get() >> (place & 63) & 1 == 0;
        (0..self.all.len()).find(unused).map(|place| self.all[place])
    }

    /// Whether it is among them, once.
    pub fn has(&self, m: &str) -> bool {
        self.find(|other| (other == m).then_some(())).is_some()
    }

    /// Whether it is among them. This is no use of it.
    pub fn contains(&self, m: &str) -> bool {
        self.all.contains(&m)
    }

    /// The first for which `f` gives something.
    pub fn find<T>(&self, f: impl Fn(&'i str) -> Option<T>) -> Option<T> {
        let (place, found) = self.all.iter().enumerate().find_map(|(i, m)| Some((i, f(m)?)))?;
        self.mark(place);
        Some(found)
    }

    /// All for which `f` gives something.
    pub fn each<T>(&self, f: impl Fn(&'i str) -> Option<T>) -> Vec<T> {
        let taken = self.all.iter().enumerate().filter_map(|(i, m)| {
            let found = f(m)?;
            self.mark(i);
            Some(found)
        });
        taken.collect()
    }

    /// These change nothing here.
    pub fn idle(&self, names: &[&str]) {
        for name in names {
            self.has(name);
        }
    }

    pub fn first(&self) -> &'i str {
        self.find(Some).unwrap_or("")
    }

    /// The last type, wherever it stands.
    pub fn last(&self) -> &'i str {
        let Some(place) = self.all.iter().rposition(|m| is_type(m)) else { return "" };
        self.mark(place);
        self.all[place]
    }

    /// The type that stands for two numbers in one register, if there is one.
    pub fn pair(&self) -> Option<&'i str> {
        self.find(|m| PAIRS.contains(&m).then_some(m))
    }

    /// The last type.
    pub fn ty(&self) -> Result<Scalar> {
        let last = self.all.iter().enumerate().rev().find_map(|(i, m)| Some((i, scalar(m)?)));
        let (place, ty) = last.ok_or("no type")?;
        self.mark(place);
        Ok(ty)
    }

    /// The one width of integers and floats that stands last, where no type has to.
    pub fn word(&self) {
        let _ = self.ty();
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

    /// The order of an access, of those that its instruction may have.
    pub fn order(&self, allowed: &[Order]) -> Result<Order> {
        let found = self.find(|m| {
            Some(match m {
                "weak" => (m, Order::Weak),
                "volatile" => (m, Order::Volatile),
                "relaxed" => (m, Order::Relaxed),
                "acquire" => (m, Order::Acquire),
                "release" => (m, Order::Release),
                "acq_rel" => (m, Order::AcqRel),
                _ => return None,
            })
        });
        match found {
            None => Ok(Order::Weak),
            Some((_, order)) if order == Order::Weak || allowed.contains(&order) => Ok(order),
            Some((name, _)) => Err(format!("`.{name}` is no order of this instruction")),
        }
    }

    pub fn scope(&self) -> Option<Scope> {
        self.find(|m| {
            Some(match m {
                "cta" => Scope::Cta,
                "cluster" => Scope::Cluster,
                "gpu" => Scope::Gpu,
                "sys" => Scope::Sys,
                _ => return None,
            })
        })
    }

    /// Whether the order of an operation on an mbarrier is `.relaxed`, and its scope.
    pub fn barrier_order(&self, strong: Order) -> Result<(bool, Scope)> {
        let order = self.order(&[Order::Relaxed, strong])?;
        match (order, self.scope()) {
            (Order::Weak, None) => Ok((false, Scope::Cta)),
            (Order::Weak, _) => Err("a scope without an order".into()),
            (_, None) => Err(NO_SCOPE.into()),
            (order, Some(scope)) => Ok((order == Order::Relaxed, scope)),
        }
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

const PAIRS: [&str; 5] = ["f16x2", "bf16x2", "f32x2", "u16x2", "s16x2"];

/// Why an order without a scope is refused.
pub(super) const NO_SCOPE: &str = "an order without a scope, `.cta`, `.cluster`, `.gpu` or `.sys`";

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

/// Whether it is a type, of one value or of several in one register.
fn is_type(name: &str) -> bool {
    let several = ["e4m3x4", "e5m2x4", "b6x16_p32", "b4x16_p64"];
    scalar(name).is_some() || PAIRS.contains(&name) || several.contains(&name)
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
