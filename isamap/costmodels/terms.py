"""What tells one schedule from another of the same kernel, as numbers with names.

In: a candidate, the machine. Out: terms: what the closed form adds up, as shares of its cycles, and
what it does not see or counts alike: loops, tiles, streams. Not its job: what they are worth
(`isamap.measured`).

Names are of the machine and its instructions, never of a kernel's own loops and buffers, so that
what one kernel shows holds for another one: a loop is called by the operands that it moves, an
operand by its name in the instruction. A term that is not there is 0.
"""

from collections.abc import Iterator
from math import log2, prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .analytical import Estimate, estimate, packing_cycles, resumed_sum_cycles
from .caches import refill_cycles
from .lines import PAGE_BYTES, NestLoop, find_nest, find_streams, touched_lines
from .passes import flow_cycles
from .registry import Candidate
from .tiling import Tiling, last_units, tile_units, trips

TERMS_VERSION = 1  # of names and meanings: what was kept under another one is not compared
INSTRUCTION = "instruction "  # begins the term of the instruction that computes
LINE_BYTES = 64  # rows further apart are streams of their own


def find_terms(candidate: Candidate, hw: Hardware) -> dict[str, float]:
    """All that are not 0, in the order of their names."""
    covering, tiling = candidate.covering, candidate.tiling
    parts = estimate(covering, candidate.work, tiling, hw)
    nest = find_nest(covering, tiling, hw)
    found: dict[str, float] = {INSTRUCTION + covering.instruction: 1.0}
    rows = (
        *_shares(candidate, parts, hw),
        *_loops(covering, tiling),
        *_rounds(nest, max(1, parts.cycles)),
        *_stays(covering, tiling),
        *_streams(covering, tiling, nest, hw),
    )
    for name, value in rows:
        found[name] = found.get(name, 0.0) + value
    return {name: found[name] for name in sorted(found) if found[name]}


def _shares(candidate: Candidate, parts: Estimate, hw: Hardware) -> Iterator[tuple[str, float]]:
    """Parts of the closed form, as shares of all its cycles."""
    covering, work, tiling = candidate.covering, candidate.work, candidate.tiling
    cycles = max(1, parts.cycles)
    yield "cycles", log2(cycles)
    for unit, busy in parts.unit_cycles:
        yield f"unit {unit}", busy / cycles
    for (memory, port), busy in parts.port_cycles:
        yield f"port {memory}.{port}", busy / cycles
    yield "startup", parts.startup_cycles / cycles
    yield "finish", parts.finish_cycles / cycles
    yield "stall", parts.stall_cycles / cycles
    yield "packing", packing_cycles(covering, work, tiling) / cycles
    yield "unfinished sums", resumed_sum_cycles(covering, work, tiling, hw) / cycles
    for cache, refills in zip(hw.caches, refill_cycles(covering, tiling, hw), strict=True):
        yield f"refills {cache.name}", refills.busy_cycles / cycles
        yield f"waits {cache.name}", refills.waiting_cycles / cycles
    for flow in work.flows:
        way = "out" if flow.is_drain else "again" if flow.is_again else "in"
        name = f"copy {flow.operand} {way} {flow.residence}"
        yield name, flow_cycles(covering, tiling, flow) / cycles


def _loops(covering: Covering, tiling: Tiling) -> Iterator[tuple[str, float]]:
    """Sizes and order of tiles, by what the loops move."""
    for loop in covering.loops:
        name = _moved(covering, loop.name)
        tile, count = tiling.tile(loop.name), trips(covering, tiling, loop.name)
        yield f"tile {name}", log2(tile)
        yield f"trips {name}", log2(count)
        yield f"rest {name}", 1 - last_units(covering, tiling, loop) / tile
    outer = [name for name in tiling.outer if trips(covering, tiling, name) > 1]
    inner = [name for name in tiling.inner if tiling.tile(name) > 1]
    for place, names in (("tiles", outer), ("units", inner)):
        if names:
            yield f"outermost {place} {_moved(covering, names[0])}", 1.0
            yield f"innermost {place} {_moved(covering, names[-1])}", 1.0


def _moved(covering: Covering, loop: str) -> str:
    """The operands that a loop moves."""
    return " ".join(plan.name for plan in covering.operands if loop in plan.loops) or "nothing"


def _rounds(nest: list[NestLoop], cycles: int) -> Iterator[tuple[str, float]]:
    """Loops that the processor goes round, per 100 cycles, and how much code is in them."""
    around = prod(loop.count for loop in nest if not loop.is_written_out)
    yield "code", log2(prod(loop.count for loop in nest if loop.is_written_out))
    for depth, loop in enumerate(loop for loop in nest if not loop.is_written_out):
        yield f"rounds {min(depth, 2)}", 100 * around / cycles
        around /= loop.count
        if depth == 0:
            yield "innermost rounds", log2(loop.count)


def _stays(covering: Covering, tiling: Tiling) -> Iterator[tuple[str, float]]:
    """How much of what lies where, and in how many slots."""
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        residence = plan.residences[stay.residence]
        units = prod(tile_units(covering, tiling, stay, name) for name in plan.loops)
        name = f"{stay.operand} in {residence.memory}"
        yield f"room {name}", log2(units * residence.block_bytes * stay.slots)
        yield f"slots {name}", float(stay.slots)
        yield f"tile of {name}", float(stay.level)
        yield f"packed {stay.operand}", float(residence.is_packed)


def _streams(
    covering: Covering, tiling: Tiling, nest: list[NestLoop], hw: Hardware
) -> Iterator[tuple[str, float]]:
    """Rows of arrays that the loops inside a tile walk along side by side, and those that lie a
    multiple of a page apart."""
    inner = [loop for loop in nest if not loop.is_tile]
    rows = pages = 0.0
    for stream in find_streams(covering, tiling, nest, hw, {}):
        dims = [(stride, float(count)) for count, stride in stream.inside]
        dims += [(stride, loop.count) for stride, loop in zip(stream.strides, inner)]
        used = sorted(dim for dim in dims if dim[0] and dim[1] > 1)
        lines = touched_lines(LINE_BYTES, used, stream.element_bytes)
        rows += lines.rows
        if lines.pitch_bytes and lines.pitch_bytes % PAGE_BYTES == 0:
            pages += lines.rows
    yield "rows", log2(max(1.0, rows))
    yield "rows pages apart", log2(max(1.0, pages))
