"""The timing mode as one C program.

In: a Bound program. Out: C text that prints `ok` and the counts `timing` reads, or one `error`
line (`Fault`).
Not its job: compiling and running it (`build`), the contract it implements (docs/timing.md).
With `-DTRACE` it also remembers who last touched each granule, to name both calls of a hazard.
"""

from collections.abc import Mapping

from .bind import Bound, Call, call_hull, takes_turns
from .c_events import (
    because,
    emit_event,
    emit_event_begin,
    emit_event_opening,
    emit_event_results,
    emit_event_state,
    has_life,
    life_actions,
)
from .c_exposed import (
    emit_allocation,
    emit_earliest,
    emit_entry_read,
    emit_marks,
    emit_port_checks,
    emit_state,
    emit_timed_start,
)
from .c_ports import copies, emit_fits, emit_idle, emit_needs, emit_takes, unit_at
from .c_text import (
    PRELUDE,
    Fault,
    c_cost,
    c_count,
    emit_body,
    emit_prelude,
    fail,
    home,
    over_copies,
    region_runs,
)
from .c_timing_text import HELPERS
from .cores import num_queues
from .region import Region
from .waits import Wait, wait_code

ENERGY_SCALE = 10**6  # energies are summed as whole millionths of a picojoule


def emit_timing(bound: Bound, *, is_recorded: bool = False) -> str:
    """The whole C file; `is_recorded`: it remembers single calls instead (`c_events`)."""
    followed = _followed_granules(bound)
    lines = [PRELUDE, *(emit_event_state(bound) if is_recorded else []), HELPERS]
    lines += [*_emit_state(bound), *emit_idle(bound), *emit_state(bound)]
    lines.append("int main(int argc, char **argv) {")
    lines += emit_event_opening(bound, followed) if is_recorded else []
    lines.append("if (argc > 1) watch = atoll(argv[1]);")
    lines += [*_emit_allocation(bound), *emit_allocation(bound)]
    lines += emit_body(bound, lambda call, names: _emit_call(bound, call, names, is_recorded))
    lines += emit_event_results(bound, followed) if is_recorded else _emit_results(bound)
    return "\n".join([*lines, "return 0; }"]) + "\n"


def _emit_state(bound: Bound) -> list[str]:
    lines = ["static i64 total = 0;"]
    for number, unit in enumerate(bound.hardware.units):
        n = bound.hardware.num_copies(unit.name)
        lines.append(
            f"static i64 free{number}[{n}][{unit.count}],"
            f" busy{number}[{n}], last{number}[{n}], done{number}[{n}];"
        )
    for number in range(len(bound.calls)):
        lines.append(f"static i64 calls{number}, energy{number};")
    for number, extent in enumerate(bound.extents):
        lines.append(f"static i64 read{number}, written{number};")
        if extent.hazards is not None:
            arrays = ", ".join(f"*{kind}{number}" for kind in _hazard_arrays(bound, number))
            lines.append(f"static i64 {arrays};")
            lines.append(f"#ifdef TRACE\nstatic i64 *writer{number}, *reader{number};\n#endif")
    for number, port in enumerate(bound.ports):
        lines.append(f"static port port{number}[{bound.hardware.num_copies(port.memory)}];")
    for number, channel in enumerate(bound.hardware.channels):
        n = num_queues(bound.hardware, number)
        lines.append(
            f"static i64 queue{number}[{n}][{channel.depth}], head{number}[{n}], tail{number}[{n}];"
        )
    return lines


def _hazard_arrays(bound: Bound, number: int) -> tuple[str, ...]:
    """Per granule: finish of the last writer, end of the last reader, and for pipelined updates
    the earliest
    next update and the instruction it is meant for; on a tokens machine also the last writer's
    unit."""
    memory = bound.extents[number].memory
    regions = [(call, region) for call in bound.calls for region in call.regions]
    here = [(call, region) for call, region in regions if region.memory == memory]
    arrays: tuple[str, ...] = ("finish", "ended")
    if any(call.accumulates(region) for call, region in here):
        arrays += ("soon", "tag")
    if bound.hardware.has_tokens:
        arrays += ("owner",)
    return arrays


def _emit_allocation(bound: Bound) -> list[str]:
    lines: list[str] = []
    for number, extent in enumerate(bound.extents):
        if extent.hazards is None:
            continue
        size = _copy_granules(bound, number) * bound.hardware.num_copies(extent.memory)
        for kind in _hazard_arrays(bound, number):
            lines.append(f"{kind}{number} = zeros({size}LL * 8);")
        lines.append("#ifdef TRACE")
        lines += [f"{kind}{number} = zeros({size}LL * 8);" for kind in ("writer", "reader")]
        lines.append("#endif")
    for number, port in enumerate(bound.ports):
        copies = bound.hardware.num_copies(port.memory)
        lines.append(f"for (i64 i = 0; i < {copies}; i++) port_prune(&port{number}[i], 0);")
    return lines


