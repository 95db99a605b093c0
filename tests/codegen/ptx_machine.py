"""One warp that executes the little PTX of tensor-core programs.

Written from the PTX ISA manual (ldmatrix, mma.m16n8k32, cp.async: which lane holds what). It shares
nothing with isamap. Not its job: timing, other warps, whether ptxas likes the text.
"""

import re

import numpy as np

LANES = np.arange(32)
GROUP, MEMBER = LANES // 4, LANES % 4
SHARED_BYTES = 56 * 1024


class Warp:
    """32 lanes, shared memory that begins with garbage, and global memory around an image."""

    def __init__(self, image, seed=0):
        noise = np.random.default_rng(seed)
        self.memory = np.frombuffer(image, np.uint8)
        self.shared = noise.integers(0, 256, SHARED_BYTES).astype(np.uint8)
        self.values = {}

    def run(self, text):
        """The statements of a kernel in order; all lanes together."""
        body = text[text.index("{") + 1 : text.rindex("}")]
        for statement in re.sub(r"//.*", "", body).split(";"):
            words = statement.split(None, 1)
            if words and not words[0].startswith("."):
                self.step(*words)

    def step(self, name, rest=""):
        if name.startswith("@"):
            lanes = self.values[name[1:]]
            name, rest = rest.split(None, 1)
            assert name == "cp.async.cg.shared.global"
            self.copy_async(rest, lanes)
            return
        arguments = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)
        kind = name.split(".")[0]
        if name in ("ret", "cp.async.wait_all", "bar.warp.sync"):
            return
        if name.startswith("ld.global"):
            self.write(arguments[0], self.pairs(self.memory, self.address(arguments[1])))
        elif name.startswith("st.global"):
            places = self.address(arguments[0])
            for number, register in enumerate(self.names(arguments[1])):
                self.put(self.memory, places + 4 * number, self.value(register))
        elif kind == "ldmatrix":
            self.load_matrix(self.names(arguments[0]), self.address(arguments[1]))
        elif kind == "mma":
            assert name == "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
            self.multiply(*map(self.names, arguments))
        else:
            self.values[arguments[0]] = self.scalar(name, arguments[1:])

    def scalar(self, name, arguments):
        """An instruction that each lane does for itself."""
        if name == "ld.param.u64":
            return np.zeros(32, np.int64)
        a, *others = map(self.value, arguments)
        if name in ("cvta.to.global.u64", "mov.u32", "mov.b32"):
            return a
        if name == "shr.u32":
            return a >> others[0]
        if name == "and.b32":
            return a & others[0]
        if name == "setp.lt.u32":
            return a < others[0]
        assert name in ("mad.wide.u32", "mad.lo.u32"), name
        return a * others[0] + others[1]

    def value(self, text):
        if text == "%tid.x":
            return LANES
        if text == "shared_memory":
            return np.zeros(32, np.int64)
        return np.full(32, int(text)) if text.isdigit() else self.values[text]

    def names(self, text):
        return [name.strip() for name in text.strip("{} ").split(",")]

    def address(self, text):
        register, offset = text.strip("[] ").split("+")
        return self.values[register.strip()] + int(offset)

    def pairs(self, memory, places):
        return [self.get(memory, places + 4 * number) for number in range(2)]

    def write(self, text, columns):
        for register, column in zip(self.names(text), columns, strict=True):
            self.values[register] = column

    def get(self, memory, places):
        raw = memory[places[:, None] + np.arange(4)]
        return np.ascontiguousarray(raw).view("<i4")[:, 0].astype(np.int64)

    def put(self, memory, places, values):
        memory[places[:, None] + np.arange(4)] = values.astype("<i4").view(np.uint8).reshape(32, 4)

    def copy_async(self, text, lanes):
        target, source, size = text.split(",")
        assert int(size) == 16
        span = np.arange(16)
        to, come = self.address(target)[lanes, None], self.address(source)[lanes, None]
        assert not (to % 16).any() and not (come % 16).any(), "16 bytes are aligned"
        self.shared[to + span] = self.memory[come + span]

    def load_matrix(self, registers, places):
        """Matrix n lies in rows of 16 bytes at the addresses of lanes 8n .. 8n + 7."""
        for number, register in enumerate(registers):
            rows = places[8 * number : 8 * number + 8]
            assert not (rows % 16).any()
            self.values[register] = self.get(self.shared, rows[GROUP] + 4 * MEMBER)

    def multiply(self, d, a, b, c):
        """D = A B + C: registers hold 4 bytes of a row (A) or column (B), or single sums."""
        left, right = np.zeros((16, 32), np.int64), np.zeros((32, 8), np.int64)
        for number, register in enumerate(a):
            rows, first = GROUP + 8 * (number % 2), 4 * MEMBER + 16 * (number // 2)
            left[rows[:, None], first[:, None] + np.arange(4)] = self.bytes_of(register)
        for number, register in enumerate(b):
            first = 4 * MEMBER + 16 * number
            right[first[:, None] + np.arange(4), GROUP[:, None]] = self.bytes_of(register)
        product = left @ right
        for number, (target, source) in enumerate(zip(d, c, strict=True)):
            part = product[GROUP + 8 * (number // 2), 2 * MEMBER + number % 2]
            total = (self.values[source] + part).astype(np.int32)
            self.values[target] = total.astype(np.int64)

    def bytes_of(self, register):
        return self.values[register].astype("<i4").view(np.int8).reshape(32, 4)
