"""`glassstack trace` sees the calls that strace sees: same calls, same order per thread, same returns."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests import tracing

pytestmark = pytest.mark.ptrace

DEVICES = r"/dev/(?:null|zero|fakegpu\d+)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trace")


@pytest.fixture(scope="module")
def mix(folder: Path) -> Path:
    return tracing.build("trace_mix.c", folder)


def sequences(threads: dict[int, list[tracing.Seen]]) -> list[list[tracing.Seen]]:
    """Each thread's calls on the devices the program is about, threads in an order that both runs share."""
    kept = ([seen for seen in calls if re.fullmatch(DEVICES, seen.device)] for calls in threads.values())
    return sorted((calls for calls in kept if calls), key=repr)


def test_same_calls_as_strace(mix: Path, folder: Path) -> None:
    ours = tracing.trace("-f", "--all-ioctls", "--json", "--gpu", "none", "--", mix)
    assert ours.returncode == 0, ours.stderr
    theirs = tracing.strace_by_thread([mix], folder, DEVICES)
    assert sequences(tracing.by_thread(ours.stdout)) == sequences(theirs)


def test_exact_counts(mix: Path) -> None:
    ours = tracing.trace("-f", "--all-ioctls", "--json", "--gpu", "none", "-e", "trace=ioctl", "--", mix)
    counts = Counter(line["raw"] for line in tracing.objects(ours.stdout))
    main_program, threads = (0x1001, 0x1002), (0x1010, 0x1011, 0x1012)
    assert all(counts[request] == 23 for request in (*main_program, *threads))
    assert sum(counts.values()) == 23 * 6 + 6 + 5 + 3 * 7


def test_without_follow_only_the_first_process(mix: Path) -> None:
    ours = tracing.trace("--all-ioctls", "--json", "--gpu", "none", "--", mix)
    assert len({line["pid"] for line in tracing.objects(ours.stdout)}) == 1


def test_failed_open_of_a_device_is_seen(mix: Path) -> None:
    ours = tracing.trace("--json", "--gpu", "none", "-e", "openat", "-e", "errno", "--", mix)
    assert [(line["device"], line["errno"]) for line in tracing.objects(ours.stdout)] == [
        ("/dev/fakegpu7777", "ENOENT")
    ]


def test_fork_bomb(folder: Path) -> None:
    bomb = tracing.build("trace_bomb.c", folder)
    ours = tracing.trace("-f", "--json", "--gpu", "none", "-e", "trace=ioctl", "--", bomb, "50")
    assert ours.returncode == 0, ours.stderr
    counts = Counter(line["pid"] for line in tracing.objects(ours.stdout))
    assert len(counts) == 50
    assert set(counts.values()) == {3}
