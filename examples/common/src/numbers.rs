//! Numbers that look random and follow from a seed.

/// A stream of numbers: SplitMix64, which needs no warming up, so that neighbouring seeds give unrelated streams.
#[derive(Clone, Debug)]
pub struct Numbers {
    state: u64,
    /// The second of a pair of normal numbers.
    spare: Option<f64>,
}

impl Numbers {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, spare: None }
    }

    /// Any 64 bits, all patterns alike.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// From 0 to 1, both excluded.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Normally distributed, mean 0 and variance 1 (Box and Muller's pair at a time).
    pub fn normal(&mut self) -> f64 {
        if let Some(second) = self.spare.take() {
            return second;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn normal_numbers_have_their_moments() {
        let mut numbers = Numbers::new(7);
        let drawn: Vec<f64> = (0..100_000).map(|_| numbers.normal()).collect();
        let mean = |power| drawn.iter().map(|x| x.powi(power)).sum::<f64>() / drawn.len() as f64;
        // Within five standard deviations of what is drawn.
        assert!(mean(1).abs() < 0.016, "{}", mean(1));
        assert!((mean(2) - 1.0).abs() < 0.023, "{}", mean(2));
        assert!((mean(4) - 3.0).abs() < 0.16, "{}", mean(4));
    }

    #[test]
    fn a_stream_follows_from_its_seed() {
        let draw = |seed| Numbers::new(seed).bits();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
