"""What a call in Python touches: granules, bytes, ports.

In: a Bound program, one Step after the other. Out: numbers of granules, bytes by region, ports and
for how long. Not its job: when (`python_timing`).

Calls differ by their addresses and cores most of the time, seldom by their extents: what extents
decide is found once.
"""

import numpy as np

from .bind import Bound
from .cores import touched_copies
from .python_walk import Step
from .region import Region

Place = tuple[int, int]  # number of a unit, port or channel, and which copy of it
_Key = tuple[int, tuple[int, ...]]  # number of a call, extents
_Granules = tuple[np.ndarray, np.ndarray]


class Touched:
    """What the calls of a program touch."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self._sizes: dict[_Key, tuple[int, ...]] = {}
        self._needs: dict[tuple[_Key, int], tuple[tuple[Place, int], ...]] = {}
        self._granules: dict[tuple[_Key, int, int, int], _Granules] = {}

    def sizes(self, step: Step) -> tuple[int, ...]:
        """Bytes by region."""
        key = _key(step)
        if key not in self._sizes:
            self._sizes[key] = tuple(r.num_bytes(step.extents) for r in step.call.regions)
        return self._sizes[key]

    def port_needs(self, step: Step) -> tuple[tuple[Place, int], ...]:
        """Every port that the call uses, and for how long."""
        key = _key(step), step.core
        if key not in self._needs:
            self._needs[key] = self._find_port_needs(step)
        return self._needs[key]

    def _find_port_needs(self, step: Step) -> tuple[tuple[Place, int], ...]:
        bound, sizes = self.bound, self.sizes(step)
        needs: list[tuple[Place, int]] = []
        for use in step.call.ports:
            total = sum(sizes[region] for region in use.regions)
            port = bound.ports[use.port]
            length = -(-total * port.rate.denominator // port.rate.numerator)
            copies = touched_copies(bound.hardware, port.memory, step.core, step.call.site.reach)
            needs += [((use.port, copy), length) for copy in copies]
        return tuple(needs)

    def granules(self, step: Step, position: int) -> _Granules:
        """Numbers of all granules that a region (by its number) touches, in every copy that the
        call acts on, and how long after the call's start it does so; not to be changed."""
        region = step.call.regions[position]
        granule = self.bound.extent(region.memory).granule_bytes
        first, rest = divmod(step.addresses[region.operand], granule)
        key = _key(step), position, step.core, rest
        if key not in self._granules:
            self._granules[key] = _find_granules(self.bound, step, region, rest)
        where, after = self._granules[key]
        return where + first, after


def _key(step: Step) -> _Key:
    return step.call.number, tuple(step.extents.values())


def _find_granules(bound: Bound, step: Step, region: Region, address: int) -> _Granules:
    """As if the operand were at `address`."""
    granule = bound.extent(region.memory).granule_bytes
    offsets = np.arange(0, region.item_bytes, 1)
    apart = step.call.stream_dim(region)
    for dim in region.all_dims:
        if dim is not apart:
            steps = np.arange(dim.count(step.extents)) * dim.stride_bytes
            offsets = (steps[:, None] + offsets).ravel()
    size = bound.extent(region.memory).size_bytes
    reach = step.call.site.reach if region.is_written else (0,)
    copies = touched_copies(bound.hardware, region.memory, step.core, reach)
    offsets = (np.array(copies)[:, None] * size + offsets).ravel()
    offsets += address + region.start_bytes
    rounds = 1 if apart is None else apart.count(step.extents)
    stride = 0 if apart is None else apart.stride_bytes
    rows = [np.unique((offsets + y * stride) // granule) for y in range(rounds)]
    after = [np.full(row.shape, y * step.call.stream_cycles) for y, row in enumerate(rows)]
    return np.concatenate(rows), np.concatenate(after)
