"""OpenTPU cycle by cycle: a simulator that knows only the 14-byte instructions and their distances.

Written from the description of the machine (UCSBarchlab/OpenTPU: README, architecture notes). It
shares nothing with isamap: no spec, no emulator, no program. Nothing is interlocked: every row is
read and written in its own cycle, so an instruction that comes too early sees old data.
"""

from collections import defaultdict, deque

import numpy as np

N = 16
NOP, WHM, RW, MMC, ACT, _, RHM, HLT = range(8)
SWITCH, OVERWRITE, RELU = 1, 4, 8
TILE_CYCLES = N * N // 64
FIFO_DEPTH = 4


class OpenTpu:
    """The machine around one image, at address `base`, that serves as host memory and as weight
    DRAM."""

    def __init__(self, image, base=0, seed=0):
        noise = np.random.default_rng(seed)
        self.image, self.base = image, base
        self.buffer = noise.integers(-128, 128, (4096, N)).astype(np.int8)
        self.sums = noise.integers(-(2**31), 2**31, (4096, N)).astype(np.int32)
        self.tile = noise.integers(-128, 128, (N, N)).astype(np.int8)
        self.fifo = deque()
        self.last = {}  # opcode: (cycle, length)
        self.last_switch = -1000
        self.reads, self.writes = defaultdict(list), defaultdict(list)

    def run(self, program):
        """One instruction per cycle, until HLT."""
        for cycle in range(len(program) // 14):
            record = program[14 * cycle : 14 * cycle + 14]
            opcode, flags, length = record[:3]
            address = int.from_bytes(record[3:11], "big")
            row = int.from_bytes(record[11:], "big")
            if opcode == HLT:
                assert not any(c >= cycle for c in (*self.reads, *self.writes)), "HLT comes early"
                assert len(program) == 14 * cycle + 14, "something follows HLT"
                return
            if opcode != NOP:
                self.start(cycle, opcode, flags, length, address, row)
            for actions in (self.reads, self.writes):  # what is read was there before this cycle
                for action in actions.pop(cycle, ()):
                    action()
        raise AssertionError("no HLT")

    def start(self, cycle, opcode, flags, length, address, row):
        before, rows = self.last.get(opcode, (-1000, 0))
        assert cycle >= before + (TILE_CYCLES if opcode == RW else rows), "the unit is busy"
        self.last[opcode] = (cycle, length)
        if opcode == RW:
            assert len(self.fifo) < FIFO_DEPTH, "the weight FIFO is full"
            first = address * N * N - self.base
            assert 0 <= first <= len(self.image) - N * N, "outside the image"
            data = bytes(self.image[first : first + N * N])
            self.fifo.append((cycle, np.frombuffer(data, np.int8).reshape(N, N)))
        elif opcode == MMC:
            self.multiply(cycle, flags, length, address, row, before, rows)
        else:
            for r in range(length):
                self.move(cycle + r, opcode, flags, address + r, row + r)

    def multiply(self, cycle, flags, length, address, row, before, rows):
        assert cycle >= before + rows + 1, "MMC after MMC"
        if flags & SWITCH:
            loaded, self.tile = self.fifo.popleft()
            assert cycle >= loaded + TILE_CYCLES + N + 5, "the tile is not there yet"
            assert cycle >= self.last_switch + 2 * N + 3, "the array still shifts in a tile"
            self.last_switch = cycle
        tile = self.tile.astype(np.int32)
        for r in range(length):
            self.reads[cycle + r].append(self.product(cycle + r, flags, address + r, row + r, tile))

    def product(self, cycle, flags, place, row, tile):
        def read():
            result = self.buffer[row].astype(np.int32) @ tile

            def write():
                old = 0 if flags & OVERWRITE else self.sums[place]
                self.sums[place] = old + result

            self.writes[cycle + 2 * N].append(write)

        return read

    def move(self, cycle, opcode, flags, address, row):
        """One row between host, unified buffer and sums: read and written in one cycle."""
        first = address * N - self.base
        place = slice(first, first + N)
        assert opcode == ACT or 0 <= first <= len(self.image) - N, "outside the image"

        def read():
            if opcode == RHM:
                value = np.frombuffer(bytes(self.image[place]), np.int8)
            elif opcode == WHM:
                value = self.buffer[row].copy()
            else:
                assert opcode == ACT
                value = self.sums[address]
                value = (np.maximum(value, 0) if flags & RELU else value).astype(np.int8)

            def write():
                if opcode == WHM:
                    self.image[place] = value.tobytes()
                else:
                    self.buffer[row] = value

            self.writes[cycle].append(write)

        self.reads[cycle].append(read)
