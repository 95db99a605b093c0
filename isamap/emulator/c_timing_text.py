"""The fixed C text of the timing mode: scans of granule times, ports as lists of busy intervals.

In: nothing. Out: C text. Not its job: what is generated for a program (`c_timing`).
"""

HELPERS = r"""
#ifndef BECAUSE /* why `s` is what it is: only where calls are remembered (`c_events`) */
#define BECAUSE(code)
#endif
#define SCAN __attribute__((noinline)) static
SCAN i64 scan(const i64 *p, i64 n, i64 m) {
  for (i64 i = 0; i < n; i++) m = p[i] > m ? p[i] : m;
  return m;
}
SCAN i64 scan_update(const i64 *finish, const i64 *soon, const i64 *tag, i64 me, i64 n, i64 m) {
  for (i64 i = 0; i < n; i++) {
    i64 t = tag[i] == me ? soon[i] : finish[i];
    m = t > m ? t : m;
  }
  return m;
}
SCAN i64 scan_own(const i64 *finish, const i64 *owner, i64 unit, i64 n, i64 m) {
  for (i64 i = 0; i < n; i++) {
    i64 t = owner[i] == unit ? finish[i] : 0;
    m = t > m ? t : m;
  }
  return m;
}
SCAN i64 scan_own_update(const i64 *finish, const i64 *soon, const i64 *tag, const i64 *owner,
                         i64 me, i64 unit, i64 n, i64 m) {
  for (i64 i = 0; i < n; i++) {
    i64 t = tag[i] == me ? soon[i] : owner[i] == unit ? finish[i] : 0;
    m = t > m ? t : m;
  }
  return m;
}
SCAN void fill(i64 *p, i64 n, i64 v) { for (i64 i = 0; i < n; i++) p[i] = v; }
SCAN void lift(i64 *p, i64 n, i64 v) { for (i64 i = 0; i < n; i++) p[i] = p[i] > v ? p[i] : v; }
typedef struct { i64 *from, *to; i64 n, room, busy; } port;
static i64 port_find(const port *p, i64 s) { /* first interval that ends after s */
  i64 low = 0, high = p->n;
  if (high && p->to[high - 1] <= s) return high;
  while (low < high) {
    i64 mid = (low + high) / 2;
    if (p->to[mid] > s) high = mid; else low = mid + 1;
  }
  return low;
}
static i64 port_fit(const port *p, i64 s, i64 length) {
  if (length <= 0) return s;
  for (i64 i = port_find(p, s); i < p->n && p->from[i] < s + length; i++) s = most(s, p->to[i]);
  return s;
}
static COLD void port_prune(port *p, i64 idle) {
  i64 drop = port_find(p, idle);
  p->n -= drop;
  if (p->n) {
  memmove(p->from, p->from + drop, p->n * sizeof(i64));
  memmove(p->to, p->to + drop, p->n * sizeof(i64));
  }
  if (p->n * 2 >= p->room) {
    p->room = 2 * p->room + 64;
    p->from = realloc(p->from, p->room * sizeof(i64));
    p->to = realloc(p->to, p->room * sizeof(i64));
    if (!p->from || !p->to) { printf("memory 0\n"); fflush(stdout); _exit(4); }
  }
}
static void port_take(port *p, i64 s, i64 length) {
  if (length <= 0) return;
  p->busy += length;
  i64 i = port_find(p, s), e = s + length;
  int joins_left = i > 0 && p->to[i - 1] == s, joins_right = i < p->n && p->from[i] == e;
  if (joins_left && joins_right) {
    p->to[i - 1] = p->to[i];
    p->n--;
    memmove(p->from + i, p->from + i + 1, (p->n - i) * sizeof(i64));
    memmove(p->to + i, p->to + i + 1, (p->n - i) * sizeof(i64));
  } else if (joins_left) p->to[i - 1] = e;
  else if (joins_right) p->from[i] = s;
  else {
    memmove(p->from + i + 1, p->from + i, (p->n - i) * sizeof(i64));
    memmove(p->to + i + 1, p->to + i, (p->n - i) * sizeof(i64));
    p->from[i] = s; p->to[i] = e; p->n++;
  }
}
"""
