"""Containers as fixtures: the test_minirt_* files run rootful and as an ordinary user.

Owns the choice of users and the reason where there can be no container.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.system import minirt_lab
from tests.system.minirt_lab import Runtime


@pytest.fixture(scope="session")
def container_programs(minirt: Path) -> tuple[Path, Path]:
    """The sanitized runtime and the guest."""
    del minirt  # says why where it can't be built
    minirt_lab.built("tests/minirt", "guest")
    return minirt_lab.sanitized(), ROOT / "build/minirt-tests/guest"


def _made(programs: tuple[Path, Path], rootless: bool) -> Iterator[Runtime]:
    if not rootless and os.geteuid() != 0:
        pytest.skip("not root")
    with minirt_lab.runtime(*programs, rootless) as made:
        if rootless and (done := made.run("/guest", "true")).returncode:
            pytest.skip(f"no user namespaces for ordinary users: {done.stderr.strip()}")
        yield made


@pytest.fixture(params=["rootful", "rootless"])
def containers(container_programs: tuple[Path, Path], request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Both ways of running one."""
    yield from _made(container_programs, request.param == "rootless")


@pytest.fixture
def rootful(container_programs: tuple[Path, Path]) -> Iterator[Runtime]:
    """Root's own."""
    yield from _made(container_programs, False)


@pytest.fixture
def rootless(container_programs: tuple[Path, Path]) -> Iterator[Runtime]:
    """An ordinary user's."""
    yield from _made(container_programs, True)


@pytest.fixture
def fast(minirt: Path, container_programs: tuple[Path, Path]) -> Iterator[Runtime]:
    """Root's own, not sanitized: for what is a matter of time."""
    yield from _made((minirt, container_programs[1]), False)


@pytest.fixture
def host_mounts() -> Iterator[None]:
    """Whatever a test does, the host's mounts stay as they are."""
    before = subprocess.run(["cat", "/proc/self/mountinfo"], capture_output=True, text=True).stdout
    yield
    assert Path("/proc/self/mountinfo").read_text() == before
