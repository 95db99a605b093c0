"""Start cycles that the program gives, and fifo memories, in the timing mode's C.

In: a Bound program, one call at a time. Out: lines of C between those of `c_timing`. Not its job:
units, ports and hazards themselves.

A program whose calls have no start cycles yet runs as early as it may, and each start is written to
the file named by the second argument (`set_starts`): (call, start, 0). An entry that comes too late
gives (-1 - memory, number, floor): the cycle before which entry `number` must not be read first.
The third argument names a file of such floors: per memory their count, and one per number. The
fourth is a number k: calls that keep their unit for less than k cycles, and fill no fifo memory,
leave every k-th cycle to others (0: none).
"""

from collections.abc import Mapping

from isamap.hwdesc import Distance, Memory, Which

from .bind import Bound, Call
from .c_text import Fault, c_cost, fail

DUE = r"""
typedef struct { i64 first, step, count; } timed;
static FILE *starts;
static i64 kept;
static void put_start(i64 a, i64 b, i64 c) {
  const i64 row[3] = {a, b, c};
  if (starts) fwrite(row, sizeof row, 1, starts);
}
static i64 read_number(FILE *file) {
  i64 n = 0;
  if (fread(&n, sizeof n, 1, file) != 1) _exit(2);
  return n;
}
"""
OPEN_STARTS = r"""
if (argc > 2 && !(starts = fopen(argv[2], "wb"))) return 2;
if (argc > 3) {
  FILE *file = fopen(argv[3], "rb");
  if (!file) return 2;
  for (i64 m = 0; m < num_memories; m++) {
    num_floors[m] = read_number(file);
    floors[m] = zeros(num_floors[m] * 8);
    for (i64 i = 0; i < num_floors[m]; i++) floors[m][i] = read_number(file);
  }
  fclose(file);
}
if (argc > 4) kept = atoll(argv[4]);
"""


def emit_state(bound: Bound) -> list[str]:
    """Global variables."""
    if not _is_needed(bound):
        return []
    n = len(bound.hardware.memories)
    lines = [DUE, "static port slots;", f"enum {{ num_memories = {n} }};"]
    lines.append(f"static i64 *floors[{n}], num_floors[{n}];")
    for number in range(len(bound.hardware.distances)):
        lines.append(f"static i64 after{number}, by{number};")
    for number, unit in enumerate(bound.hardware.units):
        lines.append(f"static i64 on{number}[{unit.count}];")
    for number, memory in _fifos(bound):
        n = memory.num_entries
        lines.append(f"static i64 entry{number}[{n}], arrival{number}[{n}], opened{number}[{n}];")
        lines.append(f"static i64 newest{number}, front{number};")
    for call in bound.calls if bound.is_timed else ():
        runs = ", ".join(f"{{{r.first}, {r.step}, {r.count}}}" for r in call.issue.starts)
        lines.append(f"static const timed runs{call.number}[] = {{{runs}}};")
        lines.append(f"static i64 run{call.number}, turn{call.number};")
    return lines


def emit_allocation(bound: Bound) -> list[str]:
    """What `main` begins with."""
    return ["port_prune(&slots, 0);", OPEN_STARTS] if _is_needed(bound) else []


def _is_needed(bound: Bound) -> bool:
    return bound.is_exposed or bool(_fifos(bound))


def _fifos(bound: Bound) -> list[tuple[int, Memory]]:
    memories = enumerate(bound.hardware.memories)
    return [(number, memory) for number, memory in memories if memory.fifo is not None]


def takes_slot(bound: Bound, call: Call) -> int | None:
    """Calls per cycle where this call counts among them."""
    host = bound.hardware.host
    is_host = host is not None and call.instruction.unit == host.unit
    return None if is_host else bound.hardware.issue_width


def _rules(bound: Bound, call: Call, is_first: bool) -> list[tuple[int, Distance]]:
    """Distances from (or to) calls of this instruction, with their numbers."""
    name = call.instruction.name
    rows = enumerate(bound.hardware.distances)
    return [(n, rule) for n, rule in rows if name == (rule.first if is_first else rule.then)]


