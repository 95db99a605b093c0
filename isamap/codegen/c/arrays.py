"""Arrays of bytes that a generated function keeps managed memories in.

In: its nodes, the machine. Out: how many bytes of each memory its calls reach, the text of static
arrays. Not its job: registers that are variables, buffers of the caller (`parameters`).

A static array is no larger than what is used of the memory: all of it is cleared when a thread
first runs. A large one is put on large pages, where the system has them and says yes; nothing but
time depends on it.
"""

from collections.abc import Mapping

from isamap.hwdesc import Hardware, MemoryKind

from .nodes import CNode
from .reach import calls_within, whole_reach

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


def declare_static(arrays: Mapping[str, int]) -> list[str]:
    """Lines before the function, for memories with so many bytes."""
    lines = []
    if any(count >= LARGE_BYTES for count in arrays.values()):
        lines += [*LARGE_PAGES.splitlines(), ""]
    for memory, count in arrays.items():
        array = f"{memory}_array[{count}]"
        lines.append(f"static _Thread_local _Alignas({ALIGN_BYTES}) uint8_t {array};")
        if count >= LARGE_BYTES:
            lines.append(f"static _Thread_local int {memory}_is_placed;")
        lines.append("")
    return lines


def place_static(memory: str, count: int, suffix: str = "") -> list[str]:
    """Lines at its begin, in each thread; `count`: of bytes, `suffix`: of the pointer's name. The
    compiler is kept from knowing where the pointer comes from: it would call the C library for a
    thread's array in inner loops, which costs all vector registers each time."""
    name = memory + suffix
    lines = [f"uint8_t *{name} = {memory}_array;", f'__asm__("" : "+r"({name}));']
    if count >= LARGE_BYTES:
        call = f"isamap_large_pages({name}, {count})"
        lines.append(f"if (!{memory}_is_placed) {call}, {memory}_is_placed = 1;")
    return lines


def reached_bytes(nodes: tuple[CNode, ...], hw: Hardware) -> dict[str, int]:
    """Of each managed memory that calls read or write, the bytes up to the last one they reach, no
    more than it has."""
    reached: dict[str, int] = {}
    for issue, ranges in calls_within(nodes, {}):
        semantics = hw.instruction(issue.instruction).semantics
        for operand in issue.operands:
            memory = hw.memory(operand.memory)
            if memory.kind is MemoryKind.MANAGED:
                _, address = operand.address.interval(ranges)
                end = address + whole_reach(operand, semantics)[1] + 1
                reached[memory.name] = max(reached.get(memory.name, 0), end)
    return {
        name: -(-min(end, hw.memory(name).size_bytes) // ALIGN_BYTES) * ALIGN_BYTES
        for name, end in reached.items()
    }
