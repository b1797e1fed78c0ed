"""Fixtures of the container tests: the guest built, and a runtime for each kind of user."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.minirt import containers
from tests.support import ROOT


@pytest.fixture(scope="session")
def built(minirt: Path) -> tuple[Path, Path]:
    """minirt and the guest, up to date."""
    try:
        return minirt, containers.build_guest(ROOT / "build/minirt-tests")
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{error}\n{error.stderr[-2000:]}", pytrace=False)


def _working(runtime: containers.Runtime) -> None:
    """Skips where this machine lets no container start at all, with minirt's own reason."""
    done = runtime.run("true")
    if done.returncode == 4 or "Operation not permitted" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done


@pytest.fixture(scope="module")
def rootful(built: tuple[Path, Path]) -> Iterator[containers.Runtime]:
    """minirt as root."""
    if os.geteuid() != 0:
        pytest.skip("not root")
    with containers.runtime(*built, rootless=False) as found:
        _working(found)
        yield found


@pytest.fixture(scope="module")
def rootless(built: tuple[Path, Path]) -> Iterator[containers.Runtime]:
    """minirt as an ordinary user."""
    with containers.runtime(*built, rootless=True) as found:
        _working(found)
        yield found
