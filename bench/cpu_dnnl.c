/* A GRU layer (linear before reset, as cuDNN and torch have it) or an LSTM layer by oneDNN's
   primitive, f32.

   Weights are given in ldigo order, [inputs, gates, hidden], and reordered into the form that the
   primitive asks for, once. Gates are update, reset, new; or input, forget, new, output. bias:
   [4, hidden], a GRU's last one of the recurrent part of `new`. c0: an LSTM's first cell, else
   NULL. Compiled by cpu_rivals.py where oneDNN (2.x) is installed. */
#include <dnnl.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK(call) \
  if ((call) != dnnl_success) return NULL

typedef struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t rnn;
  dnnl_exec_arg_t arguments[8];
  int count;
} layer_t;

static int add(layer_t *l, int what, const dnnl_memory_desc_t *desc, void *data) {
  dnnl_memory_t memory;
  if (dnnl_memory_create(&memory, desc, l->engine, data) != dnnl_success) return 0;
  l->arguments[l->count++] = (dnnl_exec_arg_t){what, memory};
  return 1;
}

static int add_weights(layer_t *l, int what, const dnnl_memory_desc_t *plain,
                       const dnnl_memory_desc_t *wanted, float *data) {
  dnnl_memory_t from;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t reorder;
  if (!add(l, what, wanted, DNNL_MEMORY_ALLOCATE)) return 0;
  if (dnnl_memory_create(&from, plain, l->engine, data) != dnnl_success) return 0;
  if (dnnl_reorder_primitive_desc_create(&desc, plain, l->engine, wanted, l->engine, NULL)
      != dnnl_success) return 0;
  if (dnnl_primitive_create(&reorder, desc) != dnnl_success) return 0;
  dnnl_exec_arg_t pair[] = {{DNNL_ARG_FROM, from},
                            {DNNL_ARG_TO, l->arguments[l->count - 1].memory}};
  return dnnl_primitive_execute(reorder, l->stream, 2, pair) == dnnl_success;
}

void *rnn_make(int64_t steps, int64_t batch, int64_t inputs, int64_t hidden, float *x, float *h0,
               float *c0, float *w, float *u, float *bias, float *states) {
  layer_t *l = calloc(1, sizeof *l);
  dnnl_memory_desc_t src, first, wi, wh, any_wi, any_wh, b, dst;
  dnnl_dims_t src_d = {steps, batch, inputs}, first_d = {1, 1, batch, hidden};
  int64_t gates = c0 ? 4 : 3;
  dnnl_dims_t wi_d = {1, 1, inputs, gates, hidden}, wh_d = {1, 1, hidden, gates, hidden};
  dnnl_dims_t b_d = {1, 1, 4, hidden}, dst_d = {steps, batch, hidden};
  CHECK(dnnl_engine_create(&l->engine, dnnl_cpu, 0));
  CHECK(dnnl_stream_create(&l->stream, l->engine, dnnl_stream_default_flags));
  CHECK(dnnl_memory_desc_init_by_tag(&src, 3, src_d, dnnl_f32, dnnl_tnc));
  CHECK(dnnl_memory_desc_init_by_tag(&first, 4, first_d, dnnl_f32, dnnl_ldnc));
  CHECK(dnnl_memory_desc_init_by_tag(&wi, 5, wi_d, dnnl_f32, dnnl_ldigo));
  CHECK(dnnl_memory_desc_init_by_tag(&wh, 5, wh_d, dnnl_f32, dnnl_ldigo));
  CHECK(dnnl_memory_desc_init_by_tag(&any_wi, 5, wi_d, dnnl_f32, dnnl_format_tag_any));
  CHECK(dnnl_memory_desc_init_by_tag(&any_wh, 5, wh_d, dnnl_f32, dnnl_format_tag_any));
  CHECK(dnnl_memory_desc_init_by_tag(&b, 4, b_d, dnnl_f32, dnnl_ldgo));
  CHECK(dnnl_memory_desc_init_by_tag(&dst, 3, dst_d, dnnl_f32, dnnl_tnc));
  dnnl_rnn_desc_t rnn;
  dnnl_primitive_desc_t desc;
  dnnl_status_t status = c0
      ? dnnl_lstm_forward_desc_init(&rnn, dnnl_forward_inference, dnnl_unidirectional_left2right,
                                    &src, &first, &first, &any_wi, &any_wh, &b, &dst, NULL, NULL, 0)
      : dnnl_lbr_gru_forward_desc_init(&rnn, dnnl_forward_inference,
                                       dnnl_unidirectional_left2right, &src, &first, &any_wi,
                                       &any_wh, &b, &dst, NULL, 0);
  CHECK(status);
  CHECK(dnnl_primitive_desc_create(&desc, &rnn, NULL, l->engine, NULL));
  const dnnl_memory_desc_t *own_wi, *own_wh;
  own_wi = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
  own_wh = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 1);
  CHECK(dnnl_primitive_create(&l->rnn, desc));
  if (!add(l, DNNL_ARG_SRC_LAYER, &src, x) || !add(l, DNNL_ARG_SRC_ITER, &first, h0)
      || (c0 && !add(l, DNNL_ARG_SRC_ITER_C, &first, c0))
      || !add_weights(l, DNNL_ARG_WEIGHTS_LAYER, &wi, own_wi, w)
      || !add_weights(l, DNNL_ARG_WEIGHTS_ITER, &wh, own_wh, u)
      || !add(l, DNNL_ARG_BIAS, &b, bias) || !add(l, DNNL_ARG_DST_LAYER, &dst, states))
    return NULL;
  return dnnl_stream_wait(l->stream) == dnnl_success ? l : NULL;
}

int rnn_run(void *layer) {
  layer_t *l = layer;
  int status = dnnl_primitive_execute(l->rnn, l->stream, l->count, l->arguments);
  return status == dnnl_success ? (int)dnnl_stream_wait(l->stream) : status;
}
