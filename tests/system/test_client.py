"""fakegpu-client on the embedded device: every check passes, and the program keeps its word.

What the client checks is kmod/SPEC.md; here is only that it does, that it says
so in its exit code, and that it makes the same calls every time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.system.umd_lab import STUCK, environment, on_device, run_alone


def test_every_check_passes(native: Path) -> None:
    listed = run_alone(native / "fakegpu-client", "--list").stdout.split()
    done = on_device(native, native / "fakegpu-client")
    assert done.stdout.splitlines() == [f"PASS {name}" for name in listed] + [
        f"{len(listed)} passed, 0 failed"
    ]
    assert (done.returncode, done.stderr) == (0, "")
    assert len(listed) >= 40


def test_only_runs_one_check(native: Path) -> None:
    done = on_device(native, native / "fakegpu-client", "--only", "vecadd")
    assert (done.stdout, done.returncode) == ("PASS vecadd\n1 passed, 0 failed\n", 0)


@pytest.mark.parametrize(
    "arguments", [["--only", "nothing"], ["--device", "8"], ["--device", "-1"], ["more"]]
)
def test_usage_errors_are_one_line(native: Path, arguments: list[str]) -> None:
    done = on_device(native, native / "fakegpu-client", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_without_a_device_it_says_what_to_do(native: Path) -> None:
    done = run_alone(native / "fakegpu-client")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.fullmatch(r"fakegpu-client: /dev/fakegpu0: .*; start it under fakegpu-run.*\n", done.stderr)


def test_a_second_device_is_as_good_as_the_first(native: Path) -> None:
    done = on_device(native, native / "fakegpu-client", "--device", "1", options=("--devices", "2"))
    assert done.stdout.endswith(" passed, 0 failed\n"), done.stdout
    assert done.returncode == 0


def ioctls(native: Path, folder: Path) -> list[str]:
    """The client's device calls as strace tells them, without pointers and descriptors."""
    folder.mkdir()
    command = ["strace", "-ff", "-o", str(folder / "log"), "-e", "trace=ioctl"]
    command += [str(native / "fakegpu-run"), "--", str(native / "fakegpu-client")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=STUCK, env=environment())
    call = re.compile(
        r"^ioctl\(\d+, (_IOC\([^)]* 0xfa, [^)]*\)), (?:0x[0-9a-f]+|NULL)\)\s+= (.*)$", re.MULTILINE
    )
    traces = [call.findall(file.read_text()) for file in folder.iterdir()]
    (calls,) = [calls for calls in traces if calls]
    return [f"{number} = {result}" for number, result in calls]


@pytest.mark.ptrace
def test_it_makes_the_same_calls_every_time(native: Path, tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed: apt-get install strace")
    first, second = (ioctls(native, tmp_path / str(n)) for n in range(2))
    assert len(first) > 300
    assert first == second
