"""The app through its keys: panes, freezing, the moment, filters, recordings, leaving."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.command import CommandList
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from glassstack.model import events as ev
from glassstack.model.values import Source
from glassstack.session import OpeningError
from glassstack.store.recording import Player, Writer
from glassstack.tui.app import GlassApp
from glassstack.tui.palette import commands
from glassstack.tui.panes import PANES
from glassstack.tui.widgets.bars import BottomBar, TopBar
from glassstack.tui.widgets.inspector import Inspector
from glassstack.tui.widgets.lines import Lines
from tests.snapshots import fake
from tests.unit.test_tui_bridge import QueueFeed


def text_of(widget: Lines) -> str:
    """What a widget shows, line by line."""
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


def app_with(events: list[ev.Event], **options: object) -> GlassApp:
    """An app that shows the picture after the events."""
    return GlassApp(store=fake.store_of(events), **options)  # type: ignore[arg-type]


async def until(pilot: Pilot[int], condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Lets the app run until the condition holds."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "not in time"
        await pilot.pause(0.01)


@pytest.mark.parametrize(
    ("size", "events"), [((40, 10), fake.broken()), ((250, 80), fake.broken()), ((80, 24), [])]
)
async def test_every_pane_draws_every_picture_at_every_size(
    size: tuple[int, int], events: list[ev.Event]
) -> None:
    app = app_with(events)
    async with app.run_test(size=size) as pilot:
        for spec in PANES:
            await pilot.press(spec.key)
            await pilot.pause()
            assert app.pane_id == spec.id
            lines = text_of(app.pane).split("\n")
            assert all(len(line) <= size[0] for line in lines)
            assert any(lines)


async def test_tab_goes_round() -> None:
    app = app_with([])
    async with app.run_test() as pilot:
        await pilot.press("shift+tab")
        assert app.pane_id == PANES[-1].id
        await pilot.press("tab", "tab")
        assert app.pane_id == PANES[1].id


async def test_a_broken_layer_stands_out_by_word() -> None:
    app = app_with(fake.broken())
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        shown = text_of(app.pane)
    device = next(line for line in shown.split("\n") if "└ device" in line)
    assert "✗ broken" in device
    assert "Xid (PCI:0000:01:00): 31" in device


async def test_quiet_is_said_to_be_no_hang() -> None:
    app = app_with(fake.healthy())
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        shown = text_of(app.pane)
    assert "Quiet, not stuck: fakegpu-train 812 made no call" in shown
    assert "fakegpu-burst 815 made no call" not in shown


async def test_enter_on_a_layer_opens_its_pane() -> None:
    app = app_with(fake.healthy())
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("down", "down", "down", "down", "enter")
        await pilot.pause()
        assert app.pane_id == "calls"


async def test_moving_onto_a_call_holds_the_picture_and_shows_its_moment() -> None:
    feed = QueueFeed()
    feed.batches.put(fake.broken())
    app = GlassApp(feed)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: app.snapshot.calls_end)
        await pilot.press("2", "up")
        await pilot.pause()
        assert app.frozen
        feed.batches.put(fake.submits(fake.START + 60 * fake.SECOND, 5, 1000))
        await until(pilot, lambda: app.newest.calls_end > app.snapshot.calls_end)
        panel = text_of(app.query_one(Inspector))
        assert "on NVIDIA" in panel
        assert "FGPU: Xid" in panel
        assert "exit pid 815" in panel
        assert "EIO" in panel
        await pilot.press("7")
        await pilot.pause()
        assert "◆" in text_of(app.pane)
        await pilot.press("f")
        await pilot.pause()
        assert (app.frozen, app.moment) == (False, None)
        assert app.snapshot is app.newest


async def test_detail_shows_every_field() -> None:
    app = app_with(fake.healthy())
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("2", "g", "enter")
        await pilot.pause()
        assert "/dev/fakegpu0, fd 5" in text_of(app.query_one(Inspector))
        await pilot.press("escape")
        await pilot.pause()
        assert not app.query_one(Inspector).has_class("open")


async def test_a_filter_narrows_while_typed_and_escape_takes_it_away() -> None:
    app = app_with(fake.broken())
    async with app.run_test(size=(120, 30)) as pilot:
        everything = app.snapshot.calls_end
        await pilot.press("2", "slash", *"errno", "equals_sign", *"EIO")
        await pilot.pause()
        assert len(app.pane.body) == 1
        await pilot.press("enter")
        await pilot.pause()
        assert (
            "filter: errno=EIO" in text_of(app.query_one(BottomBar)).replace("\n", "")
            or len(app.pane.body) == 1
        )
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.pane.body) == everything


async def test_find_goes_from_match_to_match() -> None:
    app = app_with(fake.healthy())
    async with app.run_test() as pilot:
        await pilot.press("2", "n", *"openat", "enter")
        await pilot.pause()
        first = app.pane.cursor
        await pilot.press("n")
        await pilot.pause()
        second = app.pane.cursor
        assert first is not None
        assert second is not None
        assert first.key != second.key
        assert "openat" in first.text
        assert "openat" in second.text


async def test_the_process_list_picks() -> None:
    picked: list[int] = []
    app = app_with(fake.healthy(), on_pick=picked.append)
    async with app.run_test() as pilot:
        await pilot.press("8", "slash", *"sshd", "enter", "down", "enter")
        await pilot.pause()
    assert picked == [640]


async def test_losses_and_failures_are_on_every_pane() -> None:
    events = [*fake.broken(), ev.Failed(fake.START, Source.SELF, "cgroup", "no /sys/fs/cgroup", "mount it")]
    app = app_with(events)
    async with app.run_test(size=(160, 24)) as pilot:
        for spec in PANES:
            await pilot.press(spec.key)
            await pilot.pause()
            shown = text_of(app.query_one(BottomBar))
            assert "dropped 12 at device" in shown
            assert "cgroup: no /sys/fs/cgroup; mount it" in shown


async def test_the_end_of_the_feed_is_shown() -> None:
    feed = QueueFeed()
    feed.batches.put(None)
    app = GlassApp(feed)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.ended is not None)
        await pilot.pause()
        assert "ended" in text_of(app.query_one(TopBar))


async def test_a_feed_that_could_not_begin_ends_the_screen() -> None:
    feed = QueueFeed()
    feed.batches.put(OpeningError())
    app = GlassApp(feed)
    async with app.run_test() as pilot:
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 1


async def test_a_recording_steps_both_ways(tmp_path: Path) -> None:
    events = fake.broken()
    with Writer(tmp_path / "a.gls", "a test") as writer:
        writer.write(events)
    app = GlassApp(player=Player(tmp_path / "a.gls"))
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: app.position is not None)
        await pilot.press("end")
        await until(pilot, lambda: app.position is not None and app.position.at == len(events))
        await pilot.pause()
        recorded = text_of(app.pane)
        await pilot.press("left", "left_square_bracket", "right", "right_square_bracket")
        await until(pilot, lambda: app.position is not None and app.position.at == len(events))
        await pilot.press("home")
        await until(pilot, lambda: app.position is not None and app.position.at == 0)
        assert not app.snapshot.calls_end
    live = app_with(events)
    async with live.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        assert text_of(live.pane) == recorded


async def test_a_recording_plays_to_its_end(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.gls", "a test") as writer:
        writer.write(fake.submits(fake.START, 10, 10_000_000))
    app = GlassApp(player=Player(tmp_path / "a.gls"))
    async with app.run_test() as pilot:
        await pilot.press("space")
        await until(pilot, lambda: app.position is not None and app.position.at == 20)
        assert app.position is not None
        assert not app.position.playing


async def test_help_lists_every_key_and_what_is_missing_here() -> None:
    app = app_with(fake.healthy())
    async with app.run_test(size=(100, 80)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        shown = text_of(app.screen.query_one(Lines))
        assert "save the screen as a picture" in shown
        assert "bcc is not installed; apt-get install python3-bpfcc" in shown
        await pilot.press("escape", "2")
        await pilot.pause()
        assert app.pane_id == "calls"


async def test_the_palette_runs_what_it_finds() -> None:
    app = app_with([])
    async with app.run_test() as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"cgroups")
        await until(pilot, lambda: any(found.option_count for found in app.screen.query(CommandList)))
        await pilot.press("enter")
        await until(pilot, lambda: app.pane_id == "cgroups")


def test_every_action_of_the_palette_exists() -> None:
    for _, _, action in commands():
        name = action.split("(")[0]
        assert hasattr(GlassApp, f"action_{name}"), name


async def test_a_picture_is_saved_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = app_with(fake.healthy())
    async with app.run_test() as pilot:
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.notice.startswith("saved ")
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".svg"]


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", 0)])
async def test_keys_that_quit(key: str, code: int) -> None:
    app = app_with([])
    async with app.run_test() as pilot:
        await pilot.press(key)
    assert app.return_code == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_signals_leave_through_the_same_door(number: signal.Signals) -> None:
    app = app_with([])
    async with app.run_test() as pilot:
        os.kill(os.getpid(), number)
        await until(pilot, lambda: app.return_code == 128 + number)


async def test_nothing_is_painted_twice() -> None:
    app = app_with(fake.healthy())
    async with app.run_test() as pilot:
        await pilot.pause()
        painted: list[object] = []

        def refresh(*regions: object, **_: object) -> object:
            painted.extend(regions)
            return app.pane

        app.pane.refresh = refresh  # type: ignore[method-assign, assignment]
        app.paint()
        assert painted == []
        await pilot.press("down")
        assert 1 <= len(painted) <= 2


async def test_keys_typed_in_one_go_keep_their_order() -> None:
    app = app_with(fake.healthy())
    async with app.run_test() as pilot:
        await pilot.press("2", "slash")
        await pilot.pause()
        line = app.screen.query_one(Input)
        for key, character in (("a", "a"), ("backspace", None), ("b", "b")):
            line.post_message(Key(key, character))
        await pilot.pause()
        assert line.value == "b"
