"""A stack that does not fit together: the real error number for each way it can fail."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.system.umd_lab import build, on_device, run_alone


def code(stderr: str) -> tuple[int, str]:
    """Number and name of the CUDA error a program ended with."""
    match = re.fullmatch(r'CUDA error at \S+:\d+ code=(\d+)\((\w+)\) ".*": .*\n', stderr)
    assert match, f"not one line with a CUDA error: {stderr!r}"
    return int(match[1]), match[2]


def test_no_driver_is_no_device(native: Path) -> None:
    done = run_alone(native / "fakegpu-vectoradd")
    assert code(done.stderr) == (100, "cudaErrorNoDevice")
    assert done.returncode == 4


def test_no_umd_is_an_insufficient_driver(native: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    program = shutil.copy(native / "fakegpu-vectoradd", tmp_path / "bin")
    shutil.copy(native.parent / "lib" / "libfakecudart.so", tmp_path / "lib")
    done = on_device(native, program)
    assert code(done.stderr) == (35, "cudaErrorInsufficientDriver")
    assert done.returncode == 4


def test_a_umd_of_another_version_is_a_mismatch_and_logged(native: Path, tmp_path: Path) -> None:
    lib = build(tmp_path, "umd", "VERSION=535.54.03")
    then_log = '"$0"; code=$?; "$1" ctl log; exit $code'
    programs = (native / "fakegpu-vectoradd", native / "fakegpud")
    done = on_device(native, "sh", "-c", then_log, *programs, LD_LIBRARY_PATH=str(lib))
    assert code(done.stderr) == (803, "cudaErrorSystemDriverMismatch")
    assert done.returncode == 4
    assert re.search(
        r"FGPU: API mismatch: the client 'fakegpu-vectora\w*' \(pid \d+\) has the version 535\.54\.03, "
        r"but this kernel module has the version 550\.54\.14\.",
        done.stdout,
    )


@pytest.mark.parametrize(
    ("cuda", "runs"), [("11.8", True), ("12.4", True), ("12.9", True), ("13.0", False), ("13.1", False)]
)
def test_a_runtime_needs_a_driver_of_its_major_version(
    native: Path, tmp_path: Path, cuda: str, runs: bool
) -> None:
    path = f"{build(tmp_path, 'runtime', f'CUDA={cuda}')}:{native.parent / 'lib'}"
    done = on_device(native, native / "fakegpu-vectoradd", LD_LIBRARY_PATH=path)
    if runs:
        assert "Test PASSED" in done.stdout
        assert done.returncode == 0
    else:
        assert code(done.stderr) == (35, "cudaErrorInsufficientDriver")
        assert done.returncode == 4


def test_driver_and_umd_of_another_version_fit(native: Path, tmp_path: Path) -> None:
    lib = build(tmp_path, "umd", "VERSION=535.54.03")
    done = on_device(
        native,
        native / "fakegpu-vectoradd",
        options=("--version", "535.54.03"),
        LD_LIBRARY_PATH=str(lib),
    )
    assert "Test PASSED" in done.stdout, done.stderr


def test_a_missing_memory_manager_is_unknown(native: Path) -> None:
    done = on_device(native, native / "fakegpu-vectoradd", options=("--no-uvm",))
    assert code(done.stderr) == (999, "cudaErrorUnknown")
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("fault", "number", "name"),
    [
        ("xid=31,after=5", 700, "cudaErrorIllegalAddress"),
        ("xid=13,after=5", 700, "cudaErrorIllegalAddress"),
        ("xid=43,after=5", 719, "cudaErrorLaunchFailure"),
        ("ecc,after=5", 214, "cudaErrorECCUncorrectable"),
        ("off-bus,after=5", 719, "cudaErrorLaunchFailure"),
        ("off-bus", 100, "cudaErrorNoDevice"),
        ("fw-timeout", 999, "cudaErrorUnknown"),
    ],
)
@pytest.mark.parametrize("program", [["fakegpu-train", "--rate", "0"], ["fakegpu-burst", "--rate", "0"]])
def test_a_fault_of_the_device_ends_a_program_with_its_error(
    native: Path, program: list[str], fault: str, number: int, name: str
) -> None:
    done = on_device(native, native / program[0], *program[1:], options=("--fault", fault))
    assert code(done.stderr) == (number, name)


def test_some_devices_are_fewer_devices(native: Path, tmp_path: Path) -> None:
    done = on_device(
        native, native / "fakegpu-vectoradd", options=("--devices", "2", "--fault", "off-bus,device=0")
    )
    assert "Test PASSED" in done.stdout, "the second device works on"
