"""The stage: one picture at a time, shown by panes, and a clean way out.

Owns which snapshot is on screen and when it is painted. Draws nothing itself,
reads nothing: pictures come from the bridge (live) or the replay (a recording).
"""

import asyncio
import signal
import time
from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen
from textual.timer import Timer

from glassstack.session import Feed
from glassstack.store.snapshot import Snapshot
from glassstack.store.store import Store
from glassstack.tui import terminal, theme
from glassstack.tui.bridge import Bridge, Ended, Fresh
from glassstack.tui.keys import ACTIONS
from glassstack.tui.look import TERMINAL_THEME, Look
from glassstack.tui.palette import GlassCommands
from glassstack.tui.pane import Pane
from glassstack.tui.panes import PANES
from glassstack.tui.replay import Played, PlayerLike, Position, Replay
from glassstack.tui.widgets.bars import BottomBar, Status, TopBar
from glassstack.tui.widgets.inspector import Inspector

WIDE = 120
NOTICE_SECONDS = 4.0
_BAR_PERIOD = 1.0
_REST = 10  # times the cost of a painting that pass until the next one, where the machine is slow


class MainScreen(Screen[None], inherit_bindings=False):
    """Keys work here, and not under a dialog."""

    BINDINGS: ClassVar = [
        *(Binding(a.keys, f"app.{a.call}", a.title, show=False) for a in ACTIONS),
        *(Binding(spec.key, f"app.show_pane('{spec.id}')", spec.title, show=False) for spec in PANES),
    ]


