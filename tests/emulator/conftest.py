"""The emulator's own tests compile, and as for long programs: the compiler's rewriting is tried."""

from collections.abc import Iterator

import pytest

from isamap.emulator import optimisation


@pytest.fixture(autouse=True, scope="module")
def optimised_c() -> Iterator[None]:
    """No program is over sooner than it would be compiled and optimised."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimisation, "MAX_PLAIN_STEPS", -1)
        patch.setattr(optimisation, "MAX_INTERPRETED_STEPS", -1)
        yield