def _entry(bound: Bound, call: Call, name: str | None) -> tuple[int, str, Memory] | None:
    """Number of the memory, C index of the entry, memory of an operand in a fifo memory."""
    for position, operand in enumerate(call.instruction.operands):
        for number, memory in _fifos(bound):
            if operand.memory == memory.name and name in (None, operand.name):
                return number, f"a{position} / {memory.granule_bytes}", memory
    return None


def _operand_number(call: Call, name: str | None) -> str:
    return str([operand.name for operand in call.instruction.operands].index(str(name)))


def writes_entry(bound: Bound, call: Call) -> bool:
    """Does the call fill a fifo memory?"""
    reads = bound.hardware.entry_operand(call.instruction) is not None
    return not reads and _entry(bound, call, None) is not None


def emit_entry_read(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """`is_new`: is the call the first to read its entry? The entry must be the last one read or the
    one written after it."""
    if not _is_needed(bound):
        return []
    name = bound.hardware.entry_operand(call.instruction)
    found = _entry(bound, call, name)
    if found is None or name is None:
        return ["const int is_new = 0; (void)is_new;", *_emit_overrun(call, names, found)]
    m, entry, _ = found
    stop = fail(call, names, Fault.ORDER, _operand_number(call, name), entry)
    return [
        f"const i64 number = entry{m}[{entry}]; const int is_new = number != front{m};",
        f"if (UNLIKELY(!number || (is_new && number != front{m} + 1))) {stop}",
    ]


def _emit_overrun(
    call: Call, names: Mapping[str, str], found: tuple[int, str, Memory] | None
) -> list[str]:
    """A write of an entry: the one as many before it as the memory holds must have been read, and
    so must the one at its address."""
    if found is None:
        return []
    m, entry, memory = found
    stop = fail(call, names, Fault.OVERRUN, _written_operand(call), entry)
    is_full = f"newest{m} >= front{m} + {memory.num_entries}"
    return [f"if (UNLIKELY({is_full} || entry{m}[{entry}] > front{m})) {stop}"]


def emit_timed_start(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """The program's cycle as `s`, which unit and distances must allow."""
    n, unit = call.number, call.unit
    amount = sum(run.count for run in call.issue.starts)
    lines = [
        f"while (run{n} < {len(call.issue.starts)} && turn{n} == runs{n}[run{n}].count)"
        f" {{ run{n}++; turn{n} = 0; }}",
        f"if (UNLIKELY(run{n} == {len(call.issue.starts)}))"
        f" {fail(call, names, Fault.UNTIMED, str(amount))}",
        f"const i64 asked = runs{n}[run{n}].first + runs{n}[run{n}].step * turn{n}++;",
    ]
    busy = fail(call, names, Fault.BUSY, "0", "0", f"on{unit}[which]", ("s", "asked"))
    lines.append(f"if (UNLIKELY(asked < s)) {busy}")
    for number, rule in _rules(bound, call, is_first=False):
        late = (f"after{number}", "asked")
        stop = fail(call, names, Fault.DISTANCE, str(number), "0", f"by{number}", late)
        lines.append(f"if (UNLIKELY({_guard(rule)}asked < after{number})) {stop}")
    for room in _emit_room(bound, call):
        stop = fail(call, names, Fault.FULL, room[0], "0", "0", (room[1], "asked"))
        lines.append(f"if (UNLIKELY(asked < {room[1]})) {stop}")
    return [*lines, "s = asked;"]


def _emit_room(bound: Bound, call: Call) -> list[tuple[str, str]]:
    """The entry that a call writes: its operand, and when there is room for it."""
    name = bound.hardware.entry_operand(call.instruction)
    found = _entry(bound, call, None) if name is None else None
    if found is None:
        return []
    m, _, memory = found
    ring = f"opened{m}[newest{m} % {memory.num_entries}]"
    return [(_written_operand(call), f"(newest{m} < {memory.num_entries} ? 0 : {ring})")]


def _written_operand(call: Call) -> str:
    """Number of the operand that a call writes, of those that are entries."""
    written = {s.target.buffer for s in call.instruction.semantics.statements}
    return _operand_number(call, next(o.name for o in call.issue.operands if o.name in written))


def _guard(rule: Distance) -> str:
    return "is_new && " if rule.which is Which.NEW_ENTRY else ""


def emit_earliest(bound: Bound, call: Call) -> list[str]:
    """Raises `s` to what distances allow."""
    lines = []
    for number, rule in _rules(bound, call, is_first=False):
        lines.append(f"if ({_guard(rule)}1) s = most(s, after{number});")
    found = _entry(bound, call, bound.hardware.entry_operand(call.instruction))
    if found is not None and bound.hardware.entry_operand(call.instruction) is not None:
        m = found[0]
        lines.append(f"if (is_new && number < num_floors[{m}]) s = most(s, floors[{m}][number]);")
    return lines + [f"s = most(s, {room});" for _, room in _emit_room(bound, call)]


def slot_fit(bound: Bound, call: Call) -> list[str]:
    """Raises `s` to a cycle in which one more call may start."""
    width = takes_slot(bound, call)
    if width is None:
        return []
    fit = f"s = port_fit(&slots, s * {width}, 1) / {width};"
    if writes_entry(bound, call):
        return [fit]
    return [f"if (kept && issue < kept && s % kept == 0) s++; {fit}"] * 2


def slot_take(bound: Bound, call: Call) -> list[str]:
    """Counts the call among those of its cycle."""
    width = takes_slot(bound, call)
    if width is None:
        return []
    return [
        f"port_take(&slots, port_fit(&slots, s * {width}, 1), 1);",
        f"if (UNLIKELY(slots.n + 2 > slots.room)) port_prune(&slots, idle() * {width});",
    ]


def emit_port_checks(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Every port, and the number of calls per cycle, must allow `s`."""
    lines = []
    for use in call.ports:
        fit = f"port_fit(&port{use.port}[0], s, t{use.port})"
        stop = fail(call, names, Fault.PORT, str(use.port), "0", "0", (fit, "s"))
        lines.append(f"if (UNLIKELY({fit} != s)) {stop}")
    width = takes_slot(bound, call)
    if width is not None:
        fit = f"port_fit(&slots, s * {width}, 1) / {width}"
        stop = fail(call, names, Fault.WIDTH, "0", str(width), "0", (fit, "s"))
        lines.append(f"if (UNLIKELY({fit} != s)) {stop}")
    return lines


def emit_marks(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Remember the start for distances, entries and whoever asks."""
    if not _is_needed(bound):
        return []
    lines = [f"on{call.unit}[which] = serial;"]
    for number, rule in _rules(bound, call, is_first=True):
        then = f"after{number} = most(after{number}, s + {c_cost(rule.cycles, call)});"
        lines.append(f"if ({_guard(rule)}1) {{ {then} by{number} = serial; }}")
    if not bound.is_timed and bound.is_exposed:
        lines.append(f"put_start({call.number}, s, 0);")
    return [*lines, *_emit_entries(bound, call, names)]


def _emit_entries(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    name = bound.hardware.entry_operand(call.instruction)
    found = _entry(bound, call, name)
    if found is None:
        return []
    m, entry, memory = found
    assert memory.fifo is not None, "only entries of fifo memories get here"
    if name is None:
        return [f"entry{m}[{entry}] = ++newest{m}; arrival{m}[{entry}] = s + latency;"]
    lines = ["if (is_new) {"]
    if memory.fifo.within_cycles is not None:
        before = f"opened{m}[(front{m} - 1) % {memory.num_entries}]"
        latest = f"{before} + {memory.fifo.within_cycles}LL"
        times = (latest, f"arrival{m}[{entry}]")
        stop = fail(call, names, Fault.LATE, _operand_number(call, name), entry, "0", times)
        if bound.is_exposed and not bound.is_timed:  # the one before it must be read later
            floor = f"{times[1]} - {memory.fifo.within_cycles}LL"
            stop = f"put_start({-1 - m}, front{m}, {floor});"
        lines.append(f"if (UNLIKELY(front{m} && arrival{m}[{entry}] > {latest})) {stop}")
    return [*lines, f"opened{m}[front{m}++ % {memory.num_entries}] = s; }}"]
