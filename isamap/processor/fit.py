"""Which machine describes this processor best.

In: what was measured of each. Out: machines, best first. Not its job: measuring (`detect`), which
files there are (`find_machine`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from .detect import Detection


@dataclass(frozen=True, slots=True)
class Fit:
    """How near a machine's peaks are to this processor's: 1 is what it does, 0 nothing of it.

    `shares`: the same by what is multiplied.
    """

    name: str
    share: float
    shares: tuple[tuple[str, float], ...]


def fit(found: Sequence[Detection]) -> tuple[Fit, ...]:
    """The machines that run here, the best description first; of equals, in the given order.

    The processor's pace in products of a kind (f32, bf16, i8 x u8) is the best that an instruction
    of any of the machines showed. A machine's share of a kind is its described peak over that pace,
    or the inverse where it promises more than there is; 0 where it has no such instruction. Its fit
    is the mean over all kinds. So narrower vectors and missing types count against a description as
    wrong figures do.
    """
    running = [one for one in found if not one.reason]
    pace: dict[str, float] = {}
    for peak in (peak for one in running for peak in one.peaks):
        pace[peak.products] = max(pace.get(peak.products, 0.0), peak.measured_per_s)
    fits = [_fit(one, pace) for one in running]
    return tuple(sorted(fits, key=lambda one: -one.share))


def _fit(found: Detection, pace: dict[str, float]) -> Fit:
    described: dict[str, float] = {}
    for peak in found.peaks:
        described[peak.products] = max(described.get(peak.products, 0.0), peak.described_per_s)
    shares = tuple((kind, _share(described.get(kind, 0.0), best)) for kind, best in pace.items())
    return Fit(found.hardware.name, fmean(share for _, share in shares) if shares else 0.0, shares)


def _share(described: float, measured: float) -> float:
    return min(described, measured) / max(described, measured)
