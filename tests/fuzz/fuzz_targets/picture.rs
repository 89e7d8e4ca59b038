#![no_main]
libfuzzer_sys::fuzz_target!(
    init: wakashu_invariants::let_codecs_panic(),
    |bytes: &[u8]| wakashu_invariants::picture(bytes)
);
