"""minirt's pure parts under the sanitizers: each line of the C driver is a test of its own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT

SOURCES = sorted((ROOT / "tests/minirt/unit").glob("test_*.c"))
NAMES = [name for source in SOURCES for name in re.findall(r"\bTEST\(\s*(\w+)\s*\)", source.read_text())]


@pytest.fixture(scope="module")
def said(minirt: Path) -> dict[str, str]:
    """Why each test failed, "" where it did not."""
    out = ROOT / "build/minirt-tests"
    made = subprocess.run(
        ["make", "-s", f"-j{os.cpu_count() or 1}", "-C", ROOT / "tests/minirt", f"OUT={out}", "unit"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    done = subprocess.run([out / "unit"], capture_output=True, text=True, timeout=60)
    # "ok NAME", or "not ok NAME: WHY".
    found = re.findall(r"^(not )?ok (\w+)(?:: (.*))?$", done.stdout, re.MULTILINE)
    assert found, done.stderr
    assert done.returncode == int(any(failed for failed, _, _ in found)), done.stderr[-2000:]
    return {name: why if failed else "" for failed, name, why in found}


@pytest.mark.parametrize("name", NAMES)
def test_unit(said: dict[str, str], name: str) -> None:
    assert said[name] == ""


def test_no_unit_is_left_out(said: dict[str, str]) -> None:
    assert sorted(said) == sorted(NAMES)
