"""Drill mode through its keys: check, hint, report, evidence, and a shell that takes every key but one."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from glassstack.tui.drill import DrillApp
from glassstack.tui.palette import commands
from glassstack.tui.shellkeys import LEAVE
from glassstack.tui.widgets.question import Question
from tests.snapshots import fake
from tests.snapshots.seat import FakeSeat
from tests.unit.test_tui_app import text_of, until

SHELL = ("sh", "-i")


def app_of(seat: FakeSeat, shell: bool = False) -> DrillApp:
    return DrillApp(seat, store=fake.store_of(fake.healthy()), shell=shell)


def shown(app: DrillApp) -> str:
    """What the shell pane shows."""
    pane = app.shell_pane
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


async def test_a_check_says_what_fails_and_then_the_debrief_comes() -> None:
    seat = FakeSeat()
    app = app_of(seat)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "not yet" in text_of(app.panel))
        assert "the training writes no step" in text_of(app.panel)
        assert "Debrief" not in text_of(app.panel)
        await pilot.press("e")
        assert app.pane_id == "stack"
        await pilot.press("c")
        await until(pilot, lambda: "● solved in 3:07" in text_of(app.panel))
        assert "Silence is the normal state." in text_of(app.panel)
        await pilot.press("e")
        await until(pilot, lambda: app.pane_id == "fences")
        await pilot.press("e")
        await until(pilot, lambda: app.pane_id == "calls")


async def test_a_check_that_breaks_says_so() -> None:
    seat = FakeSeat()
    app = app_of(seat)

    def broken() -> None:
        raise ValueError("no world")

    seat.check = broken  # type: ignore[method-assign, assignment]
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "✗ ValueError: no world" in text_of(app.panel))
        assert not app.panel.checking


@pytest.mark.parametrize(("answer", "taken"), [("y", 1), ("n", 0), ("escape", 0)])
async def test_a_hint_asks_before_it_costs(answer: str, taken: int) -> None:
    seat = FakeSeat()
    app = app_of(seat)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("H")
        await until(pilot, lambda: app.screen.query(Question))
        assert "Take hint 1 of 3 for 10 points?" in text_of(app.screen.query_one(Question))
        assert "The report" in text_of(app.panel)
        await pilot.press("c", LEAVE)
        assert (seat.taken, seat.checks) == (0, 0)
        await pilot.press(answer)
        await until(pilot, lambda: not app.screen.query(Question) and seat.taken == taken)
        wanted = "1 of 3 hints  90 points" if taken else "0 of 3 hints  100 points"
        await until(pilot, lambda: wanted in text_of(app.panel))
        assert ("Does anything move in memory?" in text_of(app.panel)) == bool(taken)


async def test_there_are_no_more_than_three_hints() -> None:
    seat = FakeSeat()
    seat.taken = 3
    app = app_of(seat)
    async with app.run_test() as pilot:
        await pilot.press("H")
        await pilot.pause()
        assert app.notice == "there are no more hints"


async def test_a_drill_that_somebody_ended_says_so() -> None:
    seat = FakeSeat()
    app = app_of(seat)
    async with app.run_test(size=(160, 48)) as pilot:
        seat.ended = True
        await until(pilot, lambda: "✗ the drill was ended" in text_of(app.panel))


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (119, 30), (250, 80)])
async def test_every_size(size: tuple[int, int]) -> None:
    app = app_of(FakeSeat())
    async with app.run_test(size=size) as pilot:
        for key in ("b", "z", "z", "b", "question_mark", "escape", LEAVE, LEAVE):
            await pilot.press(key)
            await pilot.pause()
        await pilot.resize_terminal(size[0] + 50, size[1] + 3)
        await pilot.pause()
        assert all(len(line) <= size[0] + 50 for line in shown(app).split("\n"))


def test_every_action_of_the_drill_is_in_help_and_palette() -> None:
    for _, _, action in commands(DrillApp.actions):
        assert hasattr(DrillApp, f"action_{action.split('(')[0]}"), action


async def test_the_shell_gets_every_key_but_one() -> None:
    app = app_of(FakeSeat(SHELL), shell=True)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "$" in shown(app))
        await pilot.press(LEAVE)
        await pilot.pause()
        assert app.typing
        await pilot.press(*"echo $((6*7)) q?b2", "enter")
        await until(pilot, lambda: "42 q?b2" in shown(app))
        assert app.pane_id == "stack"
        await pilot.press(*"sleep 1000", "enter", "ctrl+c")
        await pilot.press("ctrl+p", "ctrl+q", "ctrl+u")
        await pilot.press(*"echo after-$((1+1))", "enter")
        await until(pilot, lambda: "after-2" in shown(app))
        app.shell_pane.post_message(events.Paste("echo pasted-$((2+1))\n"))
        await until(pilot, lambda: "pasted-3" in shown(app))
        await pilot.press(LEAVE)
        await until(pilot, lambda: not app.typing)
        await pilot.press("2")
        await until(pilot, lambda: app.pane_id == "calls")


async def test_the_shell_knows_its_size_and_is_told_of_another() -> None:
    app = app_of(FakeSeat(SHELL), shell=True)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "$" in shown(app))
        await pilot.press(LEAVE, *"stty size", "enter")
        pane = app.shell_pane
        await until(pilot, lambda: f"{pane.size.height - 1} {pane.size.width}" in shown(app))
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: pane.size.width == 100)
        await pilot.press(*"stty size", "enter")
        await until(pilot, lambda: f"{pane.size.height - 1} 100" in shown(app))


async def test_when_the_shell_ends_the_pane_says_so_and_another_can_be_had() -> None:
    app = app_of(FakeSeat(SHELL), shell=True)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "$" in shown(app))
        await pilot.press(LEAVE, *"exit 3", "enter")
        await until(pilot, lambda: "ended, exit status 3" in shown(app))
        await pilot.press("x", "enter")
        await until(pilot, lambda: "keys go to the shell" in shown(app))
        await pilot.press(*"echo again-$((1+1))", "enter")
        await until(pilot, lambda: "again-2" in shown(app))


async def test_a_flood_leaves_the_keyboard_alone_and_is_painted_seldom() -> None:
    app = app_of(FakeSeat(SHELL), shell=True)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "$" in shown(app))
        await pilot.press(LEAVE, *"yes glass", "enter")
        await until(pilot, lambda: shown(app).count("\nglass") > 10)
        painted: list[float] = []
        loop = asyncio.get_running_loop()
        paint = app.shell_pane.repaint

        def counted() -> None:
            painted.append(loop.time())
            paint()

        app.shell_pane.repaint = counted  # type: ignore[method-assign]
        began = loop.time()
        await until(pilot, lambda: loop.time() - began > 1.0)
        seconds = loop.time() - began
        assert 1 <= len(painted) <= 20 * seconds + 1
        await pilot.press("ctrl+c")
        await pilot.press(*"echo over-$((3+4))", "enter")
        await until(pilot, lambda: "over-7" in shown(app), 10)


async def test_leaving_ends_the_shell() -> None:
    app = app_of(
        FakeSeat(("sh", "-c", "trap '' HUP; echo stubborn; while :; do sleep 1000; done")), shell=True
    )
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "stubborn" in shown(app))
        console = app._console
        assert console is not None
    assert console._process.returncode == -9
