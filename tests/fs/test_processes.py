"""The process list over a made-up /proc: parsing, caching, CPU share."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from glassstack.collectors.cgroup_mounts import memberships
from glassstack.collectors.holders import HolderCollector
from glassstack.collectors.identity import REFRESH, Identities, main_path, read_stat
from glassstack.collectors.processes import ProcessCollector
from glassstack.model.entities import ProcessInfo

KERNEL_THREAD = 0x00200000


def write(proc: Path, pid: int, name: str = "app", flags: int = 0, utime: int = 0, start: int = 100) -> None:
    """A process; everything else of it is the same."""
    home = proc / str(pid)
    (home / "fd").mkdir(parents=True, exist_ok=True)
    (home / "maps").write_text("")
    (home / "stat").write_text(
        f"{pid} ({name}) R 1 1 1 0 -1 {flags} 0 0 0 0 {utime} 5 0 0 20 0 3 0 {start} 4096 23"
        + " 0" * 30
        + "\n"
    )
    (home / "status").write_text(f"Name:\t{name}\nUid:\t0\t0\t0\t0\nNSpid:\t{pid}\t12\t1\n")
    (home / "cmdline").write_bytes(f"{name}\0-x\0".encode())
    (home / "cgroup").write_text("0::/a\n")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    (tmp_path / "stat").write_text("btime 1000000\n")
    return tmp_path


def one(collector: ProcessCollector) -> ProcessInfo:
    (found,) = collector.look().processes
    return found


def test_fields(proc: Path) -> None:
    write(proc, 7, "we) (ird")
    found = one(ProcessCollector(proc))
    assert (found.pid, found.ppid, found.ns_pids) == (7, 1, (7, 12, 1))
    assert (found.name, found.command, found.state, found.threads) == ("we) (ird", "we) (ird -x", "R", 3)
    assert found.rss % 23 == 0
    assert found.started > 1000000
    assert found.cgroup == "/a"


def test_kernel_threads_only_on_request(proc: Path) -> None:
    write(proc, 2, "kthreadd", KERNEL_THREAD)
    assert ProcessCollector(proc).look().processes == ()
    assert one(ProcessCollector(proc, kernel_threads=True)).name == "kthreadd"


def test_an_exec_is_seen_at_once_and_a_move_in_time(proc: Path) -> None:
    write(proc, 7)
    collector = ProcessCollector(proc)
    assert one(collector).command == "app -x"
    write(proc, 7, "other")
    assert one(collector).command == "other -x"
    (proc / "7" / "cgroup").write_text("0::/moved\n")
    seen = [one(collector).cgroup for _ in range(REFRESH)]
    assert seen[-1] == "/moved"


def test_a_reused_pid_is_another_process(proc: Path) -> None:
    write(proc, 7, start=100)
    collector = ProcessCollector(proc)
    first = one(collector)
    (proc / "7" / "cgroup").write_text("0::/b\n")
    write(proc, 7, start=900)
    (proc / "7" / "cgroup").write_text("0::/b\n")
    assert one(collector).started > first.started
    assert one(collector).cgroup == "/b"


def test_cpu_counts_since_the_last_look(proc: Path) -> None:
    write(proc, 7, utime=0)
    collector = ProcessCollector(proc)
    lifetime = one(collector).cpu
    write(proc, 7, utime=10**6)
    assert one(collector).cpu > 1000 * (lifetime + 1)
    assert one(collector).cpu == 0.0


def test_those_that_end_while_read_are_left_out(proc: Path) -> None:
    write(proc, 7)
    write(proc, 8)
    (proc / "8" / "status").unlink()
    write(proc, 9)
    (proc / "9" / "stat").write_text("9 (short) S 1\n")
    assert [p.pid for p in ProcessCollector(proc).look().processes] == [7]


def test_forgotten_when_gone(proc: Path) -> None:
    for pid in range(100, 123):
        write(proc, pid)
    identities = Identities(proc)
    identities.begin(list(range(100, 123)))
    for pid in range(100, 123):
        identities.of(pid, read_stat(str(proc), pid))
    identities.begin([100])
    assert set(identities._known) == {100}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("2:cpu:/c\n1:memory:/m\n0::/v\n", "/v"),
        ("2:cpu:/c\n1:memory:/m\n0::/\n", "/m"),
        ("2:cpu:/c\n1:memory:/\n", "/c"),
        ("0::/\n", "/"),
        ("", ""),
    ],
)
def test_the_path_that_stands_for_all(text: str, path: str) -> None:
    assert main_path(memberships(text)) == path


def test_shared_holders_are_not_looked_for_again(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(proc, 7)
    (proc / "7" / "fd" / "5").symlink_to("/dev/fakegpu0")
    shared = HolderCollector(proc)
    shared.look()
    monkeypatch.setattr(shared, "look", lambda: pytest.fail("looked again"))
    collector = ProcessCollector(proc, holders=shared)
    assert [one(collector).gpu for _ in range(3)] == ["/dev/fakegpu0"] * 3
