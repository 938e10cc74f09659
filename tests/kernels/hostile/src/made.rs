//! Kernels that a macro of the author's makes: names, types and numbers come from where it is called.

use baton::prelude::*;

/// What the macro does not mean: it means what its caller calls so, as for any item.
pub type Hidden = ReadOnly<u8>;

macro_rules! kernels {
    ($($(#[$attribute:meta])* $name:ident($threads:literal, $layout:ty, $array:ty, |$part:pat_param, $cta:ident| $value:expr);)*) => {$(
        $(#[$attribute])*
        #[baton::kernel(threads = $threads)]
        pub fn $name(cta: Cta<'_, $layout, $threads>, array: $array, hidden: Hidden, value: u32) -> Exit<'_> {
            let (mut $cta, $part) = cta.claim();
            let number = $value;
            for mut element in array.partition(&$cta) {
                element.put(number.into());
            }
            for mut element in hidden.partition(&$cta) {
                element.put(value);
            }
            $cta.join().exit(())
        }
    )*};
}

/// Layouts from a macro.
macro_rules! layout {
    ($name:ident, $module:ident, $field:ident: $ty:ty) => {
        baton::shared! {
            #[doc = concat!("Has `", stringify!($field), "`.")]
            pub struct $name in $module { $field: $ty }
        }
    };
}
layout!(Numbers, numbers, value: Exchange<u32, 32>);

/// Where the macro is called.
pub mod caller {
    use super::*;

    /// What the macro means.
    pub type Hidden = GlobalPtr<u32>;

    kernels! {
        /// Without shared memory.
        made_plain(32, NoShared, GlobalPtr<u32>, |(), cta| { cta.barrier(); 4u32 });
        /// With shared memory, and eight bytes each.
        made_shared(64, Numbers, GlobalPtr<u64>, |numbers::Parts { value }, cta| {
            let region = value.open(&mut cta).fill(&mut cta, |i| 9 * i).arrive(&mut cta).wait(&mut cta);
            let number = region.get(31);
            region.close(&mut cta);
            number
        });
    }
}
