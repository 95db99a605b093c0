"""Functions in plain C that compilers vectorise.

In: nothing. Out: C text, and which operation of which type calls what. Not its job: exact results
of floats.

Each of f32 is within 1.5 * 2**-23 of the exact value, relative to it (or the smallest number above
0): with half of 2**-23 that the meaning itself rounds, no more than `ir.propagate` grants two
executions of one operation. tests/cexpr holds them against f64.

Source: range reduction and polynomials of expf and tanhf: Moshier, Cephes mathematical library.
"""

# (operation, type of its last argument) -> C expression; else the operation table's own
FAST_FUNCTIONS: dict[tuple[str, str], str] = {
    ("//", "i32"): "isamap_floor_divide_i32({0}, {1})",
    ("exp", "f32"): "isamap_exp_f32({0})",
    ("sigmoid", "f32"): "isamap_sigmoid_f32({0})",
    ("tanh", "f32"): "isamap_tanh_f32({0})",
    ("sqrt", "f32"): "sqrtf({0})",
    ("round_even", "f32"): "rintf({0})",
    ("abs", "f32"): "fabsf({0})",
    ("max", "f32"): "isamap_max_f32({0}, {1})",
    ("min", "f32"): "isamap_min_f32({0}, {1})",
    ("relu", "f32"): "isamap_max_f32({0}, 0.0f)",
}

LIBRARY = r"""
static inline int32_t isamap_floor_divide_i32(int32_t a, int32_t b) {
  if (UNLIKELY(b == 0)) { ISAMAP_ILLEGAL(1); return 0; }
  if (b == -1) return (int32_t)(0u - (uint32_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline float isamap_max_f32(float a, float b) { return a >= b || a != a ? a : b; }

static inline float isamap_min_f32(float a, float b) { return a <= b || a != a ? a : b; }

static inline float isamap_fma_f32(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/* e^x = 2^n * e^r with |r| <= ln(2) / 2; 2^n in two halves, so that it may be denormal */
static inline float isamap_exp_f32(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  /* the sum's low bits are n, rounded to even */
  float shifted = isamap_fma_f32(x, 0x1.715476p+0f, 0x1.8p+23f);
  float n = shifted - 0x1.8p+23f, scale[2];
  float r = isamap_fma_f32(n, 2.12194440e-4f, isamap_fma_f32(n, -0.693359375f, x));
  float p = isamap_fma_f32(1.9875691500e-4f, r, 1.3981999507e-3f);
  p = isamap_fma_f32(p, r, 8.3334519073e-3f);
  p = isamap_fma_f32(p, r, 4.1665795894e-2f);
  p = isamap_fma_f32(p, r, 1.6666665459e-1f);
  p = isamap_fma_f32(p, r, 5.0000001201e-1f);
  uint32_t bits;
  __builtin_memcpy(&bits, &shifted, 4);
  int32_t whole = (int32_t)(bits - 0x4b400000u), half = whole >> 1;
  uint32_t first = ((uint32_t)half + 127u) << 23, second = ((uint32_t)(whole - half) + 127u) << 23;
  __builtin_memcpy(&scale[0], &first, 4);
  __builtin_memcpy(&scale[1], &second, 4);
  return (isamap_fma_f32(p, r * r, r) + 1.0f) * scale[0] * scale[1];
}

static inline float isamap_sigmoid_f32(float x) {
  float e = isamap_exp_f32(-fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static inline float isamap_tanh_f32(float x) {
  float a = fabsf(x), z = x * x;
  float p = isamap_fma_f32(-5.70498872745e-3f, z, 2.06390887954e-2f);
  p = isamap_fma_f32(p, z, -5.37397155531e-2f);
  p = isamap_fma_f32(p, z, 1.33314422036e-1f);
  p = isamap_fma_f32(p, z, -3.33332819422e-1f);
  float large = copysignf(1.0f - 2.0f / (isamap_exp_f32(a + a) + 1.0f), x);
  return a < 0.625f ? isamap_fma_f32(p * z, x, x) : large;
}
"""
