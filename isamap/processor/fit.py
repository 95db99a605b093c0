"""Which machine describes this processor best.

In: what was measured of each. Out: machines, best first. Not its job: measuring (`detect`), which
files there are (`find_machine`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from .detect import Detection

ALIKE = 0.9  # of the best fit: measuring is no better


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
    wrong figures do, but not the clock, which differs between processors of one design and from one
    minute to the next: described peaks are those at the clock at which the machine's own
    instructions ran, which is the median of what they showed. Of machines that fit alike, the one
    comes first that asks for most features, since it describes fewer processors, and of these the
    one whose clock is nearest.
    """
    running = [one for one in found if not one.reason]
    pace: dict[str, float] = {}
    for peak in (peak for one in running for peak in one.peaks):
        pace[peak.products] = max(pace.get(peak.products, 0.0), peak.measured_per_s)
    clocks = [_clock(one) for one in running]
    fits = [_fit(one, pace, clock) for one, clock in zip(running, clocks, strict=True)]
    most = max((one.share for one in fits), default=0.0)
    ranks = [
        (0.0, -_num_features(one), -_share(clock, 1.0))
        if fit.share >= ALIKE * most
        else (1.0, -fit.share, 0.0)
        for fit, one, clock in zip(fits, running, clocks, strict=True)
    ]
    return tuple(fits[n] for n in sorted(range(len(fits)), key=lambda n: ranks[n]))


def _clock(found: Detection) -> float:
    """Over the described one."""
    return median([p.measured_per_s / p.described_per_s for p in found.peaks] or [1.0])


def _num_features(found: Detection) -> int:
    rule = found.hardware.compiler
    return len(rule.features) if rule else 0


def _fit(found: Detection, pace: dict[str, float], clock: float) -> Fit:
    described: dict[str, float] = {}
    for peak in found.peaks:
        at_clock = clock * peak.described_per_s
        described[peak.products] = max(described.get(peak.products, 0.0), at_clock)
    shares = tuple((kind, _share(described.get(kind, 0.0), best)) for kind, best in pace.items())
    return Fit(found.hardware.name, fmean(share for _, share in shares) if shares else 0.0, shares)


def _share(described: float, measured: float) -> float:
    return min(described, measured) / max(described, measured)
