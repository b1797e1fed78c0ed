"""A strace log read back has the calls that our own tracer saw, in the same order, for each option set."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from glassstack.collectors.strace_log import StraceLog
from glassstack.model.events import Syscall
from tests import tracing

pytestmark = pytest.mark.ptrace

SHARED = {"ioctl", "open", "openat", "mmap", "munmap", "close", "dup", "dup2", "dup3", "fcntl"}
PLAIN = (
    *("-f", "-f -T", "-f -ttt -X raw", "-f -r -n -i", "-f -t -r", "-f -Y -v", "-f -X verbose"),
    *("-f -k -tt -T", "-f -xx -s 64 -C", "-f -q --relative-timestamps=ns", "-ff -ttt", "-ff"),
)
NAMED = (
    "-f -y -T",
    "-f -yy -tt",
    "-f -y -X raw -ttt",
    "-ff -y -tt -r",
    "-f -xx -y",
    "-f --decode-fds=all --absolute-timestamps=format:unix,precision:ns --syscall-times=ns",
)
CALLS = (
    "trace=ioctl,open,openat,mmap,munmap,close,dup,dup2,dup3,fcntl,clone,clone3,fork,vfork,execve,close_range"
)

Threads = list[list[tracing.Seen]]


def of_device(threads: dict[int, list[tracing.Seen]]) -> Threads:
    """Threads that use the device by ioctl: strace sees the device's own threads, too."""
    kept = ([seen for seen in calls if seen.syscall in SHARED and seen.device] for calls in threads.values())
    asking = (calls for calls in kept if any((seen.request or 0) >> 8 & 0xFF == 0xFA for seen in calls))
    return sorted(asking, key=repr)


def ours(native: Path, program: str) -> Threads:
    done = tracing.trace("-f", "--json", "--gpu", "embedded", "--", native / program)
    assert done.returncode == 0, done.stderr
    text = "\n".join(line for line in done.stdout.splitlines() if line.startswith('{"schema"'))
    return of_device(tracing.by_thread(text))


def strace(native: Path, folder: Path, program: str, options: str) -> list[Path]:
    if not shutil.which("strace"):
        pytest.skip("no strace to compare with: apt-get install strace")
    programs = [str(native / "fakegpu-run"), str(native / program)]
    command = ["strace", *options.split(), "-e", CALLS, "-o", str(folder / "log"), *programs]
    subprocess.run(command, check=False, capture_output=True, timeout=tracing.TIMEOUT)
    return [folder / "log"]


def theirs(paths: list[Path]) -> Threads:
    threads: dict[int, list[tracing.Seen]] = {}
    for batch in StraceLog(paths).read():
        for event in batch:
            if isinstance(event, Syscall):
                ret = -1 if event.errno else event.ret
                ret = min(ret, 0) if event.syscall == "mmap" else ret
                seen = tracing.Seen(event.syscall, event.device, event.raw, ret)
                threads.setdefault(event.tid, []).append(seen)
    return of_device(threads)


@pytest.fixture(scope="module")
def vectoradd(native: Path) -> Threads:
    return ours(native, "fakegpu-vectoradd")


@pytest.fixture(scope="module")
def client(native: Path) -> Threads:
    return ours(native, "fakegpu-client")


@pytest.mark.parametrize("options", [*PLAIN, *NAMED])
def test_a_log_of_any_options_has_the_calls_our_tracer_saw(
    native: Path, tmp_path: Path, vectoradd: Threads, options: str
) -> None:
    assert theirs(strace(native, tmp_path, "fakegpu-vectoradd", options)) == vectoradd


@pytest.mark.parametrize("options", NAMED)
def test_a_program_that_forks_and_passes_descriptors(
    native: Path, tmp_path: Path, client: Threads, options: str
) -> None:
    assert theirs(strace(native, tmp_path, "fakegpu-client", options)) == client
