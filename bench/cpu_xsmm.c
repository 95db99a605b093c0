/* Matrix products by LIBXSMM with weights packed ahead: C[j, i] = sum over p of A[i, p] * B[j, p].

   In column-major terms: A is m x k, packed into blocks of mb x kb; B is k x n (ld k), C is m x n
   (ld m); a block of C is one batch-reduce call over the blocks of a row of A. Compiled by
   cpu_libraries.py where LIBXSMM is installed. */
#include <libxsmm.h>
#include <stdint.h>

typedef struct {
  int64_t m, n, k, mb, nb, kb;
} shape_t;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* packed[i block][p block][kb][mb], zeros past the edges */
void xsmm_pack(const shape_t *s, const float *a, int64_t step_i, int64_t step_p, float *packed) {
  for (int64_t i = 0; i < s->m; i += s->mb)
    for (int64_t p = 0; p < s->k; p += s->kb)
      for (int64_t x = 0; x < s->kb; ++x)
        for (int64_t y = 0; y < s->mb; ++y, ++packed) {
          int inside = i + y < s->m && p + x < s->k;
          *packed = inside ? a[(i + y) * step_i + (p + x) * step_p] : 0.0f;
        }
}

static void block(const shape_t *s, int64_t mb, int64_t nb, int64_t kb, uint64_t count,
                  float beta, const float *a, const float *b, float *c) {
  int lda = (int)s->mb, ldb = (int)s->k, ldc = (int)s->m, flags = LIBXSMM_GEMM_FLAG_NONE;
  float alpha = 1.0f;
  libxsmm_smmfunction_reducebatch_strd call = libxsmm_smmdispatch_reducebatch_strd(
      mb, nb, kb, s->mb * s->kb * 4, s->kb * 4, &lda, &ldb, &ldc, &alpha, &beta, &flags, NULL);
  unsigned long long blocks = count;
  call(a, b, c, &blocks);
}

void xsmm_run(const shape_t *s, const float *packed, const float *b, float *c) {
  int64_t whole = s->k / s->kb, rest = s->k % s->kb;
  int64_t row = (whole + (rest > 0)) * s->kb * s->mb;
  for (int64_t j = 0; j < s->n; j += s->nb) {
    int64_t nb = least(s->nb, s->n - j);
    for (int64_t i = 0; i < s->m; i += s->mb) {
      int64_t mb = least(s->mb, s->m - i);
      const float *a = packed + i / s->mb * row;
      float *to = c + j * s->m + i;
      if (whole) block(s, mb, nb, s->kb, (uint64_t)whole, 0.0f, a, b + j * s->k, to);
      if (rest)
        block(s, mb, nb, rest, 1, whole ? 1.0f : 0.0f, a + whole * s->kb * s->mb,
              b + j * s->k + whole * s->kb, to);
    }
  }
}
