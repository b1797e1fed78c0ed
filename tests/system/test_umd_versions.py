"""UMD and runtime of any version: the driver ↔ CUDA table and who runs on whom.

Builds other versions into a folder of its own; needs no device, only a C
compiler. The table's rows are NVIDIA's release notes.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT

PROBE = """
#include "versions.h"
int main(int argc, char **argv)
{
    (void)argc;
    printf("%d %d\\n", fakecuda_of_driver(argv[1]), fakecuda_runs_on(fakecuda_number(argv[2]), argv[1]));
}
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory, native: Path) -> Path:
    """A program that tells what versions.h says of a driver and a runtime."""
    folder = tmp_path_factory.mktemp("probe")
    (folder / "probe.c").write_text(PROBE)
    umd = str(ROOT / "kmod" / "umd")
    subprocess.run(["cc", "-I", umd, "-o", folder / "probe", folder / "probe.c"], check=True)
    return folder / "probe"


def ask(probe: Path, driver: str, runtime: str) -> tuple[int, bool]:
    """CUDA version of ``driver``, and whether ``runtime`` runs on it."""
    done = subprocess.run([probe, driver, runtime], check=True, capture_output=True, text=True)
    cuda, runs = done.stdout.split()
    return int(cuda), runs == "1"


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("450.51.06", 11000),
        ("470.42.01", 11040),
        ("515.105.01", 11070),
        ("525.60.13", 12000),
        ("525.60.12", 11080),
        ("535.54.03", 12020),
        ("535.104.05", 12020),
        ("550.54.14", 12040),
        ("550.54.15", 12040),
        ("570.26", 12080),
        ("570.124.06", 12080),
        ("580.65.06", 13000),
        ("390.12", 0),
    ],
)
def test_a_driver_offers_the_cuda_version_it_shipped_with(probe: Path, driver: str, cuda: int) -> None:
    assert ask(probe, driver, "12.4")[0] == cuda


@pytest.mark.parametrize(
    ("driver", "runtime", "runs"),
    [
        ("550.54.14", "12.4", True),
        ("550.54.14", "11.8", True),
        ("550.54.14", "12.9", True),  # minor-version compatibility
        ("550.54.14", "13.0", False),
        ("525.60.13", "12.9", True),
        ("525.60.12", "12.0", False),
        ("450.80.02", "11.8", True),
        ("450.51.06", "11.0", True),  # its own runtime, though below the minimum of 11.x
        ("450.51.06", "11.1", False),
        ("580.65.06", "13.1", True),
        ("575.57.08", "13.0", False),
    ],
)
def test_a_runtime_runs_on_its_drivers_and_no_others(
    probe: Path, driver: str, runtime: str, runs: bool
) -> None:
    assert ask(probe, driver, runtime)[1] is runs


def test_any_version_of_both_can_be_built(tmp_path: Path, native: Path) -> None:
    subprocess.run(
        ["make", "-C", ROOT / "kmod", "umd", "runtime", f"OUT={tmp_path}", "VERSION=535.54.03", "CUDA=12.6"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    number = ctypes.c_int()
    runtime = ctypes.CDLL(str(tmp_path / "lib" / "libfakecudart.so.12.6"))
    assert runtime.fcudaRuntimeGetVersion(ctypes.byref(number)) == 0
    assert number.value == 12060
    # before anything else loads a UMD: the runtime finds the one that lies beside it
    assert runtime.fcudaDriverGetVersion(ctypes.byref(number)) == 0
    assert number.value == 12020
    umd = ctypes.CDLL(str(tmp_path / "lib" / "libfakecuda.so.535.54.03"))
    umd.fcuDriverGetVersionString.restype = ctypes.c_char_p
    assert umd.fcuDriverGetVersionString() == b"535.54.03"
