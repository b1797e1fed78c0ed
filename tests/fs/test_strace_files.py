"""strace logs as files: one, the many of -ff, a folder, packed, damaged; as a recording for the screen."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from glassstack.cli.open import _as_recording
from glassstack.collectors.strace_log import LogError, StraceLog, looks_like_strace
from glassstack.model.events import Capabilities, Dropped, Event, Syscall
from glassstack.store.recording import Player

CTL = "/dev/nvidiactl"
ALLOC = "_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2b, 0x30)"
OPEN = f'openat(AT_FDCWD, "{CTL}", O_RDWR) = 8'
FORK = "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f10)"


def read(*paths: Path) -> list[Event]:
    return [event for batch in StraceLog(paths).read() for event in batch]


def calls(events: list[Event]) -> list[tuple[int, str, str]]:
    return [(event.tid, event.name, event.device) for event in events if isinstance(event, Syscall)]


def test_one_file_with_what_no_log_can_show(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"{OPEN}\nioctl(8, {ALLOC}, 0x7ff0) = 0\nrubbish\n")
    events = read(path)
    assert isinstance(events[0], Capabilities)
    assert "NV_STATUS" in events[0].capabilities[0].why
    assert calls(events) == [(0, "open", CTL), (0, "RM_ALLOC", CTL)]
    assert [event.count for event in events if isinstance(event, Dropped)] == [1]


@pytest.mark.parametrize("times", ["{}", "12:00:0{}.000000 ", "170000000{}.000000 "])
def test_the_files_of_ff_with_and_without_times(tmp_path: Path, times: str) -> None:
    stamp = [times.format(index) if times != "{}" else "" for index in range(5)]
    (tmp_path / "log.10").write_text(f"{stamp[0]}{OPEN}\n{stamp[1]}{FORK} = 20\n{stamp[3]}close(8) = 0\n")
    (tmp_path / "log.20").write_text(f"{stamp[2]}ioctl(8, {ALLOC}, 0x7ff0) = 0\n{stamp[4]}close(8) = 0\n")
    wanted = {(10, "open", CTL), (20, "RM_ALLOC", CTL), (10, "close", CTL), (20, "close", CTL)}
    for paths in ([tmp_path / "log"], [tmp_path], [tmp_path / "log.10", tmp_path / "log.20"]):
        found = calls(read(*paths))
        assert set(found) == wanted
        if times != "{}":
            assert [tid for tid, _, _ in found] == [10, 20, 10, 20]
    log = StraceLog([tmp_path])
    list(log.read())
    assert any("without absolute times" in line for line in log.said()) is (times == "{}")


def test_packed_crlf_nuls_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    text = f"{OPEN}\r\n\0\0\xff\xfe\r\nioctl(8, {ALLOC}, 0x7ff0) = 0"
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    assert calls(read(path)) == [(0, "open", CTL), (0, "RM_ALLOC", CTL)]


def test_half_a_gzip_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(f"{OPEN}\n".encode() * 5000)[:-40])
    with pytest.raises(LogError, match="can't read"):
        read(path)


def test_a_line_without_an_end_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"{OPEN}\n" + "x" * (5 << 20) + f"\nioctl(8, {ALLOC}, 0x7ff0) = 0\n")
    assert calls(read(path)) == [(0, "open", CTL), (0, "RM_ALLOC", CTL)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no such file"):
        StraceLog([tmp_path / "none"])


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (f"{OPEN}\n", True),
        ("12 1700000000.000001 read(3, \"\", 10) = 0\n", True),
        ("root@h:~# strace -f x\nexecve(\"/bin/x\", [\"x\"], 0x7f /* 3 vars */) = 0\n", True),
        ("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n", False),
        ("", False),
        ('{"magic":"glassstack recording","schema":1,"title":"x"}\n', False),
    ],
)  # fmt: skip
def test_a_log_is_known_by_its_lines(text: str, is_one: bool) -> None:
    assert looks_like_strace(text) is is_one


def test_a_log_becomes_a_recording_for_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = (f"{1700000000 + n}.000000 ioctl(8<{CTL}>, {ALLOC}, 0x7ff0) = 0 <0.000010>\n" for n in range(23))
    path.write_text("".join(lines))
    with _as_recording(StraceLog([path])) as recording:
        player = Player(recording)
        player.seek(player.length)
        snapshot = player.snapshot()
        player.close()
    assert snapshot.counts == {"RM_ALLOC": 23}
    assert snapshot.started == 1_700_000_000 * 10**9
    assert [one.name for one in snapshot.capabilities] == ["arguments of ioctls", "work in the steady state"]
    assert not recording.exists()
