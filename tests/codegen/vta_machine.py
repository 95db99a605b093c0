"""VTA at the level of bits: a simulator that knows only the published instruction formats.

Written from the description of the machine (tvm-vta hw_spec.h: memories, 128-bit instructions,
micro-ops, queues and tokens). It shares nothing with isamap: no spec, no emulator, no program.
"""

import random

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
    """The machine around a byte image; on-chip memories begin with garbage."""

    def __init__(self, dram, seed=0):
        self.dram = dram
        self.random = random.Random(seed)
        noise = np.random.default_rng(seed)
        self.uop = noise.integers(0, 1 << 32, DEPTH[UOP], dtype=np.uint64)
        self.wgt = noise.integers(-128, 128, (DEPTH[WGT], 16, 16)).astype(np.int8)
        self.inp = noise.integers(-128, 128, (DEPTH[INP], 16)).astype(np.int8)
        self.acc = noise.integers(-(2**31), 2**31, (DEPTH[ACC], 16)).astype(np.int32)
        self.out = noise.integers(-128, 128, (DEPTH[OUT], 16)).astype(np.int8)

    def run(self, program):
        """Executes a stream of instructions; queues overtake each other at random."""
        queues = {name: [] for name in QUEUES}
        for start in range(0, len(program), 16):
            word = int.from_bytes(program[start : start + 16], "little")
            queues[self.queue_of(word)].append(word)
        tokens = {}
        while True:
            ready = [q for q in QUEUES if queues[q] and self.may_start(queues[q][0], q, tokens)]
            assert ready, f"deadlock with {[len(queues[q]) for q in QUEUES]} left, tokens {tokens}"
            name = self.random.choice(ready)
            word = queues[name].pop(0)
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
        for row in range(-top, rows + bottom if rows else 0):
            for column in range(-left, columns + right):
                inside = 0 <= row < rows and 0 <= column < columns
                first = (dram + row * stride + column) * size
                if inside:
                    assert first + size <= len(self.dram), "outside the image"
                if is_load:
                    data = self.dram[first : first + size] if inside else bytes(size)
                    self.write(memory, sram, bytes(data))
                else:
                    self.dram[first : first + size] = self.out[sram].tobytes()
                sram += 1

    def write(self, memory, index, data):
        if memory == UOP:
            self.uop[index] = int.from_bytes(data, "little")
        elif memory == WGT:
            self.wgt[index] = np.frombuffer(data, np.int8).reshape(16, 16)
        elif memory == INP:
            self.inp[index] = np.frombuffer(data, np.int8)
        elif memory == ACC:
            self.acc[index] = np.frombuffer(data, np.int32)
        elif memory == ACC_8BIT:
            self.acc[index] = np.frombuffer(data, np.int8)
        else:
            raise AssertionError(f"load into memory {memory}")

    def compute(self, word, opcode):
        high = word >> 64
        reset, first, end = bits(word, 7, 7), bits(word, 8, 20), bits(word, 21, 34)
        outer, inner = bits(word, 35, 48), bits(word, 49, 62)
        steps = [(bits(high, 0, 10), bits(high, 11, 21)), (bits(high, 22, 32), bits(high, 33, 43))]
        steps.append((bits(high, 44, 53), bits(high, 54, 63)) if opcode == GEMM else (0, 0))
        for i in range(outer):
            for j in range(inner):
                for number in range(first, end):
                    uop = int(self.uop[number])
                    fields = (bits(uop, 0, 10), bits(uop, 11, 21), bits(uop, 22, 31))
                    dst, src, wgt = (f + i * a + j * b for f, (a, b) in zip(fields, steps))
                    if reset:
                        self.acc[dst] = 0
                    elif opcode == GEMM:
                        product = self.wgt[wgt].astype(np.int32) @ self.inp[src].astype(np.int32)
                        self.acc[dst] += product
                    else:
                        self.acc[dst] = self.alu(high, self.acc[dst], self.acc[src])
                    self.out[dst] = self.acc[dst].astype(np.int8)

    def alu(self, high, a, b):
        op, use_immediate, immediate = bits(high, 44, 46), bits(high, 47, 47), bits(high, 48, 63)
        if use_immediate:
            value = immediate - (1 << 16) if immediate >> 15 else immediate
            b = np.full(16, value, np.int32)
        if op == 0:
            return np.minimum(a, b)
        if op == 1:
            return np.maximum(a, b)
        if op == 2:
            return a + b
        assert op == 3, f"ALU operation {op}"
        return np.where(b >= 0, a >> np.maximum(b, 0), a << np.maximum(-b, 0)).astype(np.int32)
