"""Ports in the timing mode's C: how long a call needs which, from when on they have room.

In: a Bound program, one call at a time. Out: lines of C. Not its job: everything else that decides
when a call starts (`c_timing`).
"""

from .bind import Bound, Call
from .c_exposed import slot_fit, slot_take
from .c_text import c_count
from .cores import used_cores
from .region import Dim, Region
from .waits import Wait, wait_code


def unit_at(bound: Bound, call: Call) -> str:
    """C index of the copy of its unit that a call runs on."""
    return "core" if bound.hardware.num_copies(bound.hardware.units[call.unit].name) > 1 else "0"


def copies(count: int, call: Call) -> list[str]:
    """C indices of the copies of a port or channel, of which there are `count`, that a call
    uses."""
    return [f"core + {offset}" for offset in call.site.reach] if count > 1 else ["0"]


def emit_needs(bound: Bound, call: Call) -> list[str]:
    """Bytes of each region, cycles of each port."""
    lines: list[str] = []
    for position, region in enumerate(call.regions):
        lines.append(f"const i64 b{position} = {_num_bytes(region, call)}; (void)b{position};")
    for use in call.ports:
        rate = bound.ports[use.port].rate
        total = " + ".join(f"b{region}" for region in use.regions)
        length = f"above(({total}) * {rate.denominator}LL, {rate.numerator}LL)"
        lines.append(f"const i64 t{use.port} = {length};")
    return lines


def _num_bytes(region: Region, call: Call) -> str:
    """As `Region.num_bytes`."""
    box = [c_count(dim, call) for dim in region.dims if dim.stride_bytes]
    touched = " * ".join(box) or "1LL"
    if region.diagonal_loops:
        loops = [c_count(Dim(((name, 1),), 1, -1, 1), call) for name in region.diagonal_loops]
        touched = f"least({touched}, {' * '.join(loops)})"
    return " * ".join(
        [f"{region.item_bytes}LL", touched, *(c_count(d, call) for d in region.repeats)]
    )


def _used_ports(bound: Bound, call: Call) -> list[tuple[str, str, int]]:
    """C names of every port that the call uses, and for how long, and its number."""
    return [
        (f"port{use.port}[{at}]", f"t{use.port}", use.port)
        for use in call.ports
        for at in copies(bound.hardware.num_copies(bound.ports[use.port].memory), call)
    ]


def emit_fits(bound: Bound, call: Call) -> list[str]:
    """Raise `s` until every port has room from it on."""
    fits = [
        f"s = port_fit(&{port}, s, {length}); BECAUSE({wait_code(Wait.PORT, number)})"
        for port, length, number in _used_ports(bound, call)
    ]
    fits += slot_fit(bound, call)
    if len(fits) < 2:
        return fits
    return [f"for (i64 before = -1; before != s;) {{ before = s; {' '.join(fits)} }}"]


def emit_takes(bound: Bound, call: Call) -> list[str]:
    """Reserve every port from `s` on."""
    lines = slot_take(bound, call)
    for port, length, _ in _used_ports(bound, call):
        lines.append(f"port_take(&{port}, s, {length});")
        lines.append(f"if (UNLIKELY({port}.n + 2 > {port}.room)) port_prune(&{port}, idle());")
    return lines


def emit_idle(bound: Bound) -> list[str]:
    """`idle()`: the cycle before which no unit that the program uses starts anything any more."""
    rows = sorted(
        {
            (call.unit, core if unit_at(bound, call) == "core" else 0)
            for call in bound.calls
            for core in used_cores(call.site, dict(call.loops))
        }
    )
    tests = [
        f"t = least(t, free{unit}[{core}][{instance}]);"
        for unit, core in rows
        for instance in range(bound.hardware.units[unit].count)
    ]
    return ["static COLD i64 idle(void) { i64 t = INT64_MAX;", *tests, "return t; }"]