class Stage(App[int]):
    """Shows a live feed or a recording.

    Args:
        feed: live events; the caller closes it after ``run``.
        player: a recording instead.
        store: where live events go; a new one by default.
        on_pick: called (in the UI thread, so quickly) with the pid chosen in the process list.
        playing: whether a recording plays at once.
    """

    CSS = theme.CSS
    COMMANDS: ClassVar = {GlassCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
    TITLE = "glassstack"
    actions: ClassVar = ACTIONS

    def __init__(
        self,
        feed: Feed | None = None,
        player: PlayerLike | None = None,
        store: Store | None = None,
        *,
        on_pick: Callable[[int], None] | None = None,
        playing: bool = False,
    ) -> None:
        super().__init__(ansi_color=True)
        self.register_theme(theme.THEME)
        self.theme = theme.THEME.name
        self.ansi_theme_dark = TERMINAL_THEME
        self.animation_level = "none"
        self.look = Look(terminal.colours(self.console.color_system, self.no_color), terminal.is_ascii())
        self.on_pick = on_pick
        self.bridge = Bridge(feed, store or Store(), self.post_message) if feed else None
        self.replay = Replay(player, self.post_message) if player else None
        self._playing = playing
        self.watched = feed.title if feed else player.title if player else "nothing"
        self.snapshot = store.snapshot() if store else Snapshot()
        self.newest = self.snapshot
        self.frozen = False
        self.moment: int | None = None
        self.subject: object = None
        self.position: Position | None = None
        self.ended: str | None = None
        self.notice = ""
        self.keys: tuple[tuple[str, str], ...] = ()
        self.pane_id = PANES[0].id
        self._panes: dict[str, Pane] = {}
        self._painted = 0.0
        self._cost = 0.0  # seconds that the last painting took
        self._due: Timer | None = None

    # Life

    def get_default_screen(self) -> Screen[Any]:
        return MainScreen()

    def compose(self) -> ComposeResult:
        yield TopBar(self.look, id="top")
        with Container(id="main"):
            with Container(id="panes"):
                yield self._make_pane(self.pane_id)
            yield Inspector(self.look, id="inspector")
        yield BottomBar(self.look, id="bottom")

    def on_mount(self) -> None:
        """Paints an empty picture; what comes from then on is painted over it."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled, number)
        if self.replay:
            self.replay.start(self._playing)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Reads the feed once the screen is there: what a feed does first takes its time."""
        self.paint()
        if self.bridge:
            self.call_after_refresh(self.bridge.start)

    def on_unmount(self) -> None:
        """Stops the threads; the feed is its owner's to close."""
        if self.bridge:
            self.bridge.stop()
        if self.replay:
            self.replay.stop()

    def _signalled(self, number: int) -> None:
        """Told to end: the same way out as ``q``, so that the terminal is left clean."""
        self.exit(return_code=128 + number)

    def run(self, *, mouse: bool = False, **options: Any) -> int:
        """Runs until quit; returns the exit code. The mouse stays the terminal's: text can be selected."""
        result = super().run(mouse=mouse, **options)
        return (self.return_code or 0) if result is None else result

    # Pictures

    def on_fresh(self, message: Fresh) -> None:
        """A newer picture."""
        self.newest = message.snapshot
        if self.frozen:
            self._paint_soon(_BAR_PERIOD)
            return
        self.snapshot = self.newest
        self._paint_soon(self.pane.PERIOD)

    def on_played(self, message: Played) -> None:
        """A picture of a recording: what a person stepped to is shown at once."""
        self.newest = self.snapshot = message.snapshot
        self.position = message.position
        self._paint_soon(self.pane.PERIOD if message.position.playing else 0)

    def on_ended(self, message: Ended) -> None:
        """No more pictures; without any there is nothing to stay for."""
        if not message.begun:
            self.exit(return_code=1)
            return
        self.ended = message.why
        self.paint()

    def _paint_soon(self, period: float) -> None:
        """Paints now when the last time is ``period`` ago, else when it will be."""
        left = max(period, self._cost * _REST) - (time.monotonic() - self._painted)
        if left <= 0:
            self.paint()
        elif self._due is None:
            self._due = self.set_timer(left, self.paint)

    def paint(self) -> None:
        """Draws the picture in what is visible."""
        if self._due is not None:
            self._due.stop()
            self._due = None
        if not self.is_running or len(self.screen_stack) == 0:
            return
        self._painted = time.monotonic()
        self.pane.show(self.snapshot, self.moment)
        self.paint_inspector()
        self.paint_bars()
        self._cost = time.monotonic() - self._painted

    def paint_inspector(self) -> None:
        """The side panel: there while something is looked at."""
        inspector = self.base.query_one(Inspector)
        is_open = self.moment is not None or self.subject is not None
        inspector.set_class(is_open, "open")
        if is_open:
            inspector.beside = self.size.width >= WIDE
            inspector.show(self.snapshot, self.subject, self.moment)

    def paint_bars(self) -> None:
        """The lines at the edges."""
        status = Status(
            title=self.watched,
            panes=tuple((spec.key, spec.title, spec.id == self.pane_id) for spec in PANES),
            snapshot=self.snapshot,
            frozen=self.frozen,
            newer=self.newest.calls_end - self.snapshot.calls_end,
            moment=self.moment,
            position=self.position,
            ended=self.ended,
            filter=self.pane.filter,
            needle=self.pane.needle,
            notice=self.notice,
            keys=self.keys,
        )
        self.base.query_one(TopBar).show(status)
        self.base.query_one(BottomBar).show(status)

    def say(self, text: str) -> None:
        """Tells something in the bottom line for a while."""
        self.notice = text
        self.paint_bars()
        if text:
            self.set_timer(NOTICE_SECONDS, self._unsay)

    def _unsay(self) -> None:
        self.notice = ""
        self.paint_bars()

    # Panes

    @property
    def base(self) -> Screen[Any]:
        """The screen with the panes, also while a dialog is in front."""
        return self.screen_stack[0]

    @property
    def pane(self) -> Pane:
        """The pane on screen."""
        return self._panes[self.pane_id]

    def _make_pane(self, pane_id: str) -> Pane:
        from glassstack.tui.panes import make

        spec = next(spec for spec in PANES if spec.id == pane_id)
        pane = self._panes[pane_id] = make(spec, self.look)
        return pane

    async def switch_to(self, pane_id: str) -> None:
        """Shows another pane, made when it is first wanted."""
        if pane_id == self.pane_id:
            return
        self.pane.display = False
        if pane_id not in self._panes:
            await self.base.query_one("#panes").mount(self._make_pane(pane_id))
        self.pane_id = pane_id
        self.pane.display = True
        self.pane.enter_moment(self.snapshot, self.moment)
        self.call_after_refresh(self.paint)
