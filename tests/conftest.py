"""Options and fixtures of all tests.

In: the command line of pytest. Out: `golden`, which holds text against a file. Not its job:
verdicts on behaviour.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden`: write golden files anew; read the difference before it is kept."""
    parser.addoption("--update-golden", action="store_true", help="Write golden files anew.")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare text with a golden file, or write it."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare
