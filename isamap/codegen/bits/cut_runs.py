"""Cut a program into runs of the machine, with the host's work between them.

In: calls and host steps in program order. Out: parts in order; each run starts with no token and
ends with none, and its last call is the ending that waits for everyone. Not its job: tokens that do
not fit an instruction's flags (`spread_tokens`).

A run is a barrier: everything before it is done. So tokens that would pass between runs, or between
the machine and its host, are not needed and are left out on both sides.
"""

from collections.abc import Iterable
from dataclasses import replace

import networkx as nx

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, Synchronisation

from .call import Call, CallKind, HostStep, Part, Run
from .flatten import Item


def cut_runs(items: Iterable[Item], hw: Hardware) -> tuple[Part, ...]:
    """The parts of the program in order."""
    parts: list[list[Call] | HostStep] = []
    for item in items:
        if isinstance(item, HostStep):
            parts.append(item)
        elif not _is_host(item, hw):
            if not parts or isinstance(parts[-1], HostStep):
                parts.append([])
            run = parts[-1]
            assert isinstance(run, list)
            run.append(item)
    runs = [part for part in parts if isinstance(part, list)]
    if hw.synchronisation is Synchronisation.TOKENS:
        _drop_crossing_tokens(runs)
    result: list[Part] = []
    for part in parts:
        if isinstance(part, HostStep):
            result.append(part)
        elif kept := [call for call in part if not _is_idle(call, hw)]:
            result.append(Run((*kept, *_ending(kept, hw))))
    return tuple(result)


def _is_host(call: Call, hw: Hardware) -> bool:
    return hw.host is not None and hw.instruction(call.name).unit == hw.host.unit


def _is_idle(call: Call, hw: Hardware) -> bool:
    return hw.instruction(call.name).is_sync and not (call.pops or call.pushes)


def _drop_crossing_tokens(runs: list[list[Call]]) -> None:
    """Tokens pushed in one run and popped in another, or never, or from elsewhere; in place.

    The n-th push of a channel meets its n-th pop.
    """
    pushed: dict[str, list[int]] = {}
    popped: dict[str, list[int]] = {}
    for number, run in enumerate(runs):
        for call in run:
            for channel in call.pushes:
                pushed.setdefault(channel, []).append(number)
            for channel in call.pops:
                popped.setdefault(channel, []).append(number)
    keeps: dict[str, list[bool]] = {}
    for channel in {**pushed, **popped}:
        pairs = zip(pushed.get(channel, []), popped.get(channel, []))
        keeps[channel] = [a == b for a, b in pairs]
    seen_pushes: dict[str, int] = {}
    seen_pops: dict[str, int] = {}
    for run in runs:
        for position, call in enumerate(run):
            if call.pops or call.pushes:
                pops = tuple(c for c in call.pops if _keeps(c, seen_pops, keeps))
                pushes = tuple(c for c in call.pushes if _keeps(c, seen_pushes, keeps))
                run[position] = replace(call, pops=pops, pushes=pushes)


def _keeps(channel: str, seen: dict[str, int], keeps: dict[str, list[bool]]) -> bool:
    number = seen.get(channel, 0)
    seen[channel] = number + 1
    return number < len(keeps[channel]) and keeps[channel][number]


def _ending(calls: list[Call], hw: Hardware) -> tuple[Call, ...]:
    """Every unit that did something tells the ending's unit, which then ends the run."""
    ending = hw.encoding.ending if hw.encoding else None
    if ending is None:
        return ()
    if hw.synchronisation is not Synchronisation.TOKENS:
        return (Call(CallKind.END, "end", {}),)
    graph = nx.DiGraph()
    graph.add_edges_from((c.source_unit, c.target_unit, {"name": c.name}) for c in hw.channels)
    busy = {hw.instruction(call.name).unit: None for call in calls}
    told: list[Call] = []
    pops: list[str] = []
    for unit in busy:
        if unit == ending.unit:
            continue
        if not graph.has_edge(unit, ending.unit):
            raise ProgramError(
                f"{hw.name}: unit {unit} cannot tell unit {ending.unit} that it is done",
                hint="add a channel between them, or let another unit end the run",
            )
        channel = graph.edges[unit, ending.unit]["name"]
        told.append(Call(CallKind.INSTRUCTION, carrier(hw, unit), {}, (), (channel,)))
        pops.append(channel)
    return (*told, Call(CallKind.END, "end", {}, tuple(pops)))


def carrier(hw: Hardware, unit: str) -> str:
    """The unit's instruction that only carries tokens.

    Raises:
        ProgramError: it has none.
    """
    for instruction in hw.instructions:
        if instruction.is_sync and instruction.unit == unit:
            return instruction.name
    raise ProgramError(
        f"{hw.name} has no instruction on unit {unit} that only carries tokens",
        hint="add one with 'is_sync: true'",
    )
