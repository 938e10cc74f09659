//! Dot products of bytes in a register.

macro_rules! dots {
    ($($(#[$doc:meta])* $name:ident = $text:literal ($a:ty [$ea:ty], $b:ty [$eb:ty]) -> $c:ty, $terms:literal $first:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # PTX
        #[doc = concat!("`", $text, "`, PTX 5.0, sm_61.")]
        #[inline(always)]
        pub fn $name(a: $a, b: $b, c: $c) -> $c {
            instruction!(concat!($text, " {}, {}, {}, {};"), (reg32 a, reg32 b, reg32 c) -> reg32 $c, {
                let mut sum = c;
                let mut i = 0;
                while i < $terms {
                    let (x, y) = (a >> (32 / $terms * i), b >> (8 * (i + $first)));
                    sum = sum.wrapping_add((x as $ea as $c).wrapping_mul(y as $eb as $c));
                    i += 1;
                }
                sum
            })
        }
    )*};
}

dots! {
    /// `c` plus the products of the four bytes of `a` and `b`, modulo 2³².
    ///
    /// ```
    /// use baton::math::dp4a_u32;
    /// assert_eq!(dp4a_u32(0x0403_0201, 0x0101_0101, 5), 15);
    /// ```
    dp4a_u32 = "dp4a.u32.u32" (u32 [u8], u32 [u8]) -> u32, 4 0;
    /// `c` plus the products of the four signed bytes of `a` and `b`, modulo 2³².
    ///
    /// ```
    /// use baton::math::dp4a_s32;
    /// assert_eq!(dp4a_s32(-1, 0x0101_0101, 5), 1);
    /// ```
    dp4a_s32 = "dp4a.s32.s32" (i32 [i8], i32 [i8]) -> i32, 4 0;
    /// `c` plus the products of the four signed bytes of `a` and the four bytes of `b`, modulo 2³².
    ///
    /// ```
    /// use baton::math::dp4a_s32_u32;
    /// assert_eq!(dp4a_s32_u32(-1, 0xff, 0), -255);
    /// ```
    dp4a_s32_u32 = "dp4a.s32.u32" (i32 [i8], u32 [u8]) -> i32, 4 0;
    /// `c` plus the products of the two 16-bit halves of `a` and the lower two bytes of `b`, modulo 2³².
    ///
    /// ```
    /// use baton::math::dp2a_lo_u32;
    /// assert_eq!(dp2a_lo_u32(0x0002_0003, 0xffff_0a01, 0), 23);
    /// ```
    dp2a_lo_u32 = "dp2a.lo.u32.u32" (u32 [u16], u32 [u8]) -> u32, 2 0;
    /// `c` plus the products of the two 16-bit halves of `a` and the upper two bytes of `b`, modulo 2³².
    ///
    /// ```
    /// use baton::math::dp2a_hi_u32;
    /// assert_eq!(dp2a_hi_u32(0x0002_0003, 0x0a01_ffff, 0), 23);
    /// ```
    dp2a_hi_u32 = "dp2a.hi.u32.u32" (u32 [u16], u32 [u8]) -> u32, 2 2;
    /// As [`dp2a_lo_u32`], of signed halves and bytes.
    ///
    /// ```
    /// use baton::math::dp2a_lo_s32;
    /// assert_eq!(dp2a_lo_s32(-1, 0x0101, 0), -2);
    /// ```
    dp2a_lo_s32 = "dp2a.lo.s32.s32" (i32 [i16], i32 [i8]) -> i32, 2 0;
    /// As [`dp2a_hi_u32`], of signed halves and bytes.
    ///
    /// ```
    /// use baton::math::dp2a_hi_s32;
    /// assert_eq!(dp2a_hi_s32(-1, 0x0101_0000, 0), -2);
    /// ```
    dp2a_hi_s32 = "dp2a.hi.s32.s32" (i32 [i16], i32 [i8]) -> i32, 2 2;
}
