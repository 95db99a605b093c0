"""Where every buffer of a program of several tasks lies in the external memory, and how.

In: the whole kernel, its tasks with the layouts that they ask for. Out: addresses, placements, and
the layout that each buffer has between tasks. Not its job: moving data from one layout to another.

A buffer that only one task touches lies as that task wants it. Inputs lie in as many layouts as
tasks ask for. Everything else has one home: the layout that all tasks agree on, else row-major, as
where a task would write into the border that another one reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

from isamap.ir import (
    Kernel,
    Literal,
    Role,
    Statement,
    covers,
    covers_together,
    may_distribute,
    may_swap,
)
from isamap.program import Layout, Placement, natural_layout
from isamap.scheduler import EXTERNAL_ALIGN_BYTES, same_layout

from .chip_homes import ChipHome
from .host_calls import Home, is_simple
from .piece import Piece
from .spoiled_borders import spoiled_borders

NO_HOMES: Mapping[str, ChipHome] = MappingProxyType({})


class MemoryMap:
    """Addresses of all buffers in all layouts, one after another; `on_chip`: those of them that
    are not in the external memory."""

    def __init__(
        self,
        kernel: Kernel,
        pieces: tuple[Piece, ...],
        on_chip: Mapping[str, ChipHome] = NO_HOMES,
    ) -> None:
        self.kernel = kernel
        self.pieces = pieces
        self.on_chip = on_chip
        self.spoiled = spoiled_borders(pieces)
        self.end = 0
        self.homes: dict[str, Home] = {}
        self.extra: dict[tuple[str, Layout], int] = {}  # further layouts: inputs, copies
        for buffer in kernel.buffers:
            is_seen = buffer.role.is_returned
            if buffer.name in on_chip:
                continue
            if is_seen or any(buffer.name in piece.task.touched for piece in pieces):
                layout = self._home_layout(buffer.name)
                self.homes[buffer.name] = Home(self._room(layout), layout)
        for piece in pieces:
            for plan in piece.plans:
                for _, name, external in plan.ends:
                    if external.home is None:
                        self._find(name, external.layout)

    def address(self, buffer: str, layout: Layout) -> int:
        """Where the buffer lies in that layout."""
        if buffer in self.on_chip:
            return self.on_chip[buffer].address
        home = self.homes[buffer]
        return home.address if same_layout(home.layout, layout) else self.extra[buffer, layout]

    def is_home(self, buffer: str, layout: Layout) -> bool:
        """Is that the layout in which tasks hand the buffer on?"""
        is_input = self.kernel.buffer(buffer).role is Role.IN
        if is_input or buffer in self.on_chip or self._has_own_ends(buffer):
            return True
        return same_layout(self.homes[buffer].layout, layout)

    def inputs(self) -> tuple[Placement, ...]:
        """What is filled before the run: inputs, and what must begin with zeros."""
        found = []
        for name, home in self.homes.items():
            role = self.kernel.buffer(name).role
            if role is Role.IN:
                found += [Placement(name, home.address, home.layout)] if self._is_used(name) else []
                found += [Placement(n, a, x) for (n, x), a in self.extra.items() if n == name]
            elif self._has_own_ends(name):
                inlet = self._own_inlet(name)
                if inlet is not None and self._begins(name):
                    found.append(Placement(name, self.address(name, inlet), inlet))
                is_same = inlet is not None and same_layout(inlet, home.layout)
                if role is Role.INOUT and not is_same and not self._is_covered(name):
                    found.append(Placement(name, home.address, home.layout))
            elif self._begins(name):
                found.append(Placement(name, home.address, home.layout))
            if role is not Role.IN:
                found += self._bordered(name, found)
        return tuple(found)

    def _bordered(self, name: str, known: list[Placement]) -> list[Placement]:
        """Where copies of a buffer lie whose border is not zero: nobody else writes it."""
        copies = [Placement(n, a, x) for (n, x), a in self.extra.items() if n == name and x.padding]
        return [place for place in copies if place not in known]

    def outputs(self) -> tuple[Placement, ...]:
        """What is read after the run."""
        return tuple(
            Placement(name, home.address, home.layout)
            for name, home in self.homes.items()
            if self.kernel.buffer(name).role.is_returned
        )

    def scratch(self) -> tuple[Placement, ...]:
        """All other room."""
        taken = {(p.buffer, p.address) for p in (*self.inputs(), *self.outputs())}
        everything = [(name, home.address, home.layout) for name, home in self.homes.items()]
        everything += [(name, address, layout) for (name, layout), address in self.extra.items()]
        return tuple(Placement(*row) for row in everything if (row[0], row[1]) not in taken)

    def _home_layout(self, name: str) -> Layout:
        buffer = self.kernel.buffer(name)
        natural = natural_layout(buffer.dtype, buffer.shape)
        demands = list(self._demands(name))
        if self._has_own_ends(name):
            outlets = [layout for is_outlet, layout in demands if is_outlet]
            return outlets[0] if outlets else demands[0][1]
        agreed = [layout for _, layout in demands]
        on_host = any(
            piece.schedule is None and name in piece.task.touched for piece in self.pieces
        )
        is_input = buffer.role is Role.IN
        if not agreed or name in self.spoiled or (is_input and on_host):
            return natural
        if is_input:
            return agreed[0]  # other tasks get further layouts
        is_common = all(same_layout(layout, agreed[0]) for layout in agreed)
        return agreed[0] if is_common and (is_simple(agreed[0]) or not on_host) else natural

    def _demands(self, name: str) -> Iterator[tuple[bool, Layout]]:
        """(is it an outlet, layout) of every operand on the buffer."""
        for piece in self.pieces:
            for plan in piece.plans:
                for is_outlet, buffer, external in plan.ends:
                    if buffer == name:
                        yield is_outlet, external.layout

    def _has_own_ends(self, name: str) -> bool:
        """Does a single scheduled operand touch the buffer, so that inlet and outlet may differ?"""
        touching = [p for p in self.pieces if name in p.task.touched]
        if len(touching) != 1 or touching[0].schedule is None:
            return False
        plans = touching[0].plans
        return sum(any(end[1] == name for end in plan.ends) for plan in plans) == 1

    def _own_inlet(self, name: str) -> Layout | None:
        return next((layout for is_outlet, layout in self._demands(name) if not is_outlet), None)

    def _is_used(self, name: str) -> bool:
        """Does anyone read an input in its home layout?"""
        home = self.homes[name].layout
        is_asked = any(same_layout(layout, home) for _, layout in self._demands(name))
        return is_asked or any(
            piece.schedule is None and name in piece.task.touched for piece in self.pieces
        )

    def _begins(self, name: str) -> bool:
        """Does the buffer hold something before the run: the caller's data, or zeros that are
        read, be it around its elements?"""
        role = self.kernel.buffer(name).role
        is_padded = _has_padding(self.homes[name].layout)
        return role is Role.INOUT or is_padded or not self.is_written_first(name)

    def _is_covered(self, name: str) -> bool:
        """Does one statement write every element, so that nothing of the caller's stays?"""
        statements = (s for piece in self.pieces for s in piece.task.statements)
        buffer = self.kernel.buffer(name)
        return any(s.target.buffer == name and covers(s, buffer) for s in statements)

    def is_written_first(self, name: str) -> bool:
        """Do tasks that do not read the buffer write each element of it before any other one uses
        it?"""
        writers = (self._assignment(position, name) for position in range(len(self.pieces)))
        return covers_together((s for s in writers if s is not None), self.kernel.buffer(name))

    def _assignment(self, position: int, name: str) -> Statement | None:
        """What a task begins with on the buffer, if nobody uses these elements before."""
        piece = self.pieces[position]
        statements = piece.task.statements
        statement = next((s for s in statements if s.target.buffer == name), None)
        if statement is None or any(
            access.buffer == name for s in statements for access in s.reads
        ):
            return None
        is_set = statement.update == "=" or self._begins_at_zero(piece, name)
        return statement if is_set and self._comes_first(statement, position) else None

    @staticmethod
    def _begins_at_zero(piece: Piece, name: str) -> bool:
        """Does a schedule sum up from zeros that it makes itself, not from any that it fetches?"""
        if piece.schedule is None or piece.task.kernel.buffer(name).role is not Role.OUT:
            return False
        ends = (end for plan in piece.plans for end in plan.ends)
        return not any(buffer == name and not is_outlet for is_outlet, buffer, _ in ends)

    def _comes_first(self, writer: Statement, position: int) -> bool:
        """Does no other statement use an element before it is written?

        Loops over which the target does not move write all of it again.
        """
        held = self.pieces[position].task.held
        alone = replace(writer, value=Literal(0))  # what it reads comes from elsewhere
        for number, piece in enumerate(self.pieces):
            for other in piece.task.statements:
                if writer.target.buffer not in other.touched:
                    continue
                common = [n for n in held if n in [loop.name for loop in other.loops]]
                moving = tuple(n for n in common if writer.target.moves_with(n))
                resting = [n for n in common if n not in moving]
                if number < position and not may_swap(alone, other, may_reassociate=False):
                    return False
                if other is not writer and not may_distribute(alone, other, moving, resting):
                    return False
        return True

    def _find(self, name: str, layout: Layout) -> None:
        if not same_layout(self.homes[name].layout, layout) and (name, layout) not in self.extra:
            self.extra[name, layout] = self._room(layout)

    def _room(self, layout: Layout) -> int:
        address = self.end
        last = address + layout.size_bytes
        self.end = -(-last // EXTERNAL_ALIGN_BYTES) * EXTERNAL_ALIGN_BYTES
        return address


def _has_padding(layout: Layout) -> bool:
    """Are there places without an element?"""
    return prod(axis.size for axis in layout.axes) > prod(layout.shape)
