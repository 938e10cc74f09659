//! "PTX 6.0, sm_70; `.cluster`: PTX 7.8, sm_90": since when and where a form exists.
//!
//! A version stands alone, or behind the qualifiers that it is true of and a colon. A plain target
//! stands for itself and all later ones, one with an `a` for itself alone, one with an `f` for its
//! family. Targets are joined by commas.

/// The targets that ptxas is asked for.
pub const TARGETS: [&str; 7] =
    ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a"];

/// Since when, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The version of the PTX ISA.
    pub version: (u32, u32),
    /// Those of [`TARGETS`] that have it.
    pub targets: Vec<&'static str>,
}

impl Default for Claim {
    fn default() -> Self {
        Self { version: (1, 0), targets: TARGETS.to_vec() }
    }
}

impl Claim {
    /// What needs both.
    pub fn and(&self, other: &Self) -> Self {
        let both = |target: &&str| other.targets.contains(target);
        Self {
            version: self.version.max(other.version),
            targets: self.targets.iter().copied().filter(both).collect(),
        }
    }
}

/// All that a piece of documentation claims.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    base: Vec<Claim>,
    exceptions: Vec<(Vec<String>, Claim)>,
}

impl Claims {
    /// Reads them out of prose.
    ///
    /// # Panics
    /// If a version or target is spelled wrongly.
    pub fn parse(text: &str) -> Self {
        let mut claims = Self::default();
        let mut qualifiers: Vec<String> = Vec::new();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Odd pieces are code.
        let pieces: Vec<_> = text.split('`').collect();
        for (index, piece) in pieces.iter().enumerate() {
            if index % 2 == 1 {
                if piece.starts_with('.') {
                    qualifiers.push((*piece).to_owned());
                }
                continue;
            }
            let mut rest = *piece;
            while let Some(at) = rest.find("PTX ") {
                let (before, from) = rest.split_at(at);
                rest = &from[4..];
                if !rest.starts_with(|c: char| c.is_ascii_digit()) {
                    continue;
                }
                let (claim, after) = parse_claim(rest);
                if before.trim_end().ends_with(':') {
                    claims.exceptions.push((std::mem::take(&mut qualifiers), claim));
                } else {
                    claims.base.push(claim);
                }
                rest = after;
            }
            if rest.contains("; ") || rest.contains(". ") || rest.contains('(') {
                qualifiers.clear();
            }
        }
        claims
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.exceptions.is_empty()
    }

    /// What is claimed of this instruction.
    pub fn of(&self, text: &str) -> Claim {
        let mut claim = self.exceptions_of(text);
        for base in &self.base {
            claim = claim.and(base);
        }
        claim
    }

    /// What is claimed of it for its qualifiers' sake.
    pub fn exceptions_of(&self, text: &str) -> Claim {
        let mut claim = Claim::default();
        for (qualifiers, exception) in &self.exceptions {
            if qualifiers.iter().any(|qualifier| has(text, qualifier)) {
                claim = claim.and(exception);
            }
        }
        claim
    }
}

/// Whether the text has all parts of a qualifier, each as a whole word between dots.
pub fn has(text: &str, qualifier: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    qualifier.split('.').filter(|part| !part.is_empty()).all(|part| {
        let dotted = format!(".{part}");
        text.match_indices(&dotted).any(|(at, _)| !text[at + dotted.len()..].starts_with(is_part))
    })
}

/// "8.6, sm_90 (…)": the claim, and what follows.
fn parse_claim(text: &str) -> (Claim, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (version, mut rest) = text.split_at(end);
    let (major, minor) = version.trim_end_matches('.').split_once('.').expect("major.minor");
    let number = |digits: &str| digits.parse().unwrap_or_else(|_| panic!("PTX {version}"));
    let mut targets: Vec<&'static str> = Vec::new();
    let mut named = false;
    while let Some(list) = rest.trim_start_matches([',', ' ']).strip_prefix("sm_") {
        let end = list.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(list.len());
        targets.extend(meant(&list[..end]));
        named = true;
        rest = &list[end..];
    }
    if !named {
        targets = TARGETS.to_vec();
    }
    (Claim { version: (number(major), number(minor)), targets }, rest)
}

/// The targets that a name stands for.
fn meant(name: &str) -> Vec<&'static str> {
    let digits = name.trim_end_matches(['a', 'f']);
    let number = |digits: &str| -> u32 {
        digits.parse().unwrap_or_else(|_| panic!("sm_{digits} is no target"))
    };
    let this = number(digits);
    let same = |target: &&&str| match name.as_bytes().last() {
        Some(b'a') => target[3..] == *name,
        Some(b'f') => {
            let other = number(target[3..].trim_end_matches('a'));
            other >= this && other / 10 == this / 10
        }
        _ => number(target[3..].trim_end_matches('a')) >= this,
    };
    TARGETS.iter().filter(same).copied().collect()
}

#[test]
fn claims_are_read_from_prose() {
    let claims = Claims::parse(
        "`ld.sem.scope d, [a];` with `.sem` = `.relaxed`. PTX 6.0, sm_70; `.cluster` and \
         `.v8`: PTX 7.8, sm_90. More PTX text.",
    );
    assert_eq!(claims.of("ld.relaxed.gpu d"), Claim { version: (6, 0), ..Claim::default() });
    let late = claims.of("ld.relaxed.cluster d");
    assert_eq!((late.version, late.targets.len()), ((7, 8), 5));
    assert_eq!(claims.of("ld.relaxed.shared::cluster d").version, (6, 0));
    assert_eq!(meant("100f"), ["sm_100a", "sm_103a"]);
    assert_eq!(meant("90a"), ["sm_90a"]);
}
