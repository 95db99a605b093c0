"""What a core's products are held against."""

from cpu_measure import fastest

from isamap.processor import Peak


def test_the_fastest_instruction_that_multiplies_the_types_is_the_peak() -> None:
    vectors = [Peak("fma_f32", "f32", 4e9, 0.0), Peak("dot_u8_i8", "i8 x u8", 9e9, 0.0)]
    assert fastest(vectors) == {"f32": 8e9, "bf16": 8e9, "i8": 18e9}
    tiles = [Peak("tdpbf16ps", "bf16", 6e10, 0.0), Peak("tdpbusd", "i8 x u8", 1e11, 0.0)]
    assert fastest([*vectors, *tiles]) == {"f32": 8e9, "bf16": 12e10, "i8": 2e11}


def test_products_of_bytes_may_be_products_of_half_words() -> None:
    found = fastest([Peak("fma_f32", "f32", 4e9, 0.0), Peak("dot_i16", "i16", 7e9, 0.0)])
    assert found["i8"] == 14e9
