"""C functions that scalar operations call, exactly as the operation table means them.

In: C text that calls them. Out: their definitions. Not its job: faster ones (`functions`).

Illegal operations (a negative shift count, a division by zero) call `ISAMAP_ILLEGAL(what)` and give
0; whoever includes the text defines that macro, `UNLIKELY` and the types `i64` and those of
stdint.h.
"""

import re

HELPERS = r"""
static inline int64_t isamap_shift_left(int64_t x, int64_t n) {
  if (UNLIKELY(n < 0)) { ISAMAP_ILLEGAL(0); return 0; }
  return n > 63 ? 0 : (int64_t)((uint64_t)x << n);
}

static inline int64_t isamap_shift_right(int64_t x, int64_t n) {
  if (UNLIKELY(n < 0)) { ISAMAP_ILLEGAL(0); return 0; }
  return x >> (n > 63 ? 63 : n);
}

static inline int64_t isamap_rshift_round(int64_t x, int64_t n) {
  if (UNLIKELY(n < 0)) { ISAMAP_ILLEGAL(0); return 0; }
  if (n > 63) return 0;
  return n ? (x >> n) + ((x >> (n - 1)) & 1) : x;
}

static inline int64_t isamap_floor_divide(int64_t a, int64_t b) {
  if (UNLIKELY(b == 0)) { ISAMAP_ILLEGAL(1); return 0; }
  if (b == -1) return (int64_t)(0u - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t isamap_clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

static inline int64_t isamap_truncate(double x, int64_t low, int64_t high) {
  if (x != x) return 0;
  x = trunc(x);
  return x >= (double)high + 1.0 ? high : x < (double)low ? low : (int64_t)x;
}

static inline int64_t isamap_wrap(int64_t x, int64_t low, int64_t mask) {
  return (int64_t)(((uint64_t)x - (uint64_t)low) & (uint64_t)mask) + low;
}

static inline double isamap_max(double a, double b) { return a >= b || a != a ? a : b; }

static inline double isamap_min(double a, double b) { return a <= b || a != a ? a : b; }

static inline double isamap_abs(double a) { return fabs(a); }

static inline double isamap_exp(double a) { return exp(a); }

static inline double isamap_tanh(double a) { return tanh(a); }

static inline double isamap_sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }

static inline double isamap_sqrt(double a) { return sqrt(a); }

static inline double isamap_round_even(double a) { return rint(a); }

static inline float isamap_bf16_load(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16; float f; memcpy(&f, &bits, 4); return f;
}

static inline uint16_t isamap_bf16_store(float f) {
  uint32_t bits; memcpy(&bits, &f, 4); return (uint16_t)(bits >> 16);
}

static inline float isamap_bf16_round(double x) { /* nearest even, in one step from f64 */
  float f = (float)x; uint32_t bits;
  if (f != f) return f;
  memcpy(&bits, &f, 4);
  uint32_t low = bits & 0xffffu, half = 0x8000u;
  int up = low > half || (low == half && ((bits >> 16) & 1));
  if (low == half && (double)f != x) up = fabs(x) > fabs((double)f); /* f64 to f32 made the tie */
  bits = (bits & 0xffff0000u) + (up ? 0x10000u : 0);
  memcpy(&f, &bits, 4);
  return f;
}
"""

CALL = re.compile(r"\b(isamap_\w+)\(")  # the first one in a function of a library is its name


def used_helpers(lines: list[str], library: str) -> str:
    """Those functions of `library` (C functions, a blank line between them, none before one that
    it calls) that the lines call, and what these call, in the library's order."""
    chunks = [chunk.strip() for chunk in library.split("\n\n")]
    wanted = {name for line in lines for name in CALL.findall(line)}
    kept: list[str] = []
    for chunk in reversed(chunks):
        names = CALL.findall(chunk)
        assert names, f"no function in {chunk!r}"
        if names[0] in wanted:
            kept.insert(0, chunk)
            wanted.update(names)
    return "\n".join(kept)
