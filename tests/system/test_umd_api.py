"""The UMD's own API on the embedded device, through ring and through ioctl alike."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.system.umd_lab import on_device


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory, native: Path) -> Path:
    """umd_probe.c, built against the UMD under test."""
    program = tmp_path_factory.mktemp("probe") / "umd-probe"
    lib = native.parent / "lib"
    source = ROOT / "tests" / "system" / "umd_probe.c"
    flags = ["-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT / 'kmod' / 'umd'}", f"-Wl,-rpath,{lib}"]
    subprocess.run(["cc", *flags, "-o", program, source, lib / "libfakecuda.so.1"], check=True)
    return program


@pytest.mark.parametrize("submit", ["ring", "ioctl"])
@pytest.mark.parametrize(
    "case",
    ["arguments", "memory", "fault-13", "fault-31", "fault-32", "overrun", "query", "threads"],
)
def test_case_holds(native: Path, probe: Path, case: str, submit: str) -> None:
    done = on_device(native, probe, case, FAKECUDA_SUBMIT=submit)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
