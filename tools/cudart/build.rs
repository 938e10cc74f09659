//! The library answers to the name and to the symbol version by which programs ask for NVIDIA's: the loader warns of a
//! library without versions, and only GNU ld can give all symbols that of the name.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in ["-Wl,-soname,libcudart.so.13", "-Wl,--default-symver", "-fuse-ld=bfd"] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
