"""Fixtures and rules for the whole suite.

Owns the ``native`` artefacts fixture and GLASSSTACK_REQUIRE: the markers named
there (comma-separated) are promised by the machine, so a test carrying one of
them that skips is a failure. Must not import the code under test.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support import eventually as wait_for


def _required() -> set[str]:
    words = os.environ.get("GLASSSTACK_REQUIRE", "").replace(",", " ").split()
    return set(words)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a promise that no marker stands for: a typo would promise nothing."""
    known = {line.split(":")[0].split("(")[0].strip() for line in config.getini("markers")}
    unknown = _required() - known
    if unknown:
        raise pytest.UsageError(f"GLASSSTACK_REQUIRE: no such marker: {', '.join(sorted(unknown))}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a promised test into a failure that keeps the reason."""
    report = yield
    broken = sorted(name for name in _required() if item.get_closest_marker(name))
    if report.skipped and broken and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"GLASSSTACK_REQUIRE promises {', '.join(broken)}, yet: {reason}"
    return report


def _build(log: Path) -> None:
    """Bring build/ up to date; one builder at a time, whoever it is."""
    with open(log.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", f"-j{os.cpu_count() or 1}", "-C", str(ROOT / "kmod")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    log.write_text(done.stdout)
    if done.returncode:
        pytest.fail(f"make -C kmod failed:\n{done.stdout[-2000:]}", pytrace=False)


def _make_runtime(log: Path) -> str:
    """Bring minirt up to date; why that can't be, or empty."""
    with open(log.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "-s", f"-j{os.cpu_count() or 1}", "-C", str(ROOT / "minirt")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    log.write_text(done.stdout)
    if done.returncode and "needs libjansson" not in done.stdout:
        pytest.fail(f"make -C minirt failed:\n{done.stdout[-2000:]}", pytrace=False)
    return "no libjansson: apt-get install libjansson-dev" if done.returncode else ""


@pytest.fixture(scope="session")
def minirt(native: Path) -> Path:
    """The container runtime, up to date; skips where no compiler or no libjansson is."""
    if why := _make_runtime(native.parent / "minirt.log"):
        pytest.skip(why)
    return native / "minirt"


@pytest.fixture(scope="session")
def native() -> Path:
    """``build/bin`` with the C programs up to date; skips where no compiler is."""
    built = ROOT / "build" / "bin"
    if shutil.which("make") and shutil.which(os.environ.get("CC", "cc")):
        built.parent.mkdir(exist_ok=True)
        _build(built.parent / "make.log")
    elif not (built / "fakegpud").exists():
        pytest.skip("no C compiler: apt-get install gcc make libc6-dev")
    return built


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """``support.eventually`` as a fixture: wait for a condition, with a deadline."""
    return wait_for
