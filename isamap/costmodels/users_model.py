"""A cost model that a user wrote: a Python file's, or one that an installed package offers.

In: `FILE.py:NAME` or a name. Out: a `CostModel` that blames mistakes in the user's code on it. Not
its job: what models there are besides (`registry`). The file is executed: its user chose to run it
(unlike a machine's description, which never is).
"""

import linecache
import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral, Real
from pathlib import Path

from isamap.errors import IsamapError, Loc, closest
from isamap.hwdesc import Hardware
from isamap.import_file import import_file

from .registry import Candidate, CostModel, Price

GROUP = "isamap.cost_models"
SUFFIX = ".py"
MEMBERS = ("name", "num_candidates", "check", "price")
WANTED = (
    "a cost model is a function of a candidate and a machine that returns cycles, or an object"
    f" with {', '.join(MEMBERS)} (isamap.costmodels.CostModel)"
)
MAX_CYCLES = 2**62
PACKAGE = Path(__file__).parents[1]


def names_file(text: str) -> bool:
    """Is it `FILE.py:NAME`, or a file without a name behind it?"""
    return f"{SUFFIX}:" in text or text.endswith(SUFFIX)


def load_cost_model(text: str) -> CostModel:
    """The model `NAME` of `FILE.py`, which is executed.

    Raises:
        IsamapError: no such file or name, or what the file raises; no cost model.
    """
    is_named = not text.endswith(SUFFIX)
    file, _, name = text.rpartition(":") if is_named else (text, "", "")
    if not Path(file).is_file():
        raise IsamapError(f"no file {file!r} with a cost model")
    with _blamed(file, f"{file} cannot be imported"):
        found = vars(import_file(file, "isamap_cost_model"))
    own = {key: value for key, value in found.items() if _is_own(value, found)}
    if name not in found:
        hint = closest(name, own) or f"it has {', '.join(own) or 'none'}; {WANTED}"
        missing = f"{file} has no {name!r}" if is_named else f"which cost model of {file}?"
        raise IsamapError(missing, hint=hint if is_named else f"--cost {file}:NAME; {hint}")
    return _wrap(found[name], name, file)


def offered_models() -> dict[str, EntryPoint]:
    """Those of the entry point group `isamap.cost_models`, by name; none is imported."""
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def load_offered(point: EntryPoint) -> CostModel:
    """The model of an entry point; its module is executed.

    Raises:
        IsamapError: it cannot be imported, or is no cost model.
    """
    module = point.value.partition(":")[0]
    with _blamed(module, f"the cost model {point.name!r} ({point.value}) cannot be imported"):
        found = point.load()
    return _wrap(found, point.name, module)


def _is_own(value: object, module: dict[str, object]) -> bool:
    """Does it look like a cost model that the module itself made?"""
    if hasattr(value, "price"):
        return not isinstance(value, type)
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename == module["__file__"]


def _wrap(found: object, name: str, origin: str) -> CostModel:
    if isinstance(found, type):
        raise IsamapError(
            f"{name!r} of {origin} is a class, not a cost model", hint=f"write {name}(..) there"
        )
    with _blamed(origin, f"the cost model {name!r}"):  # a member may be a property that raises
        missing = [member for member in MEMBERS if not hasattr(found, member)]
    if "price" in missing:
        if not callable(found):
            kind = type(found).__name__
            raise IsamapError(f"{name!r} of {origin} is no cost model: {kind}", hint=WANTED)
        return UsersModel(name, 1, origin, _Function(name, found))
    if missing:
        raise IsamapError(f"{name!r} of {origin} has no {missing[0]!r}", hint=WANTED)
    model: CostModel = found  # type: ignore[assignment]  # it has all members; results are checked
    with _blamed(origin, f"the cost model {name!r}"):
        own_name, count = model.name, model.num_candidates
    if not isinstance(own_name, str) or not isinstance(count, int) or count < 1:
        message = f"{name!r} of {origin}: name {own_name!r}, num_candidates {count!r}"
        raise IsamapError(message, hint="a text, and a number that is at least 1")
    return UsersModel(own_name, count, origin, model)


