"""Sums, products, largest and smallest of many f32 as C functions that compilers vectorise.

In: nothing. Out: C text: `isamap_join_<what>_f32`, in any order, and `isamap_<what>_<n>_rows_f32`,
each row in order and rows side by side. Not its job: which of them is called.
"""

# name -> C text of joining {0} and {1}, and what changes nothing that is joined with it
OPERATIONS: dict[str, tuple[str, str]] = {
    "add": ("{0} + {1}", "0.0f"),
    "multiply": ("{0} * {1}", "1.0f"),
    "max": ("isamap_max_f32({0}, {1})", "-INFINITY"),
    "min": ("isamap_min_f32({0}, {1})", "INFINITY"),
}
LANES = 64  # as many as are joined side by side, so that no join waits for the one before
VECTOR = 16  # of them in one loop
IN_ORDER = ("add", "multiply")  # what gives another number in another order


def _any_order(name: str) -> str:
    template, nothing = OPERATIONS[name]

    def join(to: str, other: str, count: object) -> str:
        text = template.format(to, other)
        return f"#pragma omp simd\n    for (int i = 0; i < {count}; ++i) {to} = {text};"

    starts = range(0, LANES, VECTOR)
    steps = [join(f"lane[{s} + i]", f"from[at + {s} + i]", VECTOR) for s in starts]
    folds = [join("lane[i]", f"lane[{n} + i]", n) for n in (32, 16, 8, 4, 2)]
    lines = "\n    ".join(steps)
    folded = "\n    ".join(folds)
    return f"""
static inline float isamap_join_{name}_f32(float first, const float *from, int64_t count) {{
  float lane[{LANES}];
  int64_t at = 0;
  for (int i = 0; i < {LANES}; ++i) lane[i] = {nothing};
  for (; at + {LANES} <= count; at += {LANES}) {{
    {lines}
  }}
  {{
    {join("lane[i]", "from[at + i]", "count - at")}
    {folded}
  }}
  return {template.format("first", template.format("lane[0]", "lane[1]"))};
}}
"""


LOW, HIGH = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
FIRST, LAST = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)
# steps that turn n rows of n elements: for pairs of rows, which elements of the two, counted
# through both, take the place of the first and of the second
Step = tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[int, ...]]
TURNS: dict[int, tuple[Step, ...]] = {
    4: (
        (((0, 2), (1, 3)), (0, 4, 1, 5), (2, 6, 3, 7)),
        (((0, 1), (2, 3)), (0, 4, 1, 5), (2, 6, 3, 7)),
    ),
    8: (
        (((0, 2), (1, 3), (4, 6), (5, 7)), LOW, HIGH),
        (((0, 1), (2, 3), (4, 5), (6, 7)), LOW, HIGH),
        (((0, 4), (1, 5), (2, 6), (3, 7)), FIRST, LAST),
    ),
}  # fmt: skip


def _turned(size: int) -> tuple[list[str], list[str]]:
    """Lines that turn a square of elements out of rows, and what its columns are called."""
    lines = [f"vector a{row} = *(const vector *)(row[{row}] + at);" for row in range(size)]
    for number, (pairs, low, high) in enumerate(TURNS[size]):
        old, new = "abcd"[number], "abcd"[number + 1]
        for pair in pairs:
            both = ", ".join(f"{old}{row}" for row in pair)
            for row, chosen in zip(pair, (low, high), strict=True):
                picked = ", ".join(map(str, chosen))
                lines.append(f"vector {new}{row} = ISAMAP_PICK({both}, {picked});")
    last = "abcd"[len(TURNS[size])]
    return lines, [f"{last}{row}" for row in range(size)]


def _in_order(name: str, rows: int) -> str:
    template, _ = OPERATIONS[name]
    turned, columns = _turned(rows)
    joined = [f"sums = {template.format('sums', column)};" for column in columns]
    body = "\n    ".join([*turned, *joined])
    return f"""
#ifdef __clang__
#define ISAMAP_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define ISAMAP_PICK(a, b, ...) __builtin_shuffle(a, b, (numbers){{__VA_ARGS__}})
#endif
/* {rows} rows side by side, squares of which are turned so that a vector holds one of each */
static inline void isamap_{name}_{rows}_rows_f32(
    float *to, int64_t step, const float *from, int64_t pitch, int64_t rows, int64_t count) {{
  typedef float vector __attribute__((vector_size({4 * rows}), aligned(4), may_alias));
  typedef int32_t numbers __attribute__((vector_size({4 * rows}), unused));
  const float *row[{rows}];
  float own[{rows}];
  int64_t at = 0;
  for (int i = 0; i < {rows}; ++i) {{ /* rows that there are not are as the first one */
    row[i] = from + (i < rows ? i * pitch : 0);
    own[i] = to[i < rows ? i * step : 0];
  }}
  vector sums = *(const vector *)own;
  for (; at + {rows} <= count; at += {rows}) {{
    {body}
  }}
  *(vector *)own = sums;
  for (int j = 0; j < (int)(count - at); ++j)
    for (int i = 0; i < {rows}; ++i) own[i] = {template.format("own[i]", "row[i][at + j]")};
  for (int i = 0; i < rows; ++i) to[i * step] = own[i];
}}
"""


JOINS_LIBRARY = "\n".join(
    [
        *map(_any_order, OPERATIONS),
        *(_in_order(name, rows) for name in IN_ORDER for rows in TURNS),
    ]
)
