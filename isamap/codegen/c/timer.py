"""A `main` around a generated function that times it as often as it is told.

In: a generated function. Out: C text. Not its job: compiling, what is done with the times.

The program reads counts from its input, one per line. For each it calls the function so often and
prints how long that took, in nanoseconds: the thread's own processor time, and by the wall clock.
Its argument is how many seconds an answer may take; it ends itself (SIGALRM) when one takes longer.

All arrays lie side by side on large pages, where the system has any. On small ones it is luck where
in the machine's memory a process's pages lie, and with that what its caches can hold: the same
product took 0.69 to 1.04 ms in ten processes on a Golden Cove core, on large ones 0.79 +- 1 %.
NumPy's arrays lie there, too, from 4 MiB on (numpy/_core/src/multiarray/alloc.c).
"""

from .generate import CSource

PAGE_BYTES = 4096  # how arrays are aligned
LARGE_PAGE_BYTES = 2**21
# Floats are small whole numbers, never denormal; sums of them stay finite. Types that C lacks get
# the bits of bfloat16 numbers 0, 1, -1, 2.
FLOATS = ("float", "double", "_Float16")
VALUES = {"uint16_t": "(uint16_t[]){0, 0x3f80, 0xbf80, 0x4000}[i % 4]"}
INTEGER = "i % 7"
NUMBER = "(i * 7) % 9 - 4"

HEAD = """#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
"""
CLOCK = """
static int64_t isamap_now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static char *isamap_room(size_t bytes) {
  void *place = NULL;
  if (posix_memalign(&place, LARGE_PAGE, bytes)) {
    fputs("no room for the arrays\\n", stderr);
    exit(1);
  }
#ifdef MADV_HUGEPAGE
  madvise(place, bytes, MADV_HUGEPAGE);
#endif
  return place;
}
"""


def generate_timer(source: CSource) -> str:
    """C text of a program that times the function on arrays of its own."""
    lines = [*HEAD.splitlines(), f'#include "{source.name}.h"', ""]
    lines += [
        f"#define LARGE_PAGE {LARGE_PAGE_BYTES}",
        *CLOCK.splitlines(),
        "",
        "int main(int number, char **words) {",
    ]
    sizes = [-(-p.layout.size_bytes // PAGE_BYTES) * PAGE_BYTES for p in source.parameters]
    room = -(-sum(sizes) // LARGE_PAGE_BYTES) * LARGE_PAGE_BYTES
    lines.append(f"  char *room = isamap_room({room});")
    for number, p in enumerate(source.parameters):
        c_type = p.c_type.removeprefix("const ")
        value = VALUES.get(c_type, NUMBER if c_type in FLOATS else INTEGER)
        size = p.layout.size_bytes
        lines += [
            f"  {c_type} *{p.name}_ = ({c_type} *)(room + {sum(sizes[:number])});",
            f"  for (int64_t i = 0; i < (int64_t)({size} / sizeof *{p.name}_); ++i)",
            f"    {p.name}_[i] = ({c_type})({value});",
        ]
    given = ", ".join(f"{p.name}_" for p in source.parameters)
    lines += [
        "  int64_t count;",
        "  unsigned limit = number > 1 ? (unsigned)atoi(words[1]) : 0;",
        '  while (scanf("%" SCNd64, &count) == 1) {',
        "    alarm(limit);",
        "    int64_t wall = isamap_now(CLOCK_MONOTONIC);",
        "    int64_t own = isamap_now(CLOCK_THREAD_CPUTIME_ID);",
        f"    for (int64_t call = 0; call < count; ++call) {source.name}({given});",
        "    own = isamap_now(CLOCK_THREAD_CPUTIME_ID) - own;",
        "    wall = isamap_now(CLOCK_MONOTONIC) - wall;",
        "    alarm(0);",
        '    printf("%" PRId64 " %" PRId64 "\\n", own, wall);',
        "    fflush(stdout);",
        "  }",
        "  return 0;",
        "}",
        "",
    ]
    return "\n".join(lines)
