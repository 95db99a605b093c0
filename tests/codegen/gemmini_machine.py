"""Gemmini at the level of its commands: a simulator that knows only (funct, rs1, rs2).

Written from the description of the machine (ucb-bar/gemmini README and C library: command fields,
local addresses, data flows). It shares nothing with isamap: no spec, no emulator, no program.
"""

import struct

import numpy as np

DIM = 16
NONE = (1 << 32) - 1
CONFIG, MVIN2, MVIN, MVOUT, COMPUTE_PRELOADED, COMPUTE_ACCUMULATED, PRELOAD = range(7)
FLUSH, MVIN3 = 7, 14
MOVES = {MVIN: 0, MVIN2: 1, MVIN3: 2}
WEIGHT_STATIONARY = 1


def bits(word, first, last):
    """Bits first .. last of an integer."""
    return (word >> first) & ((1 << (last - first + 1)) - 1)


def as_float(word):
    """The float32 with these bits."""
    return np.frombuffer(struct.pack("<I", word), np.float32)[0]


class Gemmini:
    """The accelerator and a memory that begins at `base`; on-chip memories begin with garbage."""

    def __init__(self, dram, base, seed=0):
        noise = np.random.default_rng(seed)
        self.dram, self.base = dram, base
        self.scratchpad = noise.integers(-128, 128, (4 * 4096, DIM)).astype(np.int8)
        self.accumulator = noise.integers(-(2**31), 2**31, (1024, DIM)).astype(np.int32)
        self.weights = noise.integers(-128, 128, (DIM, DIM)).astype(np.int32)
        self.partial = np.zeros((DIM, DIM), np.int32)
        self.loads = [None, None, None]
        self.execute = self.store = self.preload = None
        self.num_configs = self.num_products = self.num_results = 0

    def run(self, commands):
        """Commands in order: hazards are the hardware's business, so order is meaning."""
        for start in range(0, len(commands), 24):
            funct, rs1, rs2 = struct.unpack("<QQQ", commands[start : start + 24])
            if funct == CONFIG:
                self.configure(rs1, rs2)
                self.num_configs += 1
            elif funct in MOVES:
                self.move_in(self.loads[MOVES[funct]], rs1, rs2)
            elif funct == MVOUT:
                self.move_out(rs1, rs2)
            elif funct == PRELOAD:
                self.preload = (rs1, rs2)
            elif funct in (COMPUTE_PRELOADED, COMPUTE_ACCUMULATED):
                self.compute(funct, rs1, rs2)
            else:
                assert funct == FLUSH, f"funct {funct}"

    def configure(self, rs1, rs2):
        kind = bits(rs1, 0, 1)
        if kind == 0:
            assert as_float(bits(rs1, 32, 63)) == 1.0
            self.execute = {
                "flow": bits(rs1, 2, 2),
                "transpose": (bits(rs1, 8, 8), bits(rs1, 9, 9)),
                "a_stride": bits(rs1, 16, 31),
                "c_stride": bits(rs2, 48, 63),
            }
        elif kind == 1:
            assert as_float(bits(rs1, 32, 63)) == 1.0 and bits(rs1, 8, 15) == 1
            self.loads[bits(rs1, 3, 4)] = {
                "from_i8": bits(rs1, 2, 2), "block": bits(rs1, 16, 31), "stride": rs2,
            }  # fmt: skip
        else:
            assert kind == 2 and bits(rs1, 4, 63) == 0, "no pooling"
            self.store = {
                "activation": bits(rs1, 2, 3),
                "stride": bits(rs2, 0, 31),
                "scale": as_float(bits(rs2, 32, 63)),
            }

    def read(self, address, size):
        start = address - self.base
        assert start >= 0 and start + size <= len(self.dram), f"{address:#x} is outside"
        return bytes(self.dram[start : start + size])

    def move_in(self, config, address, local):
        row, columns, rows = bits(local, 0, 31), bits(local, 32, 47), bits(local, 48, 63)
        is_wide = bits(row, 31, 31)
        assert rows <= DIM and columns <= (DIM if is_wide else 4 * DIM) and not config["from_i8"]
        size = 4 if is_wide else 1
        for r in range(rows):
            data = self.read(address + r * config["stride"], columns * size)
            values = np.frombuffer(data, np.int32 if is_wide else np.int8)
            for block in range(0, columns, DIM):
                place = bits(row, 0, 28) + r + block // DIM * config["block"]
                part = values[block : block + DIM]
                whole = np.zeros(DIM, values.dtype)
                whole[: len(part)] = part
                if not is_wide:
                    self.scratchpad[place] = whole
                elif bits(row, 30, 30):
                    self.accumulator[place] += whole
                else:
                    self.accumulator[place] = whole

    def move_out(self, address, local):
        row, columns, rows = bits(local, 0, 31), bits(local, 32, 47), bits(local, 48, 63)
        assert rows <= DIM and columns <= DIM
        for r in range(rows):
            place = bits(row, 0, 28) + r
            if not bits(row, 31, 31):
                values = self.scratchpad[place]
            elif bits(row, 29, 29):
                values = self.accumulator[place]
            else:
                values = self.scaled(self.accumulator[place])
            data = values[:columns].tobytes()
            start = address + r * self.store["stride"] - self.base
            assert start >= 0 and start + len(data) <= len(self.dram)
            self.dram[start : start + len(data)] = data

    def scaled(self, row):
        assert self.store["activation"] in (0, 1)
        if self.store["activation"] == 1:
            row = np.maximum(row, 0)
        product = row.astype(np.float32) * self.store["scale"]
        return np.clip(np.rint(product), -128, 127).astype(np.int8)

    def operand(self, word, stride=1, transposed=False):
        """The 16 x 16 tile at an operand; elements outside its rows and columns are zero."""
        row, columns, rows = bits(word, 0, 31), bits(word, 32, 47), bits(word, 48, 63)
        tile = np.zeros((DIM, DIM), np.int32)
        if row == NONE:
            return tile
        assert rows <= DIM and columns <= DIM
        memory = self.accumulator if bits(row, 31, 31) else self.scratchpad
        lines = [memory[bits(row, 0, 28) + r * stride] for r in range(DIM)]
        values = np.array(lines, np.int32)
        values = values.T if transposed else values
        tile[:rows, :columns] = values[:rows, :columns]
        return tile

    def compute(self, funct, rs1, rs2):
        by_a, by_b = self.execute["transpose"]
        is_new = funct == COMPUTE_PRELOADED
        a = self.operand(rs1, self.execute["a_stride"], by_a)
        if self.execute["flow"] == WEIGHT_STATIONARY:
            assert not (by_a and by_b)
            if is_new:
                self.weights = self.operand(self.preload[0], 1, by_b)
            result = a @ self.weights + self.operand(rs2)
        else:
            assert by_a or not by_b
            if is_new:
                self.partial = self.operand(self.preload[0])
            self.partial = self.partial + a @ self.operand(rs2, 1, by_b)
            result = self.partial
        self.num_products += 1
        self.write(self.preload[1], result)

    def write(self, word, result):
        row, columns, rows = bits(word, 0, 31), bits(word, 32, 47), bits(word, 48, 63)
        if row == NONE:
            return
        assert bits(row, 31, 31), "results go to the accumulator here"
        self.num_results += 1
        for r in range(rows):
            place = bits(row, 0, 28) + r * self.execute["c_stride"]
            if bits(row, 30, 30):
                self.accumulator[place, :columns] += result[r, :columns]
            else:
                self.accumulator[place, :columns] = result[r, :columns]
