"""The kernel tests: one boot of the lab VM for all guest scripts.

Owns the boot, and the reason where there can be none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glassstack.gpu.lab import driver, needs
from glassstack.gpu.versions import library
from tests.kmod.guests import RUN_S, SCRIPT_S, Run, read_run, scripts
from tests.support import ROOT

UPGRADE = "560.28.03"


def missing() -> str:
    """Why no VM with the module can be had here; empty when it can."""
    if os.geteuid() != 0:
        return "not root: the VM reads the host's files as this user"
    try:
        found = needs.find()
        driver.modules(found.kernel, ROOT)
    except (needs.LabMissingError, driver.DriverError) as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def guest(native: Path, minirt: Path) -> Run:
    """Boots once and runs every script; skips with the reason where that can't be."""
    del minirt  # up to date for the scripts that start containers
    if why := missing():
        pytest.skip(why)
    if (ROOT / "tests/kmod/Makefile").is_file():
        subprocess.run(["make", "-s", "-C", ROOT / "tests/kmod"], check=True)
    subprocess.run(["make", "-s", "-C", ROOT / "tests/minirt", "guest"], check=True)
    # The drills upgrade to this one; built here, as the guest would take a minute for it.
    for kind in ("umd", "ml"):
        library(kind, UPGRADE)
    lab = ["timeout", str(RUN_S), sys.executable, "-m", "glassstack.cli.main", "lab", "--verbose", "--"]
    started = time.monotonic()
    done = subprocess.run(
        [*lab, ROOT / "tests/kmod/run_guest", str(SCRIPT_S), *scripts()],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    log = native.parent / "kmod-tests.log"
    log.write_text(done.stdout + done.stderr)
    return read_run(done, time.monotonic() - started)
