"""What measured times have to do with terms beside what the closed form says.

In: lessons. Out: weights of terms, and how well they order shapes that they were not fitted to. Not
its job: terms (`costmodels`), where lessons come from (`database`), prices (`learned`).

Model: the logarithm of measured over predicted time is a sum of weighted terms, up to a constant of
the subject: only what one candidate of a subject has more than the others counts, as only they
compete. Ridge regression: a prior that all weights are 0, where the closed form alone decides; how
strong it is, or whether it alone is right, is what subjects say that were left out.
(Hoerl and Kennard 1970; terms are first brought to the same spread, but for those that hardly
differ.) On 16 products on one Golden Cove core straight weights did as well as squares, products
of terms, or a Gaussian process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp, inf
from statistics import geometric_mean, median

import numpy as np
from numpy.typing import NDArray

from .correlate import LEAST, correlate_ranks
from .database import Lesson

PRIORS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, inf)  # inf: all weights are 0
FOLDS = 12  # parts that subjects are left out in; of fewer subjects, one by one
NARROW = 0.05  # spread of a term (a share of the time, or a logarithm) below which it counts less

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Skill:
    """Of orders of candidates: medians over subjects of the rank correlation with measured times,
    and the geometric mean of the first one's time over the least."""

    correlation: float
    first_over_best: float


@dataclass(frozen=True, slots=True)
class Fit:
    """`weights`: of terms that have any; `level`: measured over predicted time, typically.
    `skill`: on subjects that were left out; `closed_form`: of that alone."""

    weights: Mapping[str, float]
    level: float
    num_lessons: int
    num_subjects: int
    skill: Skill
    closed_form: Skill

    def ratios(self, terms: Sequence[Mapping[str, float]]) -> list[float]:
        """Measured over predicted time of candidates that compete, as far as terms say."""
        sums = [sum(w * row.get(name, 0.0) for name, w in self.weights.items()) for row in terms]
        mean = sum(sums) / len(sums)
        return [self.level * exp(each - mean) for each in sums]


@dataclass(frozen=True, slots=True)
class _Group:
    """Candidates of a subject: logarithms of predicted times and of what was measured beyond them,
    and terms, all of them less their mean."""

    predicted: Array
    beyond: Array
    terms: Array


def comparable(lessons: Sequence[Lesson]) -> list[list[Lesson]]:
    """Lessons by subject, where there are enough of one for an order."""
    found = groupby(lessons, key=lambda lesson: lesson.subject)
    return [group for _, rows in found if len(group := list(rows)) >= LEAST]


def fit(lessons: Sequence[Lesson]) -> Fit:
    """Of at least two subjects that are `comparable`; others say nothing."""
    grouped = comparable(lessons)
    used = [lesson for rows in grouped for lesson in rows]
    names = sorted({name for lesson in used for name in lesson.description.terms})
    groups, names, scale = _bring_together(grouped, names)
    squares = np.array([g.terms.T @ g.terms for g in groups])
    products = np.array([g.terms.T @ g.beyond for g in groups])
    folds = [list(range(first, len(groups), FOLDS)) for first in range(min(FOLDS, len(groups)))]
    errors = _left_out_errors(groups, squares, products, folds)
    prior = int(np.argmin(errors.sum(axis=(0, 1))))
    weights = _solve(squares.sum(axis=0), products.sum(axis=0))[prior] / scale
    return Fit(
        {name: float(w) for name, w in zip(names, weights, strict=True) if w},
        geometric_mean(x.seconds / x.description.predicted_s for x in used),
        len(used),
        len(groups),
        _skill(groups, _guess(groups, squares, products, folds, errors)),
        _skill(groups, [g.predicted for g in groups]),
    )


def _bring_together(
    grouped: Sequence[Sequence[Lesson]], names: Sequence[str]
) -> tuple[list[_Group], list[str], Array]:
    """Groups with the terms that differ within any, of the same spread over all unless it is
    `NARROW`; what they were divided by."""
    tables = []
    for rows in grouped:
        table = np.array([[x.description.terms.get(name, 0.0) for name in names] for x in rows])
        tables.append(table - table.mean(axis=0))
    spread = np.sqrt(np.mean(np.concatenate(tables) ** 2, axis=0))
    kept = spread > 0
    scale = np.maximum(spread, NARROW)[kept]
    groups = []
    for rows, table in zip(grouped, tables, strict=True):
        predicted = np.log([x.description.predicted_s for x in rows])
        beyond = np.log([x.seconds for x in rows]) - predicted
        groups.append(
            _Group(
                predicted - predicted.mean(),
                beyond - beyond.mean(),
                table[:, kept] / scale,
            )
        )
    return groups, [n for n, is_kept in zip(names, kept, strict=True) if is_kept], scale


def _solve(squares: Array, products: Array) -> Array:
    """Weights under each prior."""
    values, vectors = np.linalg.eigh(squares)
    turned = vectors.T @ products
    priors = np.array(PRIORS)[:, None]
    weights: Array = (turned / (np.maximum(values, 0.0) + priors)) @ vectors.T
    return weights


def _left_out_errors(
    groups: Sequence[_Group], squares: Array, products: Array, folds: Sequence[Sequence[int]]
) -> Array:
    """Squared errors on a fold under each prior, fitted without it and without another one (or
    without it alone): [fold, other fold, prior]."""
    all_squares, all_products = squares.sum(axis=0), products.sum(axis=0)
    found = np.zeros((len(folds), len(folds), len(PRIORS)))
    for one, left in enumerate(folds):
        for other in range(one + 1):
            out = sorted({*left, *folds[other]})
            weights = _solve(
                all_squares - squares[out].sum(axis=0), all_products - products[out].sum(axis=0)
            )
            for fold, rest in {(one, other), (other, one)}:
                for number in folds[fold]:
                    group = groups[number]
                    rests = group.beyond[:, None] - group.terms @ weights.T
                    found[fold, rest] += np.mean(rests**2, axis=0)
    return found


def _guess(
    groups: Sequence[_Group],
    squares: Array,
    products: Array,
    folds: Sequence[Sequence[int]],
    errors: Array,
) -> list[Array]:
    """Logarithms of times of each group, from what was fitted without its fold, the prior too."""
    guesses: dict[int, Array] = {}
    for number, left in enumerate(folds):
        others = [other for other in range(len(folds)) if other != number]
        prior = int(np.argmin(errors[others, number].sum(axis=0)))
        rest = [n for n in range(len(groups)) if n not in left]
        weights = _solve(squares[rest].sum(axis=0), products[rest].sum(axis=0))[prior]
        for each in left:
            guesses[each] = groups[each].predicted + groups[each].terms @ weights
    return [guesses[number] for number in range(len(groups))]


def _skill(groups: Sequence[_Group], guesses: Sequence[Array]) -> Skill:
    ranks, losses = [], []
    for group, guess in zip(groups, guesses, strict=True):
        took = group.predicted + group.beyond
        rank = correlate_ranks(guess.tolist(), took.tolist())
        ranks.append(0.0 if rank is None else rank)
        losses.append(float(np.exp(took[int(np.argmin(guess))] - took.min())))
    return Skill(median(ranks), geometric_mean(losses))
