"""What the timing mode's C remembers of single calls when it is asked to.

In: a Bound program, one call at a time. Out: lines of C between those of `c_timing`. Not its job:
when calls start; reading the files (`trace_program`).

The executable takes a folder, how many calls are remembered, and how many buckets of how many
cycles the program's time is cut into. It writes there, as 64-bit numbers:
  calls    per remembered call: number, copy of its unit, instance, start, issue, latency, stall,
           why (`waits`), the values of its loops (as many as the deepest call has)
  edges    (lane, cycle, bytes): by how much the live bytes change that remembered calls wrote
  buckets  per lane two rows from which `Trace` has what each bucket holds
  lost     per call of the text: first start, last finish; then per reason the cycles waited
"""

from collections.abc import Mapping

from isamap.hwdesc import MemoryKind

from .bind import Bound, Call
from .c_ports import unit_at
from .region import Region
from .waits import NUM_CODES, Wait, wait_code

NUM_FIELDS = 8  # of a remembered call, before the values of its loops

EVENTS = r"""
static i64 limit, width, buckets, seen, why, idle_from, hidden = INT64_MAX;
static i64 *sums; /* per lane: part[buckets + 3], whole[buckets + 3] */
static FILE *rows;
#define BECAUSE(code) if (s > seen) { seen = s; why = code; }
static FILE *open_in(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file) _exit(2);
  return file;
}
static void put_ramp(i64 lane, i64 t, i64 rate) { /* from t on the lane gains `rate` per cycle */
  i64 *part = sums + lane * 2 * (buckets + 3), *whole = part + buckets + 3;
  t = least(t, buckets * width);
  const i64 k = t / width;
  part[k] += rate * ((k + 1) * width - t);
  whole[k + 1] += rate * width;
}
static void put_span(i64 lane, i64 from, i64 to, i64 rate) {
  put_ramp(lane, from, rate);
  put_ramp(lane, to, -rate);
}
typedef struct { i64 lane, time, bytes; } edge;
static edge *edges;
static i64 num_edges, room_edges;
static edge *find_edge(i64 lane, i64 time) {
  uint64_t at = ((uint64_t)time * 64 + (uint64_t)lane) * 0x9E3779B97F4A7C15ull;
  for (at >>= 20;; at++) {
    edge *e = edges + at % (uint64_t)room_edges;
    if (e->lane < 0 || (e->lane == lane && e->time == time)) return e;
  }
}
static void put_edge(i64 lane, i64 time, i64 bytes) {
  if (2 * num_edges >= room_edges) {
    edge *old = edges;
    const i64 n = room_edges;
    room_edges = 4 * n + 1024;
    edges = zeros(room_edges * sizeof(edge));
    for (i64 i = 0; i < room_edges; i++) edges[i].lane = -1;
    for (i64 i = 0; i < n; i++)
      if (old[i].lane >= 0) *find_edge(old[i].lane, old[i].time) = old[i];
    free(old);
  }
  edge *e = find_edge(lane, time);
  if (e->lane < 0) { num_edges++; *e = (edge){lane, time, 0}; }
  e->bytes += bytes;
}
/* born: 0, or twice (start of the writing call + 1), odd for remembered calls */
static void end_life(i64 lane, i64 born, i64 end, i64 bytes) {
  const i64 from = born / 2 - 1;
  if (!born || end <= from) return;
  put_span(lane, from, end, bytes);
  if (born & 1) { put_edge(lane, from, bytes); put_edge(lane, end, -bytes); }
}
static void write_life(i64 lane, i64 *born, i64 *used, i64 n, i64 granule, i64 latest,
                       i64 next) {
  i64 first = 0;
  for (i64 i = 1; i <= n; i++)
    if (i == n || born[i] != born[first] || used[i] != used[first]) {
      end_life(lane, born[first], least(used[first], latest), (i - first) * granule);
      first = i;
    }
  for (i64 i = 0; i < n; i++) { born[i] = next; used[i] = 0; }
}
"""


def lanes(bound: Bound) -> tuple[tuple[str, int, int], ...]:
    """Everything with a history: (kind, number, copy) of units, ports, and memories' contents."""
    hw = bound.hardware
    units = [("unit", n, hw.num_copies(unit.name)) for n, unit in enumerate(hw.units)]
    ports = [("port", n, hw.num_copies(port.memory)) for n, port in enumerate(bound.ports)]
    rooms = [("memory", n, hw.num_copies(e.memory)) for n, e in enumerate(bound.extents)]
    every = (*units, *ports, *rooms)
    return tuple((kind, number, copy) for kind, number, count in every for copy in range(count))


def lane_of(bound: Bound, kind: str, number: int) -> int:
    """Position of the first copy."""
    return lanes(bound).index((kind, number, 0))


def has_life(bound: Bound, memory: str) -> bool:
    """Is it followed how long bytes are needed there: is it the program that manages it?"""
    return bound.hardware.memory(memory).kind is MemoryKind.MANAGED


def emit_event_state(bound: Bound) -> list[str]:
    """Global variables."""
    lines = [EVENTS, f"static i64 lost[{max(1, len(bound.calls))}][{NUM_CODES}];"]
    n = max(1, len(bound.calls))
    lines.append(f"static i64 opening[{n}], closing[{n}];")
    lines += [f"static i64 *born{n}, *used{n};" for n in range(len(bound.extents))]
    return lines


