"""Options and fixtures of all tests.

In: the command line of pytest. Out: `golden`, which holds text against a file. Not its job:
verdicts on behaviour.
"""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# examples take as long as they take: a busy machine is no counterexample
settings.register_profile("isamap", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("isamap")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden`: write golden files anew; read the difference before it is kept."""
    parser.addoption("--update-golden", action="store_true", help="Write golden files anew.")


def pytest_collection_finish() -> None:
    """What lives to the end, as tests and machines do, is not looked through for cycles of objects
    again and again."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What programs keep for later stays out of the user's caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare text with a golden file, or write it."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare
