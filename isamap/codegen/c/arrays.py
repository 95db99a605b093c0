"""Arrays of bytes that a generated function keeps managed memories in.

In: its nodes, the machine. Out: how many bytes of each memory its calls reach, the text of static
arrays. Not its job: registers that are variables, buffers of the caller (`parameters`).

A static array is no larger than what is used of the memory: all of it is cleared when a thread
first runs. A large one is put on large pages, where the system has them and says yes; nothing but
time depends on it.
"""

from collections.abc import Iterator, Mapping

from isamap.hwdesc import Hardware, MemoryKind
from isamap.ir import size_bytes
from isamap.program import Issue, Operand

from .nodes import CCall, CHint, CIf, CLoop, CNode, CRegion, CShare, CTurn

ALIGN_BYTES = 64
LARGE_BYTES = 4 * 1024 * 1024  # two large pages of x86 and Arm: at least one lies in it whole

# MADV_COLLAPSE is 25, since Linux 6.1: other kernels say no. The C library has cleared the array
# before, on small pages, so that asking for large ones from now on would come too late.
LARGE_PAGES = """\
#ifdef __linux__
#include <sys/mman.h>
static void isamap_large_pages(uint8_t *array, size_t bytes) {
  const uintptr_t page = 2097152, end = ((uintptr_t)array + bytes) & -page;
  const uintptr_t begin = ((uintptr_t)array + page - 1) & -page;
  if (begin < end) (void)madvise((void *)begin, end - begin, 25);
}
#else
#define isamap_large_pages(array, bytes) ((void)0)
#endif"""

Ranges = Mapping[str, tuple[int, int]]  # of loops' values, first and last


def declare_static(arrays: Mapping[str, int]) -> list[str]:
    """Lines before the function, for memories with so many bytes."""
    lines = []
    if any(count >= LARGE_BYTES for count in arrays.values()):
        lines += [*LARGE_PAGES.splitlines(), ""]
    for memory, count in arrays.items():
        lines.append(f"static _Thread_local _Alignas({ALIGN_BYTES}) uint8_t {memory}[{count}];")
        if count >= LARGE_BYTES:
            lines.append(f"static _Thread_local int {memory}_is_placed;")
        lines.append("")
    return lines


def place_static(memory: str, count: int) -> list[str]:
    """Lines at its begin, in each thread; `count`: of bytes."""
    if count < LARGE_BYTES:
        return []
    call = f"isamap_large_pages({memory}, sizeof {memory})"
    return [f"if (!{memory}_is_placed) {call}, {memory}_is_placed = 1;"]


def reached_bytes(nodes: tuple[CNode, ...], hw: Hardware) -> dict[str, int]:
    """Of each managed memory that calls read or write, the bytes up to the last one they reach, no
    more than it has."""
    reached: dict[str, int] = {}
    for issue, ranges in _issues(nodes, {}):
        for operand in issue.operands:
            memory = hw.memory(operand.memory)
            if memory.kind is MemoryKind.MANAGED:
                end = min(_end(issue, operand, ranges, hw), memory.size_bytes)
                reached[memory.name] = max(reached.get(memory.name, 0), end)
    return {name: -(-end // ALIGN_BYTES) * ALIGN_BYTES for name, end in reached.items()}


def _issues(nodes: tuple[CNode, ...], ranges: Ranges) -> Iterator[tuple[Issue, Ranges]]:
    for node in nodes:
        match node:
            case CLoop(name, first, _, body):
                yield from _issues(body, {**ranges, name: (first, node.limit - 1)})
            case CRegion(body, loops):
                cores = {loop.name: (0, loop.modulo - 1) for loop in loops}
                yield from _issues(body, {**ranges, **cores})
            case CIf(_, body) | CShare(_, _, body) | CTurn(_, _, _, body):
                yield from _issues(body, ranges)
            case CCall(issue):
                yield issue, ranges
            case CHint():
                pass  # for caches


def _end(issue: Issue, operand: Operand, ranges: Ranges, hw: Hardware) -> int:
    """One more than the last byte: of whole calls, since the text of a shorter one may touch as
    much."""
    instruction = hw.instruction(issue.instruction)
    _, last = operand.address.offset.interval(ranges)
    last += sum((r.modulo - 1) * r.stride_bytes for r in operand.address.rotations)
    number = issue.operands.index(operand)
    last += sum((r.span.limit - 1) * max(r.strides_bytes[number], 0) for r in issue.repeats)
    buffer = instruction.semantics.buffer(operand.name)
    for extent, stride in zip(buffer.shape, operand.strides_bytes, strict=True):
        last += (extent - 1) * max(stride, 0)
    return last + size_bytes(buffer.dtype)
