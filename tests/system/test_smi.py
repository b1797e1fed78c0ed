"""fakegpu-smi and its library on the embedded device: what they say against what the device says."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glassstack.collectors.control import Control
from tests.system.umd_lab import STUCK, build, environment, on_device, run_alone

UUID = "GPU-fa6e617c-510d-4f10-8a3b-67707500000{}"
ALL = "index,name,uuid,driver_version,memory.total,memory.used,utilization.gpu,pci.bus_id,power.draw"


def smi(native: Path, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return on_device(native, native / "fakegpu-smi", *arguments, options=options)


@contextmanager
def busy(native: Path, *program: str) -> Iterator[tuple[Control, str]]:
    """A device with a program on it that has begun to work; its control and name."""
    name = f"smi-{os.getpid()}"
    command: list[str | Path] = [native / "fakegpu-run", "--name", name, "--"]
    command += [native / program[0], *program[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as running:
        assert running.stdout
        try:
            assert running.stdout.readline()
            yield Control(f"fakegpu/{os.getuid()}/{name}"), name
        finally:
            running.terminate()


def joined(native: Path, name: str, *arguments: str) -> str:
    done = smi(native, *arguments, options=("--join", name))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_list(native: Path) -> None:
    done = smi(native, "-L", options=("--devices", "2"))
    assert done.stdout.splitlines() == [f"GPU {n}: Fakegpu F100 (UUID: {UUID.format(n)})" for n in (0, 1)]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_query_as_csv(native: Path) -> None:
    done = smi(native, f"--query-gpu={ALL}", "--format=csv", options=("--devices", "2", "--vram", "512"))
    head, first, second = csv.reader(io.StringIO(done.stdout), skipinitialspace=True)
    units = {
        "memory.total": " [MiB]",
        "memory.used": " [MiB]",
        "utilization.gpu": " [%]",
        "power.draw": " [W]",
    }
    assert head == [name + units.get(name, "") for name in ALL.split(",")]
    assert first[:6] == ["0", "Fakegpu F100", UUID.format(0), "550.54.14", "512 MiB", "0 MiB"]
    assert first[6:] == ["0 %", "00000000:01:00.0", "[N/A]"]
    assert second[0] == "1"


def test_noheader_nounits_and_a_choice_of_devices(native: Path) -> None:
    fields = ("--query-gpu=memory.total,index", "--format=csv,noheader,nounits")
    for chosen, index in (("1", "1"), (UUID.format(1), "1"), ("02:00.0", "1"), ("00000000:01:00.0", "0")):
        assert smi(native, *fields, "-i", chosen, options=("--devices", "2")).stdout == f"1024, {index}\n"
    done = smi(native, *fields, "-i", "7")
    assert (done.returncode, done.stderr) == (6, "No devices were found\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--query-gpu=fan.speed.of.light", "--format=csv"),
        ("--query-gpu=name",),
        ("--query-gpu=name", "--format=xml"),
        ("-L", "-q"),
        ("-l", "0"),
        ("nonsense",),
    ],
)
def test_bad_usage(native: Path, arguments: tuple[str, ...]) -> None:
    done = run_alone(native / "fakegpu-smi", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fakegpu-smi: ")
    assert done.stderr.count("\n") == 1


def test_memory_and_processes_are_the_devices(native: Path) -> None:
    with busy(native, "fakegpu-train", "--steps", "5", "--rate", "0", "--stay") as (control, name):
        (device,) = control.status().devices
        (context,) = [one for one in device.contexts if one.name == "fakegpu-train"]
        table, full = joined(native, name), joined(native, name, "-q")
    used = -(-device.vram_used // 2**20)
    assert used >= 1
    row = rf"\| +0 +{context.pid} +C +fakegpu-train +{used}MiB \|"
    assert re.search(row, table), table
    assert re.search(rf"\| +0 .*{used}MiB / 1024MiB +\d+% +\|", table)
    assert "Driver Version: 550.54.14" in table
    assert "CUDA Version: 12.4" in table
    assert {len(line) for line in table.splitlines()[1:]} == {80}
    facts = dict(re.findall(r"^ *(\S.*?) +: (.*)$", full, re.M))
    assert facts["Process ID"] == str(context.pid)
    assert facts["Context"] == str(context.id)
    assert facts["GPU Current Temp"] == facts["Power Draw"] == facts["Memory"] == "N/A"
    assert facts["Used"] == f"{used} MiB"


def test_only_its_own_look_is_no_user(native: Path) -> None:
    done = smi(native)
    assert "No running processes found" in done.stdout


def test_utilisation_is_measured(native: Path) -> None:
    """At rest it is 0; a hang is work that does not end: 100."""
    fields = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
    with busy(native, "fakegpu-train", "--steps", "1", "--rate", "0", "--stay") as (_, name):
        assert joined(native, name, *fields) == "0\n"
    # the first steps are done when it says so
    name = f"smi-hang-{os.getpid()}"
    command: list[str | Path] = [native / "fakegpu-run", "--name", name, "--fault", "hang", "--ready-fd", "1"]
    command += ["--", native / "fakegpu-train", "--steps", "1", "--rate", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as running:
        assert running.stdout
        assert running.stdout.readline() == b"\n"
        values = [joined(native, name, *fields) for _ in range(5)]
        running.kill()
    assert "100\n" in values


def test_monitors_keep_the_beat(native: Path) -> None:
    with busy(native, "fakegpu-train", "--steps", "5", "--rate", "0", "--stay") as (control, name):
        pid = control.status().devices[0].contexts[0].pid
        dmon = joined(native, name, "dmon", "-c", "2").splitlines()
        pmon = joined(native, name, "pmon", "-c", "2").splitlines()
    assert [line.split() for line in dmon[2:]] == [["0", "0", "-", "1"]] * 2
    rows = [line.split() for line in pmon[2:]]
    assert [row[:3] for row in rows] == [["0", str(pid), "C"]] * 2
    assert [row[3] for row in rows] == ["-", "0"]  # the first look has nothing to compare with


def test_a_loop_ends_on_a_signal(native: Path) -> None:
    command: list[str | Path] = [native / "fakegpu-run", "--", native / "fakegpu-smi", "-L", "-l", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as running:
        assert running.stdout
        assert [running.stdout.readline()[:6] for _ in range(2)] == ["GPU 0:"] * 2
        running.terminate()
        assert running.wait(STUCK) == 0


def test_no_driver(native: Path) -> None:
    if Path("/dev/fakegpuctl").exists():
        pytest.skip("this machine has the module loaded")
    done = run_alone(native / "fakegpu-smi")
    assert (done.returncode, done.stdout) == (9, "")
    assert "couldn't communicate with the fakegpu driver" in done.stderr


def test_another_version_of_the_driver(native: Path) -> None:
    done = smi(native, options=("--version", "535.54.03"))
    assert done.returncode == 18
    assert done.stderr == (
        "Failed to initialize FGML: Driver/library version mismatch\nFGML library version: 550.54.14\n"
    )


def test_another_version_of_the_library(native: Path, tmp_path: Path) -> None:
    """What LD_LIBRARY_PATH puts first is what is used: a library of the old driver on the new one."""
    libraries = build(tmp_path, "ml", "VERSION=535.54.03")
    done = on_device(native, native / "fakegpu-smi", LD_LIBRARY_PATH=str(libraries))
    assert done.returncode == 18
    assert done.stderr.endswith("FGML library version: 535.54.03\n")
    both = on_device(
        native, native / "fakegpu-smi", options=("--version", "535.54.03"), LD_LIBRARY_PATH=str(libraries)
    )
    assert both.returncode == 0
    assert "CUDA Version: 12.2" in both.stdout


def test_no_library(native: Path, tmp_path: Path) -> None:
    (tmp_path / "fakegpu-smi").write_bytes((native / "fakegpu-smi").read_bytes())
    (tmp_path / "fakegpu-smi").chmod(0o755)
    done = run_alone(tmp_path / "fakegpu-smi")
    assert done.returncode == 12
    assert "couldn't find libfakeml.so.1" in done.stderr


def test_a_lost_device(native: Path) -> None:
    """It falls off the bus at its first job; the other one goes on."""
    faults = ("--devices", "2", "--fault", "off-bus,device=0")
    script = f"{native}/fakegpu-vectoradd >/dev/null 2>&1; exec {native}/fakegpu-smi -L"
    done = on_device(native, "sh", "-c", script, options=faults)
    assert done.returncode == 15
    assert done.stdout == f"GPU 1: Fakegpu F100 (UUID: {UUID.format(1)})\n"
    assert done.stderr == "Unable to determine the device handle for GPU0: GPU is lost\n"


LIBRARY = """
import ctypes, sys
ml = ctypes.CDLL(sys.argv[1])
number, text = ctypes.c_uint32(), ctypes.create_string_buffer(96)
handle, other = ctypes.c_void_p(), ctypes.c_void_p()
ml.fmlErrorString.restype = ctypes.c_char_p
said = [ml.fmlDeviceGetCount(ctypes.byref(number)), ml.fmlShutdown(), ml.fmlInit(), ml.fmlInit()]
said += [ml.fmlDeviceGetCount(None), ml.fmlDeviceGetHandleByIndex(1, ctypes.byref(handle))]
said += [ml.fmlDeviceGetHandleByIndex(0, ctypes.byref(handle)), ml.fmlDeviceGetName(None, text, 96)]
said += [ml.fmlDeviceGetName(handle, text, 12), ml.fmlDeviceGetName(handle, text, 13)]
said += [ml.fmlDeviceGetTemperature(handle, 0, ctypes.byref(number))]
said += [ml.fmlShutdown(), ml.fmlDeviceGetName(handle, text, 96)]
said += [ml.fmlShutdown(), ml.fmlDeviceGetName(handle, text, 96), ml.fmlShutdown()]
print(said, text.value.decode(), *(ml.fmlErrorString(n).decode() for n in (9, 18, 999)), sep=";")
"""


def test_error_numbers_are_nvmls(native: Path) -> None:
    library = native.parent / "lib/libfakeml.so.1"
    done = on_device(native, sys.executable, "-S", "-c", LIBRARY, library)
    said = [1, 1, 0, 0, 2, 2, 0, 2, 7, 0, 3, 0, 0, 0, 1, 1]
    words = ["Fakegpu F100", "Driver Not Loaded", "Driver/library version mismatch", "Unknown Error"]
    assert done.stdout == f"{said};{';'.join(words)}\n"
