"""Answers of sweeps that were asked before, in a folder.

In: keys, outcomes. Out: outcomes. Not its job: asking. A key is made of all that an answer depends
on: kernel, machine, options, and the text of isamap itself, so that nothing old is ever recalled.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from isamap.cache_folder import cache_folder
from isamap.compile import build_kernel
from isamap.costmodels import COST_MODELS, CostModel, names_file
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import pretty
from isamap.measured import digest
from isamap.write_all import make_folder, write_all

from .ask import Question
from .outcome import Outcome, outcome_from_json, outcome_to_json

FOLDER = "explore"


def question_key(question: Question) -> str | None:
    """Equal for questions with equal answers; None for those whose answers are not kept, since a
    cost model may say anything."""
    asking, work = question.asking, question.workload
    cost = _cost_key(asking.cost)
    if cost is None:
        return None
    kernel, file = build_kernel(work.kernel, dict(work.sizes), None, asking.may_reassociate)
    text = file.path.read_text(encoding="utf-8") if file and asking.verify != "off" else ""
    limits = (asking.time_limit_s, asking.effort)
    options = (asking.layouts, asking.verify, *limits, asking.may_reassociate)
    rest = (asking.aim, cost, _own_text())
    # a cost model of the user's own may read whatever a machine says of itself
    hw = question.hardware if asking.cost not in COST_MODELS else _nameless(question.hardware)
    return digest((pretty(kernel), text, hw, options, rest))


def _nameless(hw: Hardware) -> Hardware:
    """Without what decides nothing for isamap's own models: its parameters are in everything else
    already."""
    memories = tuple(replace(memory, source="") for memory in hw.memories)
    instructions = tuple(replace(entry, source="") for entry in hw.instructions)
    return replace(hw, name="", parameters=(), memories=memories, instructions=instructions)


def _cost_key(cost: str | CostModel) -> str | None:
    """Of a user's file, its text."""
    if not isinstance(cost, str) or cost in COST_MODELS:
        return cost if isinstance(cost, str) else None
    path = Path(cost.rpartition(":")[0])
    return cost + path.read_text(encoding="utf-8") if names_file(cost) and path.is_file() else None


@cache
def _own_text() -> str:
    """Of all of isamap's modules."""
    package = Path(__file__).parents[1]
    paths = sorted(package.rglob("*.py"))
    return digest([path.read_text(encoding="utf-8") for path in paths])


class Kept:
    """The answers in a folder: a file each, so that processes may share it.

    `is_fresh`: nothing that was there is recalled. `problem`: why an answer could not be written,
    if one could not; this process remembers it all the same.
    """

    def __init__(self, folder: Path | None = None, *, is_fresh: bool = False) -> None:
        self.folder = folder or cache_folder() / FOLDER
        self.is_fresh = is_fresh
        self.problem = ""
        self.known: dict[str, Outcome] = {}

    def recall(self, key: str) -> Outcome | None:
        """What was kept; None also where the file cannot be read."""
        if key not in self.known and not self.is_fresh:
            try:
                text = self._path(key).read_text(encoding="utf-8")
                self.known[key] = outcome_from_json(json.loads(text))
            except (OSError, ValueError, TypeError, KeyError):
                return None
        return self.known.get(key)

    def keep(self, key: str, outcome: Outcome) -> None:
        """Remember it. A sweep does not end because a disk is full."""
        self.known[key] = outcome
        try:
            make_folder(self.folder)
            write_all({self._path(key): json.dumps(outcome_to_json(outcome)) + "\n"})
        except IsamapError as error:
            self.problem = self.problem or str(error)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"
