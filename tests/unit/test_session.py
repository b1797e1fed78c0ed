"""A session starts its parts in order, stops them in reverse, and records what is read."""

from pathlib import Path

import pytest

from glassstack.collectors.base import Sink
from glassstack.model.events import Failed
from glassstack.model.values import Source
from glassstack.session import Session, Targets
from glassstack.store.recording import Player
from tests.unit.events import call, process


class FakePart:
    def __init__(self, name: str, log: list[str], fails: bool = False) -> None:
        self.name, self.log, self.fails = name, log, fails

    def start(self) -> None:
        if self.fails:
            raise OSError(self.name)
        self.log.append(f"start {self.name}")

    def stop(self) -> None:
        self.log.append(f"stop {self.name}")


def test_parts_stop_in_reverse_and_once() -> None:
    log: list[str] = []
    session = Session("t")
    session.add(lambda sink: FakePart("a", log))
    session.add(lambda sink: FakePart("b", log))
    session.close()
    session.close()
    assert log == ["start a", "start b", "stop b", "stop a"]
    assert session.read(0) is None


def test_a_part_that_cannot_start_stops_the_others_and_itself() -> None:
    log: list[str] = []
    session = Session("t")
    session.add(lambda sink: FakePart("a", log))
    with pytest.raises(OSError, match="b"):
        session.add(lambda sink: FakePart("b", log, fails=True))
    assert log == ["start a", "stop b", "stop a"]


def test_what_is_read_is_recorded_and_what_waits_at_the_end_too(tmp_path: Path) -> None:
    path = tmp_path / "s.gls"
    session = Session("title", record=path)
    sinks: list[Sink] = []
    session.add(lambda sink: sinks.append(sink) or FakePart("a", []))  # type: ignore[func-returns-value]
    sinks[0]([call(1), call(2)])
    assert len(session.read(0) or []) == 2
    sinks[0]([call(3)])
    session.close()
    player = Player(path)
    assert (player.title, player.length) == ("title", 3)
    player.close()


def test_a_full_disk_ends_the_recording_and_not_the_session(tmp_path: Path) -> None:
    session = Session("t", record=tmp_path / "s.gls")
    full = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 - handed to the writer, which closes it
    session._writer._file = full  # type: ignore[union-attr]
    session.sink([call(1)])
    batch = session.read(0)
    assert batch is not None
    assert isinstance(batch[-1], Failed)
    assert "No space left" in session.record_error
    session.sink([call(2)])
    assert session.read(0) == [call(2)]
    full.close()
    session.close()


def test_targets_follow_births_and_deaths() -> None:
    targets = Targets([3])
    targets.learn(
        [process(1, "start"), process(2, "thread", tid=8), process(3, "fork", pid=9), call(4, pid=11)]
    )
    targets.learn([process(5, "exit", tid=8), call(6, pid=12, source=Source.PTRACE)])
    assert targets() == [3, 7, 9, 11]
    targets.learn([process(7, "exit")])
    assert targets() == [3, 9, 11]