def _followed_granules(bound: Bound) -> dict[int, int]:
    """Of the memories in which it can be followed how long bytes are needed: granules in all
    copies."""
    return {
        number: _copy_granules(bound, number) * bound.hardware.num_copies(extent.memory)
        for number, extent in enumerate(bound.extents)
        if extent.hazards is not None and has_life(bound, extent.memory)
    }


def _copy_granules(bound: Bound, number: int) -> int:
    """Granules that are tracked in each copy of a memory."""
    extent = bound.extents[number]
    assert extent.hazards is not None, "only tracked memories get here"
    return (extent.hazards[1] - extent.hazards[0]) // extent.granule_bytes + 1


def _emit_call(bound: Bound, call: Call, names: Mapping[str, str], is_recorded: bool) -> list[str]:
    unit = call.unit
    count = bound.hardware.units[unit].count
    is_tokens = bound.hardware.has_tokens
    lines = emit_prelude(bound, call, names)
    lines.append(f"const i64 issue = {c_cost(call.instruction.issue_cycles, call)};")
    least = "0" if call.instruction.stream else "issue"  # parts may end before the unit is free
    latency = c_cost(call.instruction.latency_cycles, call)
    lines.append(f"const i64 latency = most({least}, {latency});")
    free, last = f"free{unit}[{unit_at(bound, call)}]", f"last{unit}[{unit_at(bound, call)}]"
    if count == 1:
        lines.append(f"i64 s = {free}[0]; const int which = 0; (void)which;")
    else:
        lines.append(
            f"int which = 0; for (int i = 1; i < {count}; i++)"
            f" if ({free}[i] < {free}[which]) which = i;"
            f" i64 s = most({last}, {free}[which]);"
        )
    lines += emit_event_begin(f"{free}[which]") if is_recorded else []
    for channel in call.pops:
        stop = fail(call, names, Fault.DEADLOCK, str(channel))
        depth = bound.hardware.channels[channel].depth
        for at in copies(num_queues(bound.hardware, channel), call):
            head, tail = f"head{channel}[{at}]", f"tail{channel}[{at}]"
            lines.append(f"if (UNLIKELY({head} == {tail})) {stop}")
            lines.append(f"s = most(s, queue{channel}[{at}][{head}++ % {depth}]);")
            lines.append(because(Wait.TOKEN, channel))
    if takes_turns(bound, call):
        lines += [*(f"s = most(s, {free});" for free in _all_units(bound)), because(Wait.TURN)]
    lines += emit_entry_read(bound, call, names)
    lines += emit_timed_start(bound, call, names) if bound.is_timed else []
    lines += [because(Wait.PROGRAM), "i64 ready = 0, own = 0; (void)own;"]
    lines += ["i64 found = 0, hazard = 0;"] if is_recorded else []
    for region in call.regions:
        lines += _emit_scan(bound, call, region, is_recorded)
    lines += emit_needs(bound, call)
    blame = ["if (UNLIKELY(ready > s)) {", *_emit_blame(bound, call, names), "}"]
    if bound.is_timed:
        lines += [*blame, *emit_port_checks(bound, call, names)]
    else:
        lines += ["s = most(s, own);" if is_tokens else "s = most(s, ready);", "BECAUSE(hazard)"]
        lines += [*emit_earliest(bound, call), because(Wait.ENTRY), *emit_fits(bound, call)]
        lines += blame if is_tokens else []
    lines += emit_takes(bound, call)
    for region in call.regions:
        lines += _emit_mark(bound, call, region)
    lines += _emit_lives(bound, call, names) if is_recorded else []
    return lines + emit_marks(bound, call, names) + _emit_finish(bound, call, names)


