"""The page in a real browser, where there is one: its script runs under the page's own policy."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from isamap.emulator import trace_program
from isamap.report import render_page
from tests.emulator.hand_programs import gemm, machine
from tests.report.test_page import EVIL, page_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def shown(html: str, folder: Path) -> str:
    """The document once its script has run."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'user'}"]
    command = [found, *flags, "--dump-dom", "--virtual-time-budget=5000", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_the_script_draws_everything(tmp_path: Path) -> None:
    trace = trace_program(gemm(40, 33, 70, buffers=2), machine("tiny"))
    text = shown(render_page(page_of(trace, EVIL, sram=4096), trace), tmp_path)
    cycles = f"{trace.timing.cycles:,}".replace(",", "\u202f")
    assert f"cycles 0 to {cycles}: " in text
    assert f"All {trace.num_calls} calls. " in text
    for name in ("roofline", "losses", "bounds", "overview"):
        plot = re.search(rf'id="{name}-plot">(.*?)</section>', text, re.S)
        assert plot and "<svg" in plot[1], name
    assert re.search(r'<canvas id="timeline-canvas"[^>]* height="[1-9]', text)
    assert "<img" not in text
