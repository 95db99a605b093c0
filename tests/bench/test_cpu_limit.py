"""Which libraries' variables belong to which machine."""

import cpu_limit
import pytest

from isamap.hwdesc import load_hardware
from isamap.resources import find_hardware


def limits_of(name: str) -> dict[str, str]:
    return cpu_limit.limits(load_hardware(find_hardware(name)))


def test_libraries_are_kept_to_avx2_for_machines_that_have_no_more() -> None:
    assert limits_of("x86_avx2") == cpu_limit.AVX2
    assert limits_of("x86_golden_cove_avx2")["ONEDNN_MAX_CPU_ISA"] == "AVX2_VNNI"
    assert limits_of("x86_golden_cove") == limits_of("arm_neon") == limits_of("gemmini") == {}


def test_the_program_starts_again_only_where_variables_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, arguments: starts.append(arguments))
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(cpu_limit, "has_avx512", lambda: True)
    cpu_limit.keep_libraries_to(load_hardware(find_hardware("x86_avx512")))
    assert not starts and not cpu_limit.is_limited()
    for _ in range(2):
        cpu_limit.keep_libraries_to(load_hardware(find_hardware("x86_avx2")))
    assert len(starts) == 1 and cpu_limit.is_limited()


def test_libraries_choose_for_themselves_where_the_processor_has_no_wider_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.execv", lambda _, arguments: pytest.fail("started again"))
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(cpu_limit, "this_processor", lambda: ("", ("avx2", "fma")))
    cpu_limit.keep_libraries_to(load_hardware(find_hardware("x86_avx2")))
    assert not cpu_limit.is_limited()
