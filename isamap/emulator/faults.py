"""Turn what an execution found wrong into the message a person reads.

In: a fault code with its numbers, from either execution. Out: a ProgramError naming the call and
the rule.
Not its job: finding faults.
"""

from dataclasses import dataclass

from isamap.errors import ProgramError
from isamap.hwdesc import Which

from .bind import Bound, Call, allowed_intervals
from .c_text import Fault, alignment

LATER = "start it later, with more empty cycles before it"


@dataclass(frozen=True, slots=True)
class Report:
    """One fault: `call` is -1 for a loop; `a` to `e` as in `Fault`; `values` of the enclosing
    loops."""

    fault: Fault
    call: int
    a: int
    b: int
    c: int
    values: tuple[int, ...]
    other: str = ""  # the other call of a hazard
    d: int = 0
    e: int = 0


def parse_report(words: list[str]) -> Report:
    """The numbers of an `error` or `call` line."""
    code, call, a, b, c, d, e, *values = map(int, words[1:])
    return Report(Fault(code), call, a, b, c, tuple(values), d=d, e=e)


def show_call(bound: Bound, number: int, values: tuple[int, ...]) -> str:
    """`mma[i=1, k=0] (call 3 of the listing)`."""
    call = bound.calls[number]
    pairs = ", ".join(f"{loop}={value}" for (loop, _), value in zip(call.loops, values))
    return f"{call.instruction.name}[{pairs}]"


def fault_error(bound: Bound, report: Report) -> ProgramError:
    """The error of a report."""
    if report.fault is Fault.LOOP_COUNT:
        values = ", ".join(map(str, report.values)) or "none"
        return ProgramError(
            f"a loop runs {report.b} times, below 1 (enclosing loops' values: {values})"
        )
    call = bound.calls[report.call]
    where = show_call(bound, report.call, report.values)
    message, hint = _explain(bound, call, report)
    return ProgramError(f"{where}: {message}", hint=hint)


def _explain(bound: Bound, call: Call, report: Report) -> tuple[str, str]:
    match report.fault:
        case Fault.DEADLOCK | Fault.OVERFLOW:
            channel = bound.hardware.channels[report.a]
            if report.fault is Fault.DEADLOCK:
                return (
                    f"deadlock: pops channel {channel.name!r} before anything was pushed",
                    f"an earlier call on {channel.source_unit!r} must push it",
                )
            return (
                f"channel {channel.name!r} overflows: it holds {channel.depth} tokens",
                f"{channel.target_unit!r} must pop it earlier in the program",
            )
        case Fault.SPAN:
            return f"{call.spans[report.a][0]!r} runs {report.b} times, which is not allowed", ""
        case Fault.ARITHMETIC:
            return ("shift by a negative count", "division by zero")[report.a], ""
        case Fault.BUSY | Fault.DISTANCE | Fault.PORT | Fault.WIDTH | Fault.UNTIMED:
            return _explain_start(bound, call, report)
        case Fault.ORDER | Fault.OVERRUN | Fault.LATE | Fault.FULL:
            return _explain_entry(call, report)
    is_region = report.fault is Fault.BOUNDS
    operand = call.issue.operands[call.regions[report.a].operand if is_region else report.a]
    what = f"operand {operand.name!r}"
    match report.fault:
        case Fault.ROTATION:
            return f"{what}: rotation counter {report.b} is below 0", ""
        case Fault.ALIGNMENT:
            align = alignment(bound, call, report.a)
            return f"{what}: {operand.memory}[{report.b}] is no multiple of {align} bytes", ""
        case Fault.BOUNDS:
            return _explain_bounds(bound, call, what, report)
        case Fault.UNWRITTEN:
            return (
                f"{what}: reads {_show_place(bound, operand.memory, report.b)}, which was never"
                " written",
                "",
            )
        case Fault.COPIED:
            place = _show_place(bound, operand.memory, report.b)
            return (
                f"{what}: takes only what was computed, and a copy has put {place} there",
                "compute it there, or take it home with another instruction",
            )
        case Fault.RACE:
            return (
                f"{what}: writes {operand.memory}[{report.b}], which core {report.c} has written"
                " too and nobody has read since",
                "cores that run one call must write different bytes",
            )
        case _:
            other = report.other or "an earlier call"
            place = _show_place(bound, operand.memory, report.b)
            touch = f"hazard with {other}: {what} touches {place}"
            if bound.is_exposed:
                return f"{touch} {_when(report)}", LATER
            return f"{touch} too early", "a token must order the two calls"


def _when(report: Report) -> str:
    return f"when started in cycle {report.e}, cycle {report.d} is the earliest"


def _explain_start(bound: Bound, call: Call, report: Report) -> tuple[str, str]:
    """A start cycle that units, distances, ports or the number of calls per cycle forbid."""
    hardware = bound.hardware
    match report.fault:
        case Fault.UNTIMED:
            return f"runs more often than the {report.a} times that have a start cycle", ""
        case Fault.BUSY:
            rule = f"unit {call.instruction.unit!r} still runs {report.other}"
        case Fault.DISTANCE:
            distance = hardware.distances[report.a]
            which = "" if distance.which is Which.ALWAYS else f" ({distance.which.value})"
            rule = f"too close to {report.other}: the distance from {distance.first!r} to"
            rule += f" {distance.then!r}{which} is {distance.cycles} cycles;"
        case Fault.PORT:
            port = bound.ports[report.a]
            rule = f"port {port.name!r} of {port.memory!r} is taken"
        case _:
            rule = f"{report.b} calls start in this cycle already"
    return f"{rule} {_when(report)}", LATER


def _explain_entry(call: Call, report: Report) -> tuple[str, str]:
    operand = call.issue.operands[report.a]
    what = f"operand {operand.name!r}"
    match report.fault:
        case Fault.ORDER:
            rule = "is neither the one read last nor the one written next"
            hint = "entries are read in the order in which they were written"
            return f"{what}: entry {report.b} of {operand.memory!r} {rule}", hint
        case Fault.FULL:
            return f"{what}: {operand.memory!r} is full {_when(report)}", LATER
        case Fault.OVERRUN:
            return f"{what}: entry {report.b} of {operand.memory!r} was not read yet", ""
        case _:
            times = f"is there in cycle {report.e}, cycle {report.d} is the latest"
            return f"{what}: entry {report.b} of {operand.memory!r} {times}", "fetch it earlier"


def _show_place(bound: Bound, memory: str, address: int) -> str:
    """`sram[16]`, with the core where each has such a memory."""
    if bound.hardware.num_copies(memory) == 1:
        return f"{memory}[{address}]"
    core, inside = divmod(address, bound.extent(memory).size_bytes)
    return f"{memory}[{inside}] of core {core}"


def _explain_bounds(bound: Bound, call: Call, what: str, report: Report) -> tuple[str, str]:
    region = call.regions[report.a]
    intervals = allowed_intervals(bound.allowed, call, region)
    allowed = ", ".join(f"{low} .. {high - 1}" for low, high in intervals)
    is_external = region.memory == bound.hardware.external.name
    rule = "placements" if is_external else "the memory"
    return (
        f"{what}: {region.memory}[{report.b} .. {report.c - 1}] is out of bounds",
        f"{rule}: bytes {allowed or 'none'}",
    )
