//! What of the instruction layer can be seen without a device: addresses, words, format strings.

use baton::float::{bf16, f16x2};
use baton::print::{Arguments, Piece, display, fixed, format, lower_hex};
use baton::ptx::addr::{Addr, Global, SharedCta, Tmem};
use baton::ptx::word::Word;

#[test]
fn addresses_count_bytes_and_wrap_at_their_width() {
    let shared: Addr<SharedCta> = Addr::from_raw(u32::MAX);
    assert_eq!(shared.offset(17).raw(), 16);
    let global: Addr<Global> = Addr::from_raw(0xffff_ffff);
    assert_eq!(global.offset(1).raw(), 0x1_0000_0000);
    assert_eq!(global.offset_wide(1 << 40).raw(), 0x100_ffff_ffff);
    assert_eq!(shared.in_cluster().raw(), shared.raw());
    assert_eq!(format!("{global:?}"), "Global:0xffffffff");
}

#[test]
fn tensor_memory_is_addressed_by_lane_and_column() {
    let base: Addr<Tmem> = Addr::from_raw(0x0020_0100);
    assert_eq!(base.cell(32, 8).raw(), 0x0040_0108);
}

#[test]
fn words_keep_their_bits() {
    fn round_trip<T: Word + PartialEq + core::fmt::Debug>(value: T, bits: u64) {
        assert_eq!(value.to_word(), bits);
        // What lies above the word's width is ignored.
        assert_eq!(
            T::from_word(bits | u64::MAX.checked_shl(8 * T::BYTES as u32).unwrap_or(0)),
            value
        );
    }
    round_trip(-1i8, 0xff);
    round_trip(-2i16, 0xfffe);
    round_trip(-3i32, 0xffff_fffd);
    round_trip(-4i64, u64::MAX - 3);
    round_trip(-1.5f32, 0xbfc0_0000);
    round_trip(1.0f64, 0x3ff0_0000_0000_0000);
    round_trip(bf16::from_f32(1.0), 0x3f80);
    assert_eq!(f16x2::from_f32(1.0, 2.0).to_word(), 0x4000_3c00);
}

#[test]
fn format_strings_become_those_of_c() {
    fn line<A: Arguments>(_: &A, pieces: &[Piece]) -> String {
        let line = format::<64>(pieces, A::CONVERSIONS);
        std::ffi::CStr::from_bytes_until_nul(&line).unwrap().to_str().unwrap().into()
    }
    let arguments = (display(-1i32), lower_hex(-1i16), fixed(0.5f32), display(true));
    let pieces = [
        Piece::Text("a "),
        Piece::Value("5"),
        Piece::Value("#06"),
        Piece::Value(".2"),
        Piece::Text(" "),
        Piece::Value(""),
        Piece::Text("%%\n"),
    ];
    assert_eq!(line(&arguments, &pieces), "a %5lld%#06llx%.2f %s%%\n");
    let packed = arguments.pack();
    assert_eq!(packed[..3], [u64::MAX, 0xffff, 0.5f64.to_bits()]);
}
