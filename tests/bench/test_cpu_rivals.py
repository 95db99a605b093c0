"""Which form of a library takes part where there are several."""

import time

import cpu_rivals
import pytest

WIDE = ("", cpu_rivals.SKX)
NARROW = ("", ("avx2", "fma"))


@pytest.mark.parametrize(
    ("own", "again", "processor", "is_limited", "cores"),
    [
        ("haswell", "skx", WIDE, False, ["haswell", "skx"]),
        ("haswell", "skx", NARROW, False, ["haswell"]),  # it would stop at the first instruction
        ("skx", "skx", WIDE, False, ["skx"]),
        ("zen3", "haswell", WIDE, False, ["zen3"]),  # another version, which numbers otherwise
        ("haswell", "skx", WIDE, True, ["haswell"]),
        ("skx", "skx", WIDE, True, []),
    ],
)
def test_blis_takes_part_with_its_widest_code_too(
    own: str,
    again: str,
    processor: tuple[str, tuple[str, ...]],
    is_limited: bool,
    cores: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cpu_rivals, "_core_of", lambda library: library)
    monkeypatch.setattr(cpu_rivals, "_again", lambda library, variables: again)
    monkeypatch.setattr(cpu_rivals, "this_processor", lambda: processor)
    monkeypatch.setattr(cpu_rivals, "is_limited", lambda: is_limited)
    assert list(cpu_rivals._with_wider(own)) == cores


def test_blis_with_other_code_computes_the_same() -> None:
    found = cpu_rivals.find_blis()
    if len(found) < 2:
        pytest.skip("no BLIS, or it chooses its code for AVX-512 by itself")
    assert cpu_rivals._core_of(found[0]) != cpu_rivals._core_of(found[1]) == "skx"
    arrays = [cpu_rivals.np.full(size, 2, "f4") for size in ((5, 7), (3, 7), (3, 5))]
    product = cpu_rivals.Product("f32", *arrays)
    for library in found:
        arrays[2][...] = 0
        cpu_rivals._blis_call(library, product)()
        assert (arrays[2] == 28).all()


def test_the_fastest_of_several_ways_is_taken_whatever_its_place() -> None:
    calls: list[float] = []

    def taking(seconds: float) -> cpu_rivals.Run:
        def run() -> None:
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass
            calls.append(seconds)

        return run

    cpu_rivals._fastest([taking(s) for s in (0.05, 0.001, 0.1)])()
    assert calls[-1] == 0.001
