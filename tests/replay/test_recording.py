"""Recordings: both ways, the same pictures as live; damaged and foreign files say so."""

import json
from pathlib import Path

import pytest

from glassstack.model import events as ev
from glassstack.store import recording
from glassstack.store.recording import Player, RecordingError, Writer
from glassstack.store.snapshot import Snapshot
from glassstack.store.store import Store
from tests.unit.events import call, channel, channels, process


def run(count: int) -> list[ev.Event]:
    events: list[ev.Event] = [process(0, "start", command="client")]
    for n in range(1, count):
        events.append(
            channels(n, channel(n, n)) if n % 5 == 0 else call(n, errno="EIO" if n % 7 == 0 else None)
        )
    return events


def picture(snapshot: Snapshot) -> tuple[object, ...]:
    calls = [c for _, c in snapshot.calls.since(0)][: snapshot.calls_end]
    return (
        snapshot.ts,
        snapshot.counts,
        snapshot.failures,
        snapshot.channels,
        snapshot.tracked,
        snapshot.rates,
        calls,
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.gls"
    with Writer(path, "client") as writer:
        for event in run(100):
            writer.write([event])
    return path


@pytest.fixture(autouse=True)
def small_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "CHECKPOINT_EVERY", 16)
    return


def live(count: int) -> tuple[object, ...]:
    store = Store()
    store.apply(run(100)[:count])
    return picture(store.snapshot())


def test_every_position_shows_what_live_showed_whichever_way_it_is_reached(recorded: Path) -> None:
    player = Player(recorded)
    assert (player.length, player.title) == (100, "client")
    for position in [0, 1, 50, 49, 48, 100, 17, 16, 15, 99, 3]:
        player.seek(position)
        assert picture(player.snapshot()) == live(position), position
    player.step(-10)
    assert player.position == 0
    player.step(1000)
    assert player.position == 100
    player.close()


def test_advance_plays_up_to_a_time(recorded: Path) -> None:
    player = Player(recorded)
    assert player.next_ts() == 0
    assert player.advance(41)
    assert (player.position, player.ts) == (42, 41)
    assert not player.advance(10_000)
    assert player.next_ts() is None
    player.close()


def test_a_recording_is_lines_of_json(recorded: Path) -> None:
    lines = recorded.read_text().splitlines()
    assert json.loads(lines[0])["magic"] == recording.MAGIC
    assert json.loads(lines[2])["name"] == "ALLOC"


def test_a_recording_cut_short_plays_up_to_the_cut_and_says_so(recorded: Path) -> None:
    recorded.write_bytes(recorded.read_bytes()[:-30])
    player = Player(recorded)
    assert player.length == 99
    assert "cut short" in player.damaged
    player.seek(99)
    assert picture(player.snapshot()) == live(99)
    player.close()


def test_an_unreadable_line_is_left_out_and_said(recorded: Path) -> None:
    lines = recorded.read_bytes().splitlines(keepends=True)
    lines[5] = b'{"kind":"nonsense"}\n'
    recorded.write_bytes(b"".join(lines))
    player = Player(recorded)
    player.seek(player.length)
    assert "left out" in player.damaged
    assert player.snapshot().calls_end == 80 - 1
    player.close()


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\x7fELF\x00\xff\n", b'{"magic":"other","schema":1}\n', b"[]\n"]
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="not a recording"):
        Player(path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gls"
    path.write_text(json.dumps({"magic": recording.MAGIC, "schema": 99, "title": ""}) + "\n")
    with pytest.raises(RecordingError, match="schema 99"):
        Player(path)


def test_missing_files_directories_and_full_disks_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        Player(tmp_path / "none.gls")
    with pytest.raises(RecordingError, match="directory"):
        Player(tmp_path)
    with pytest.raises(RecordingError, match="No such file"):
        Writer(tmp_path / "no" / "x.gls", "t")
    with pytest.raises(RecordingError, match="No space left"):
        Writer(Path("/dev/full"), "t")