def _emit_lives(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Remember the call, and how long bytes live: what it reads, before what it writes."""
    lines = emit_event(bound, call, names)
    found = [r for r in call.regions if _is_tracked(bound, call, r) and has_life(bound, r.memory)]
    each = [
        life_actions(bound, r, _copy_granules(bound, bound.extent_number(r.memory))) for r in found
    ]
    for region, (read, _) in zip(found, each):
        lines += _emit_runs(bound, call, region, read) if region.is_read else []
    for region, (_, write) in zip(found, each):
        lines += _emit_runs(bound, call, region, write) if region.is_written else []
    return lines


def _all_units(bound: Bound) -> list[str]:
    """When each instance of each unit is free."""
    return [
        f"free{number}[{copy}][{instance}]"
        for number, unit in enumerate(bound.hardware.units)
        for copy in range(bound.hardware.num_copies(unit.name))
        for instance in range(unit.count)
    ]


def _is_tracked(bound: Bound, call: Call, region: Region) -> bool:
    """Can the order of this access matter?"""
    hazards = bound.extent(region.memory).hazards
    hull = call_hull(bound.allowed, call, region)
    return (
        hazards is not None and hull is not None and hull[0] < hazards[1] and hazards[0] < hull[1]
    )


def _emit_runs(bound: Bound, call: Call, region: Region, action: str) -> list[str]:
    """`action` for every gapless run, with its first granule `g` and number of granules `n`, and
    where iterations follow each other, `w`: how long after the call's start this one begins."""
    extent = bound.extent(region.memory)
    assert extent.hazards is not None, "only tracked regions get here"
    apart = call.stream_dim(region)
    runs = region_runs(call, region, apart)
    lines: list[str] = []
    offset = f"a{region.operand} + {region.start_bytes - extent.hazards[0]}LL"
    if apart is not None:
        every = call.stream_cycles
        end = f"{c_count(apart, call)} * {every}"
        lines.append(f"for (i64 w = 0, y = 0; w < {end}; w += {every}, y++)")
        offset += f" + y * {apart.stride_bytes}LL"
    for depth, (count, stride) in enumerate(runs.outer):
        lines.append(f"for (i64 y{depth} = 0; y{depth} < {count}; y{depth}++)")
        offset += f" + y{depth} * {stride}LL"
    granule = extent.granule_bytes
    lines.append(f"{{ const i64 g = (i64)((uint64_t)({offset}) / {granule}){home(bound, region)};")
    lines.append(f"const i64 n = (i64)((uint64_t)({runs.run_bytes}) / {granule}); {action} }}")
    copy = _copy_granules(bound, bound.extent_number(region.memory))
    return over_copies(bound, call, region, copy, lines)


def _tag(bound: Bound, call: Call) -> int:
    """A number for the sums that the instruction adds to, 0 being nobody's."""
    names = [instruction.name for instruction in bound.hardware.instructions]
    return 1 + names.index(call.sums)


def _owner(bound: Bound, call: Call) -> str:
    """A number for the copy of its unit that a call runs on, 0 being nobody."""
    return f"({1 + call.unit * bound.hardware.num_cores} + {unit_at(bound, call)})"


def _emit_scan(bound: Bound, call: Call, region: Region, is_recorded: bool) -> list[str]:
    """`ready`: the cycle from which the region may be touched; `own`: as far as this unit's own
    results go; with `is_recorded` also which `hazard` it is."""
    is_renamed = bound.hardware.memory(region.memory).never_waits
    if not _is_tracked(bound, call, region) or is_renamed and not region.is_read:
        return []
    m = bound.extent_number(region.memory)
    is_tokens = bound.hardware.has_tokens
    unit = _owner(bound, call)
    if call.accumulates(region):
        tag = _tag(bound, call)
        times = f"finish{m} + g, soon{m} + g, tag{m} + g"
        scans = [("ready", f"scan_update({times}, {tag}, n, ")]
        own = f"scan_own_update({times}, owner{m} + g, {tag}, {unit}, n, "
    else:
        scans = [("ready", f"scan(finish{m} + g, n, ")]
        own = f"scan_own(finish{m} + g, owner{m} + g, {unit}, n, "
    scans += [("own", own)] if is_tokens else []
    if region.is_written and not is_renamed:
        scans.append(("ready", f"scan(ended{m} + g, n, "))
    is_apart = call.stream_dim(region) is not None
    texts = [f"{v} = most({v}, {s}0) - w);" if is_apart else f"{v} = {s}{v});" for v, s in scans]
    if not is_recorded:
        return _emit_runs(bound, call, region, " ".join(texts))
    lines: list[str] = []
    for (variable, scan), text in zip(scans, texts):
        lines += _emit_runs(bound, call, region, text)
        wait = wait_code(Wait.READERS if "ended" in scan else Wait.WRITER, region.operand)
        if variable == ("own" if is_tokens else "ready"):
            lines.append(f"if ({variable} > found) {{ found = {variable}; hazard = {wait}; }}")
    return lines


def _emit_mark(bound: Bound, call: Call, region: Region) -> list[str]:
    """Remember when the region may next be touched."""
    if not _is_tracked(bound, call, region):
        return []
    m = bound.extent_number(region.memory)
    apart = call.stream_dim(region)
    began, before_end = "s", "0"
    if apart is not None:
        last = f"({c_count(apart, call)} - 1) * {call.stream_cycles}"
        began, before_end = "s + w", f"({last} - w)"
    if not region.is_written:
        action = f"lift(ended{m} + g, n, s + issue - {before_end});"
        trace = f"fill(reader{m} + g, n, serial);"
        return _emit_runs(bound, call, region, _traced(action, trace))
    action = f"fill(finish{m} + g, n, s + latency - {before_end});"
    if "owner" in _hazard_arrays(bound, m):
        action += f" fill(owner{m} + g, n, {_owner(bound, call)});"
    if "soon" in _hazard_arrays(bound, m) and call.is_continued(region):
        assert call.instruction.accumulate_cycles is not None, "is_continued() says so"
        soon = c_cost(call.instruction.accumulate_cycles, call)
        action += f" fill(soon{m} + g, n, {began} + {soon});"
        action += f" fill(tag{m} + g, n, {_tag(bound, call)});"
    elif "tag" in _hazard_arrays(bound, m):
        action += f" fill(tag{m} + g, n, 0);"
    return _emit_runs(bound, call, region, _traced(action, f"fill(writer{m} + g, n, serial);"))


def _traced(action: str, trace: str) -> str:
    return f"{action}\n#ifdef TRACE\n{trace}\n#endif\n"


def _emit_blame(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Find the granule and, when traced, the other call; then stop."""
    lines: list[str] = []
    for region in call.regions:
        if not _is_tracked(bound, call, region):
            continue
        m = bound.extent_number(region.memory)
        extent = bound.extents[m]
        assert extent.hazards is not None, "tracked"
        finish = f"finish{m}[i]"
        if call.accumulates(region):
            finish = f"(tag{m}[i] == {_tag(bound, call)} ? soon{m}[i] : finish{m}[i])"
        copy = _copy_granules(bound, m)
        inside = f"{extent.hazards[0]}LL + i % {copy}LL * {extent.granule_bytes}LL"
        address = f"{inside} + i / {copy}LL * {extent.size_bytes}LL"
        operand = str(region.operand)
        tests = [(finish, f"writer{m}[i]")]
        if region.is_written:
            tests.append((f"ended{m}[i]", f"reader{m}[i]"))
        shift = " - w" if call.stream_dim(region) is not None else ""
        for time, other in tests:
            times = (time + shift, "s")
            known = fail(call, names, Fault.HAZARD, operand, address, other, times)
            unknown = fail(call, names, Fault.HAZARD, operand, address, "-1", times)
            body = f"if ({time}{shift} > s)\n#ifdef TRACE\n{known}\n#else\n{unknown}\n#endif\n"
            action = f"for (i64 i = g; i < g + n; i++) {{ {body} }}"
            lines += _emit_runs(bound, call, region, action)
    return lines


def _emit_finish(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    unit = call.unit
    values = fail(call, names, Fault.HAZARD, "0").replace('"error"', '"call"')
    at = unit_at(bound, call)
    lines = [
        f"free{unit}[{at}][which] = s + issue; last{unit}[{at}] = s; busy{unit}[{at}] += issue;",
        f"done{unit}[{at}] = most(done{unit}[{at}], s + latency);",
        *(f"{free} = s + issue;" for free in _all_units(bound) if takes_turns(bound, call)),
        "total = most(total, s + latency);",
        f"calls{call.number}++;",
        f"#ifdef TRACE\nif (serial == watch) {values}\n#endif",
        "serial++;",
    ]
    for position, region in enumerate(call.regions):
        m = bound.extent_number(region.memory)
        lines += [f"read{m} += b{position};"] * region.is_read
        times = len(call.site.reach) if bound.hardware.num_copies(region.memory) > 1 else 1
        lines += [f"written{m} += {times} * b{position};"] * region.is_written
    if call.instruction.energy_pj is not None:
        cost = c_cost(call.instruction.energy_pj.scaled(ENERGY_SCALE), call)
        lines.append(f"energy{call.number} += {cost};")
    for channel in call.pushes:
        depth = bound.hardware.channels[channel].depth
        stop = fail(call, names, Fault.OVERFLOW, str(channel))
        for to in copies(num_queues(bound.hardware, channel), call):
            head, tail = f"head{channel}[{to}]", f"tail{channel}[{to}]"
            lines.append(f"if (UNLIKELY({tail} - {head} >= {depth})) {stop}")
            lines.append(f"queue{channel}[{to}][{tail}++ % {depth}] = done{unit}[{at}];")
    return lines


def _emit_results(bound: Bound) -> list[str]:
    """Print `ok total`, then busy and ports (of every copy), reads, writes, calls and energies."""
    values = ["total"]
    for number, unit in enumerate(bound.hardware.units):
        values += [f"busy{number}[{n}]" for n in range(bound.hardware.num_copies(unit.name))]
    for number, port in enumerate(bound.ports):
        values += [f"port{number}[{n}].busy" for n in range(bound.hardware.num_copies(port.memory))]
    values += [f"read{number}" for number in range(len(bound.extents))]
    values += [f"written{number}" for number in range(len(bound.extents))]
    values += [f"calls{number}" for number in range(len(bound.calls))]
    values += [f"energy{number}" for number in range(len(bound.calls))]
    prints = [f'printf(" %lld", (long long){value});' for value in values]
    return ['printf("ok");', *prints, 'printf("\\n");']
