"""VTA at the level of bits: a simulator that knows only the published instruction formats.

Written from the description of the machine (tvm-vta hw_spec.h: memories, 128-bit instructions,
micro-ops, queues and tokens). It shares nothing with isamap: no spec, no emulator, no program.
"""

import random
from collections import deque

import numpy as np

LOAD, STORE, GEMM, FINISH, ALU = range(5)
UOP, WGT, INP, ACC, OUT, ACC_8BIT = range(6)
ELEMENT_BYTES = {UOP: 4, WGT: 256, INP: 16, ACC: 64, OUT: 16, ACC_8BIT: 16}
DEPTH = {UOP: 8192, WGT: 1024, INP: 2048, ACC: 2048, OUT: 2048}
QUEUES = ("load", "compute", "store")


def bits(word, first, last):
    """Bits first .. last of an integer."""
    return (word >> first) & ((1 << (last - first + 1)) - 1)


class Vta:
    """The machine around a byte image at address `base`; on-chip memories begin with garbage."""

    def __init__(self, dram, base=0, seed=0):
        self.dram, self.base = np.frombuffer(dram, np.uint8), base
        self.random = random.Random(seed)
        noise = np.random.default_rng(seed)
        self.uop = noise.integers(0, 1 << 32, DEPTH[UOP], dtype=np.uint64)
        self.wgt = noise.integers(-128, 128, (DEPTH[WGT], 16, 16)).astype(np.int8)
        self.inp = noise.integers(-128, 128, (DEPTH[INP], 16)).astype(np.int8)
        self.acc = noise.integers(-(2**31), 2**31, (DEPTH[ACC], 16)).astype(np.int32)
        self.out = noise.integers(-128, 128, (DEPTH[OUT], 16)).astype(np.int8)

    def run(self, program):
        """Executes a stream of instructions; queues overtake each other at random."""
        queues = {name: deque() for name in QUEUES}
        for start in range(0, len(program), 16):
            word = int.from_bytes(program[start : start + 16], "little")
            queues[self.queue_of(word)].append(word)
        tokens = {}
        while True:
            ready = [q for q in QUEUES if queues[q] and self.may_start(queues[q][0], q, tokens)]
            assert ready, f"deadlock with {[len(queues[q]) for q in QUEUES]} left, tokens {tokens}"
            name = self.random.choice(ready)
            word = queues[name].popleft()
            for channel in self.pops(word, name):
                tokens[channel] -= 1
            if bits(word, 0, 2) == FINISH:
                assert not any(queues.values()), "FINISH loses what other queues still hold"
                assert not any(tokens.values()), f"tokens are left over: {tokens}"
                return
            self.execute(word)
            for channel in self.pushes(word, name):
                tokens[channel] = tokens.get(channel, 0) + 1

    def queue_of(self, word):
        opcode, memory = bits(word, 0, 2), bits(word, 7, 9)
        if opcode == STORE:
            return "store"
        return "load" if opcode == LOAD and memory in (INP, WGT) else "compute"

    def pops(self, word, name):
        before, after = self.neighbours(name)
        wanted = [(before, name)] * bits(word, 3, 3) + [(after, name)] * bits(word, 4, 4)
        assert all(None not in channel for channel in wanted), "a token from nowhere"
        return wanted

    def pushes(self, word, name):
        before, after = self.neighbours(name)
        wanted = [(name, before)] * bits(word, 5, 5) + [(name, after)] * bits(word, 6, 6)
        assert all(None not in channel for channel in wanted), "a token to nowhere"
        return wanted

    def neighbours(self, name):
        place = QUEUES.index(name)
        return (QUEUES[place - 1] if place else None), (QUEUES[place + 1] if place < 2 else None)

    def may_start(self, word, name, tokens):
        return all(tokens.get(channel, 0) > 0 for channel in self.pops(word, name))

    def execute(self, word):
        opcode = bits(word, 0, 2)
        if opcode in (LOAD, STORE):
            self.move(word, is_load=opcode == LOAD)
        elif opcode in (GEMM, ALU):
            self.compute(word, opcode)
        else:
            raise AssertionError(f"opcode {opcode}")

    def move(self, word, is_load):
        memory, sram, dram = bits(word, 7, 9), bits(word, 10, 25), bits(word, 26, 57)
        high = word >> 64
        rows, columns, stride = bits(high, 0, 15), bits(high, 16, 31), bits(high, 32, 47)
        top, bottom, left, right = (bits(high, 48 + 4 * n, 51 + 4 * n) for n in range(4))
        size = ELEMENT_BYTES[memory]
        if not is_load:
            assert memory == OUT and not (top or bottom or left or right)
        rows_at = np.arange(-top, rows + bottom)[:, None]
        columns_at = np.arange(-left, columns + right)[None, :]
        is_inside = (rows_at >= 0) & (rows_at < rows) & (columns_at >= 0) & (columns_at < columns)
        firsts = (dram + rows_at * stride + columns_at)[is_inside] * size - self.base
        assert not len(firsts) or firsts.min() >= 0, "below the image"
        assert not len(firsts) or firsts.max() + size <= len(self.dram), "behind the image"
        places = firsts[:, None] + np.arange(size)
        if is_load:
            data = np.zeros((is_inside.size, size), np.uint8)
            data[is_inside.reshape(-1)] = self.dram[places]
            self.write(memory, sram, data)
        else:
            self.dram[places] = self.out[sram : sram + len(places)].view(np.uint8)

    def write(self, memory, index, data):
        """Elements from `index` on; data: [elements, bytes]."""
        part = slice(index, index + len(data))
        assert part.stop <= DEPTH[ACC if memory == ACC_8BIT else memory], "behind the memory"
        if memory == UOP:
            self.uop[part] = data.view("<u4")[:, 0]
        elif memory == WGT:
            self.wgt[part] = data.view(np.int8).reshape(-1, 16, 16)
        elif memory == INP:
            self.inp[part] = data.view(np.int8)
        elif memory == ACC:
            self.acc[part] = data.view("<i4")
        elif memory == ACC_8BIT:
            self.acc[part] = data.view(np.int8)
        else:
            raise AssertionError(f"load into memory {memory}")

    def compute(self, word, opcode):
        high = word >> 64
        reset, first, end = bits(word, 7, 7), bits(word, 8, 20), bits(word, 21, 34)
        outer, inner = bits(word, 35, 48), bits(word, 49, 62)
        steps = [(bits(high, 0, 10), bits(high, 11, 21)), (bits(high, 22, 32), bits(high, 33, 43))]
        steps.append((bits(high, 44, 53), bits(high, 54, 63)) if opcode == GEMM else (0, 0))
        uops = self.uop[first:end].astype(np.int64)
        fields = (uops & 0x7FF, uops >> 11 & 0x7FF, uops >> 22 & 0x3FF)
        turns = np.indices((outer, inner)).reshape(2, -1, 1)
        dst, src, wgt = (
            (field + turns[0] * a + turns[1] * b).reshape(-1)
            for field, (a, b) in zip(fields, steps)
        )
        if reset:
            self.acc[dst] = 0
        elif opcode == GEMM:
            self.multiply(dst, src, wgt)
        elif len(set(dst.tolist())) == len(dst) and (bits(high, 47, 47) or (dst == src).all()):
            self.acc[dst] = self.alu(high, self.acc[dst], self.acc[src])
        else:  # one after another: results are read again
            for d, s in zip(dst, src):
                self.acc[d] = self.alu(high, self.acc[d], self.acc[s])
        self.out[dst] = self.acc[dst].astype(np.int8)

    def multiply(self, dst, src, wgt):
        """Products, those with the same weights at once; sums wrap, so their order is free."""
        order = np.argsort(wgt, kind="stable")
        dst, src, wgt = dst[order], src[order], wgt[order]
        firsts = np.flatnonzero(np.diff(wgt, prepend=-1))
        for first, end in zip(firsts, [*firsts[1:], len(wgt)]):
            inputs = self.inp[src[first:end]].astype(np.float32)  # 16 products: exact in 24 bits
            products = inputs @ self.wgt[wgt[first]].T.astype(np.float32)
            np.add.at(self.acc, dst[first:end], products.astype(np.int32))

    def alu(self, high, a, b):
        op, use_immediate, immediate = bits(high, 44, 46), bits(high, 47, 47), bits(high, 48, 63)
        if use_immediate:
            value = immediate - (1 << 16) if immediate >> 15 else immediate
            b = np.full(a.shape, value, np.int32)
        if op == 0:
            return np.minimum(a, b)
        if op == 1:
            return np.maximum(a, b)
        if op == 2:
            return a + b
        assert op == 3, f"ALU operation {op}"
        return np.where(b >= 0, a >> np.maximum(b, 0), a << np.maximum(-b, 0)).astype(np.int32)