def emit_event_opening(bound: Bound, granules: Mapping[int, int]) -> list[str]:
    """Take the arguments, open the file of calls; `granules`: of followed memories, all copies."""
    lines = [
        "if (argc != 5) return 2;",
        "const char *folder = argv[1];",
        "limit = atoll(argv[2]); width = atoll(argv[3]); buckets = atoll(argv[4]); argc = 1;",
        f"sums = zeros({len(lanes(bound))}LL * 2 * (buckets + 3) * 8);",
        'rows = open_in(folder, "calls");',
        f"for (i64 i = 0; i < {len(bound.calls)}; i++) opening[i] = -1;",
    ]
    for number, count in granules.items():
        lines += [f"{kind}{number} = zeros({count}LL * 8);" for kind in ("born", "used")]
    return lines


def because(wait: Wait, detail: int = 0) -> str:
    """C that remembers a reason if it has just raised `s`."""
    return f"BECAUSE({wait_code(wait, detail)})"


def emit_event_begin(instance: str) -> list[str]:
    """Before anything but the unit has its say; `instance`: when the unit's instance is free."""
    return [f"idle_from = {instance}; seen = s; why = 0;"]


def emit_event(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Remember the call that starts at `s`."""
    at = unit_at(bound, call)
    number = call.number
    depth = deepest(bound)
    values = [*names.values(), *["0"] * (depth - len(names))]
    fields = [str(number), at, "which", "s", "issue", "latency", "s - idle_from", "why", *values]
    lane = lane_of(bound, "unit", call.unit)
    lines = [
        "if (serial < limit) {",
        f"const i64 row[{NUM_FIELDS + depth}] = {{{', '.join(fields)}}};",
        "fwrite(row, sizeof row, 1, rows);",
        "} else hidden = least(hidden, s);",
        f"if (opening[{number}] < 0 || s < opening[{number}]) opening[{number}] = s;",
        f"closing[{number}] = most(closing[{number}], s + latency);",
        f"lost[{number}][why] += s - idle_from;",
        f"put_span({lane} + {at}, s, s + issue, 1);",
    ]
    for use in call.ports:
        port = bound.ports[use.port]
        first = lane_of(bound, "port", use.port)
        is_own = bound.hardware.num_copies(port.memory) > 1
        for to in (f"core + {offset}" for offset in call.site.reach) if is_own else ["0"]:
            lines.append(f"put_span({first} + {to}, s, s + t{use.port}, 1);")
    return lines


def life_actions(bound: Bound, region: Region, granules_per_copy: int) -> tuple[str, str]:
    """For a gapless run of granules: what reading it means for its bytes' life, and writing it.

    Where writes do not wait for readers (`renamed`) what is overwritten lives beside the new.
    """
    m = bound.extent_number(region.memory)
    lane = f"{lane_of(bound, 'memory', m)} + g / {granules_per_copy}LL"
    granule = bound.extents[m].granule_bytes
    read = f"lift(used{m} + g, n, s + issue);"
    born = "2 * (s + 1) + (serial < limit)"
    latest = "INT64_MAX" if bound.hardware.memory(region.memory).never_waits else "s"
    arrays = f"born{m} + g, used{m} + g"
    return read, f"write_life({lane}, {arrays}, n, {granule}LL, {latest}, {born});"


def emit_event_results(bound: Bound, granules: Mapping[int, int]) -> list[str]:
    """End every life, write the files, print how many calls there were, the first cycle in
    which one starts that is not remembered, and the last of all."""
    lines = []
    for number, count in granules.items():
        lane, granule = lane_of(bound, "memory", number), bound.extents[number].granule_bytes
        copies = bound.hardware.num_copies(bound.extents[number].memory)
        each = count // copies
        lines.append(f"for (i64 i = 0; i < {copies}; i++)")
        at = f"i * {each}LL"
        arrays = f"born{number} + {at}, used{number} + {at}"
        lines.append(f"write_life({lane} + i, {arrays}, {each}LL, {granule}LL, INT64_MAX, 0);")
    num_lanes = len(lanes(bound))
    return [
        *lines,
        "fclose(rows);",
        'FILE *file = open_in(folder, "edges");',
        "for (i64 i = 0; i < room_edges; i++)"
        " if (edges[i].lane >= 0 && edges[i].bytes) fwrite(edges + i, sizeof(edge), 1, file);",
        "fclose(file);",
        'file = open_in(folder, "buckets");',
        f"fwrite(sums, 8, {num_lanes} * 2 * (buckets + 3), file);",
        "fclose(file);",
        'file = open_in(folder, "lost");',
        f"for (i64 i = 0; i < {len(bound.calls)}; i++) {{",
        "fwrite(opening + i, 8, 1, file); fwrite(closing + i, 8, 1, file);",
        f"fwrite(lost[i], 8, {NUM_CODES}, file);",
        "}",
        "fclose(file);",
        'printf("ok %lld %lld %lld\\n", (long long)serial, (long long)hidden, (long long)total);',
    ]


def deepest(bound: Bound) -> int:
    """How many loops the deepest call has around it."""
    return max((len(call.loops) for call in bound.calls), default=0)