@dataclass(frozen=True, slots=True)
class UsersModel:
    """A user's model with its answers checked; `origin`: its file, or its module."""

    name: str
    num_candidates: int
    origin: str
    model: CostModel

    def check(self, hw: Hardware) -> None:
        """The user's own check."""
        with _blamed(self.origin, f"the cost model {self.name!r}"):
            self.model.check(hw)

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """The user's own prices.

        Raises:
            IsamapError: what the user's code raises, or anything but a price per candidate.
        """
        with _blamed(self.origin, f"the cost model {self.name!r}"):
            prices = tuple(self.model.price(candidates, hw))
        wrong = next((p for p in prices if not isinstance(p, Price) or not _may_be(p)), None)
        if wrong is not None:
            raise self._bad(f"says {wrong!r}", "an isamap.costmodels.Price has cycles >= 0 or None")
        if len(prices) != len(candidates):
            message = f"gives {len(prices)} prices for {len(candidates)} candidates"
            raise self._bad(message, "one Price per candidate, in their order")
        if all(price.cycles is None for price in prices):
            raise self._bad(f"prices none of them: {prices[0].problem}", "another --cost")
        return tuple(p if p.cycles is None else replace(p, cycles=int(p.cycles)) for p in prices)

    def _bad(self, message: str, hint: str) -> IsamapError:
        return IsamapError(f"the cost model {self.name!r} of {self.origin} {message}", hint=hint)


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of one candidate, on any machine; fractions of cycles are rounded up."""

    name: str
    cycles_of: Callable[[Candidate, Hardware], object]
    num_candidates: int = 1

    def check(self, hw: Hardware) -> None:
        """Every machine will do."""

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """One after the other."""
        return tuple(self._price(self.cycles_of(candidate, hw)) for candidate in candidates)

    def _price(self, cycles: object) -> Price:
        if isinstance(cycles, Real) and not isinstance(cycles, bool):
            number = float(cycles)
            if 0 <= number <= MAX_CYCLES:
                return Price(math.ceil(number))
        hint = f"cycles are a number from 0 to {MAX_CYCLES}"
        code = getattr(self.cycles_of, "__code__", None)
        loc = _line(code.co_filename, code.co_firstlineno) if code else None
        raise IsamapError(f"the cost model {self.name!r} returns {cycles!r}", loc=loc, hint=hint)


def _may_be(price: Price) -> bool:
    """No price, or a whole number, NumPy's included."""
    is_whole = isinstance(price.cycles, Integral) and not isinstance(price.cycles, bool)
    return price.cycles is None or (is_whole and price.cycles >= 0)


@contextmanager
def _blamed(origin: str, what: str) -> Iterator[None]:
    """Say what the user's code raises and where, as the user's mistake."""
    try:
        yield
    except IsamapError:
        raise
    except SyntaxError as error:
        loc = Loc(str(error.filename), error.lineno or 1, error.offset or 1, _text(error.text))
        raise IsamapError(f"{what}: {error.msg}", loc=loc) from error
    except (Exception, SystemExit) as error:  # a script that ends itself, too
        message = f"{what}: {type(error).__name__}: {error}"
        raise IsamapError(message, loc=_where(error, origin)) from error


def _where(error: BaseException, origin: str) -> Loc | None:
    """The innermost line of the user's own: of the file, or of what is neither isamap's nor
    Python's import machinery."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_file()]
    own = [f for f in frames if Path(f.filename).resolve() == Path(origin).resolve()]
    if own:
        return _line(origin, own[-1].lineno or 1)
    others = [f for f in frames if PACKAGE not in Path(f.filename).parents]
    return _line(others[-1].filename, others[-1].lineno or 1) if others else None


def _line(file: str, number: int) -> Loc:
    linecache.checkcache(file)
    text = _text(linecache.getline(file, number))
    return Loc(file, number, len(text) - len(text.lstrip()) + 1, text)


def _text(line: str | None) -> str:
    return (line or "").rstrip()
