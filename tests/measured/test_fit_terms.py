"""What is learned from made-up times: what the closed form lacks, and nothing where it lacks
nothing.

In: lessons whose truth is known. Out: verdicts. Not its job: real terms, real times.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import exp

import pytest

from isamap.measured.database import Description, Lesson
from isamap.measured.fit import comparable, fit

NAMES = [f"term {number}" for number in range(30)]
Terms = Mapping[str, float]


def lessons(
    truth: Callable[[Terms], float], num_subjects: int, noise: float, seed: int = 1
) -> list[Lesson]:
    """Near-ties of the closed form, whose times are as it says times `truth` and noise."""
    rng = random.Random(seed)
    found = []
    for subject in range(num_subjects):
        size = exp(rng.uniform(-14, -6))
        for _ in range(8):
            terms = {name: rng.random() for name in NAMES}
            predicted_s = size * rng.uniform(1.0, 1.05)
            seconds = 1.5 * predicted_s * truth(terms) * exp(rng.gauss(0.0, noise))
            description = Description(predicted_s, terms)
            found.append(Lesson(f"{subject:03}", "gemm", description, seconds))
    return found


def lacking(terms: Terms) -> float:
    """A share of the time that the closed form does not count, and one that it counts twice."""
    return 1.0 + 0.6 * terms["term 7"] - 0.3 * terms["term 11"]


def test_a_term_that_the_closed_form_lacks_is_found() -> None:
    found = fit(lessons(lacking, 10, noise=0.02))
    assert found.skill.correlation > 0.9 > 0.3 > found.closed_form.correlation
    assert found.skill.first_over_best < 1.03 < 1.15 < found.closed_form.first_over_best
    first, second, *rest = sorted(found.weights, key=lambda name: -abs(found.weights[name]))
    assert (first, second) == ("term 7", "term 11")
    assert found.weights[first] > 0 > found.weights[second]
    assert all(abs(found.weights[name]) < 0.3 * abs(found.weights[second]) for name in rest)


def test_corrections_are_of_candidates_beside_each_other() -> None:
    found = fit(lessons(lacking, 10, noise=0.0))
    base = dict.fromkeys(NAMES, 0.5)
    low, high = found.ratios([base | {"term 7": 0.0}, base | {"term 7": 1.0}])
    assert high / low == pytest.approx(lacking({"term 7": 1.0, "term 11": 0.5}) / 0.85, rel=0.1)
    assert (low * high) ** 0.5 == pytest.approx(found.level)
    assert found.ratios([base]) == [found.level]


def test_noise_teaches_next_to_nothing_and_that_is_said() -> None:
    found = [fit(lessons(lambda _: 1.0, 10, noise=0.05, seed=seed)) for seed in range(20)]
    assert sum(not each.weights for each in found) >= 8
    for each in found:
        low, high = sorted(each.ratios([{"term 7": 0.0}, {"term 7": 1.0}]))
        assert high < 1.03 * low
        assert each.level == pytest.approx(1.5, rel=0.05)
    gains = [f.closed_form.first_over_best / f.skill.first_over_best for f in found]
    assert sum(gains) / len(gains) < 1.01


def test_a_term_that_hardly_differs_is_not_what_decides() -> None:
    """It goes along with the truth, but would have to be worth more than all the time."""
    changed = [
        replace(lesson, description=replace(about, terms={**about.terms, "tiny": 1e-6 * term}))
        for lesson in lessons(lacking, 10, noise=0.02)
        for about, term in ((lesson.description, lesson.description.terms["term 7"]),)
    ]
    assert abs(fit(changed).weights["tiny"]) < 0.1


def test_accuracy_is_not_flattered_by_what_was_fitted() -> None:
    """Times that no term explains: as many terms as lessons would fit them all."""
    rng = random.Random(3)
    found = fit(lessons(lambda _: exp(rng.gauss(0.0, 0.3)), 5, noise=0.0))
    assert found.skill.correlation < 0.6
    assert found.skill.first_over_best > 1.1


def test_subjects_with_too_few_candidates_say_nothing() -> None:
    all_of_them = lessons(lacking, 6, noise=0.0)
    few = [lesson for lesson in all_of_them if lesson.subject != "002"]
    alone = [lesson for lesson in all_of_them if lesson.subject == "002"][:2]
    assert len(comparable(few + alone)) == 5
    assert fit(few + alone) == fit(few)


def test_many_lessons_are_left_out_in_parts() -> None:
    found = fit(lessons(lacking, 60, noise=0.02))
    assert (found.num_subjects, found.num_lessons) == (60, 480)
    assert found.skill.correlation > 0.9
