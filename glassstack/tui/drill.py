"""Drill mode: the live stack, the drill beside it, and a shell on its node, on one screen.

Owns what belongs to a drill only; the rest is GlassApp's. The drill itself is
a seat that cli/ made; its slow calls run in a thread of their own.
"""

import re
import threading
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.message import Message
from textual.screen import Screen

from glassstack.session import Feed
from glassstack.session.console import Console
from glassstack.store.store import Store
from glassstack.tui.app import GlassApp
from glassstack.tui.drillview import Checked, DrillSeat, Standing
from glassstack.tui.emulator import Emulator
from glassstack.tui.keys import ACTIONS, DRILL_ACTIONS
from glassstack.tui.panes import PANES
from glassstack.tui.shellkeys import LEAVE
from glassstack.tui.stage import WIDE, MainScreen
from glassstack.tui.theme import DRILL_CSS
from glassstack.tui.widgets.bars import BottomBar, TopBar
from glassstack.tui.widgets.drill import DrillPanel, standing_text
from glassstack.tui.widgets.inspector import Inspector
from glassstack.tui.widgets.question import Question
from glassstack.tui.widgets.shell import ShellPane

_PANE = re.compile(r"(\w+) pane")


class DrillScreen(MainScreen):
    """The keys of a drill besides the others.

    The one into the shell and out is looked at before all others: what is typed right after it
    must find the keys already on the other side.
    """

    BINDINGS: ClassVar = [
        Binding(a.keys, f"app.{a.call}", a.title, show=False, priority=a.keys == LEAVE) for a in DRILL_ACTIONS
    ]


class Told(Message):
    """A check or a hint is done."""

    def __init__(self, checked: Checked | None = None, problem: str = "") -> None:
        super().__init__()
        self.checked, self.problem = checked, problem


class DrillApp(GlassApp):
    """GlassApp with a drill; see Stage for the other arguments.

    Args:
        seat: the drill.
        shell: whether there is a shell pane (a picture of one needs no process).
    """

    CSS = GlassApp.CSS + DRILL_CSS
    actions = (*ACTIONS, *DRILL_ACTIONS)

    def __init__(
        self, seat: DrillSeat, feed: Feed | None = None, store: Store | None = None, *, shell: bool = True
    ) -> None:
        super().__init__(feed=feed, store=store)
        self.seat = seat
        self._with_shell = shell
        self._console: Console | None = None
        self.emulator = Emulator(80, 24, self._type)
        self.shell_pane = ShellPane(self.look, self.emulator, self._type, self._resize_shell, id="shell")
        self.panel = DrillPanel(self.look, seat.title, seat.brief, id="drill")
        self.shell_pane.can_focus = False

    def get_default_screen(self) -> Screen[Any]:
        return DrillScreen()

    def compose(self) -> ComposeResult:
        yield TopBar(self.look, id="top")
        with Container(id="whole"):
            with Container(id="left"):
                with Container(id="main"):
                    with Container(id="panes"):
                        yield self._make_pane(self.pane_id)
                    yield Inspector(self.look, id="inspector")
                yield self.shell_pane
            yield self.panel
        yield BottomBar(self.look, id="bottom")

    def on_mount(self) -> None:
        """The report comes first; the clock ticks."""
        self.base.add_class("reading")
        self._stand()
        self.set_interval(1.0, self._stand)

    def on_unmount(self) -> None:
        """The shell ends with the screen."""
        if self._console:
            self._console.close()

    # How it stands

    def _stand(self) -> None:
        before, self.panel.standing = self.panel.standing, self.seat.standing()
        self.panel.beside = self.size.width >= WIDE
        self.panel.redraw()
        self._title_shell(self.panel.standing)
        if self.panel.standing.phase != before.phase and before.phase == "broken":
            self.panel.top = 0
            self.base.add_class("reading")

    def _title_shell(self, standing: Standing) -> None:
        narrow = self.size.width < WIDE
        self.shell_pane.title = f"shell  {standing_text(standing)}" if narrow else "shell on the node"
        self.shell_pane.repaint()

    def paint_bars(self) -> None:
        if self.typing:
            self.keys = (("ctrl+]", "leave the shell"),)
        elif self.size.width < WIDE and self.base.has_class("reading"):
            self.keys = (("b", "close the report"), ("c", "check"), ("H", "hint"), ("J", "scroll"))
        else:
            self.keys = (("c", "check"), ("H", "hint"), ("b", "report"), ("ctrl+]", "shell"))
        super().paint_bars()

    # Check and hint

    def action_check(self) -> None:
        """Asks whether it is mended; once at a time."""
        if self.panel.checking:
            return
        self.panel.checking = True
        self.panel.top = 0
        self.base.add_class("reading")
        self._stand()
        self._apart(lambda: Told(checked=self.seat.check()))

    async def action_hint(self) -> None:
        """Asks first: a hint costs."""
        standing = self.panel.standing
        if standing.phase != "broken" or len(standing.hints) >= standing.hints_in_all:
            self.say("there are no more hints")
            return
        number = len(standing.hints) + 1
        text = f"Take hint {number} of {standing.hints_in_all} for {standing.next_cost} points?"
        self.base.query_one("#bottom").display = False
        await self.base.mount(Question(self.look, text))

    async def on_question_answered(self, message: Question.Answered) -> None:
        """A hint is taken, or not."""
        await self.base.query(Question).remove()
        self.base.query_one("#bottom").display = True
        if message.yes:
            self.panel.top = 0
            self.base.add_class("reading")
            self._apart(lambda: Told(problem=self.seat.hint()))

    def _apart(self, work: Any) -> None:
        """Runs slow work beside the screen; what breaks there is told here."""

        def run() -> None:
            try:
                told = work()
            except Exception as error:
                told = Told(Checked(error=f"{type(error).__name__}: {error}"))
            self.post_message(told)

        threading.Thread(target=run, name="drill", daemon=True).start()

    def on_told(self, message: Told) -> None:
        """Shows what came of it."""
        if message.checked:
            self.panel.checking = False
            self.panel.checked = message.checked
        if message.problem:
            self.say(message.problem)
        self._stand()
        self.paint_bars()

    async def action_evidence(self) -> None:
        """The next pane in which the drill could be seen; once it is solved."""
        evidence = self.panel.standing.evidence
        if not evidence:
            self.say("the evidence is shown once the drill is solved")
            return
        self.panel.at = (self.panel.at + 1) % len(evidence)
        text = evidence[self.panel.at]
        self.panel.redraw()
        for word in _PANE.findall(text):
            for spec in PANES:
                if word in (spec.id, spec.title):
                    if self.size.width < WIDE:
                        self.base.remove_class("reading")
                    await self.switch_to(spec.id)
        self.say(text)

    # The report, the shell, and room for them

    @property
    def typing(self) -> bool:
        """Whether keys go to the shell."""
        return self.base.focused is self.shell_pane

    def action_report(self) -> None:
        """Shows or hides the report."""
        self.base.toggle_class("reading")
        self.call_after_refresh(self.paint)

    def action_zoom(self) -> None:
        """The shell alone, or with the rest."""
        self.base.remove_class("reading")
        self.base.toggle_class("zoomed")
        self.call_after_refresh(self.paint)

    def action_scroll_detail(self, by: int) -> None:
        if self.base.has_class("reading"):
            self.panel.scroll_by(by)
        else:
            super().action_scroll_detail(by)

    def action_toggle_shell(self) -> None:
        """Keys go to the shell from now on, or to the screen again."""
        if self.base.query(Question):
            return
        if self.typing:
            self.base.set_focus(None)
            self.base.remove_class("typing")
            self.shell_pane.can_focus = False
        else:
            self._enter_shell()
        self.call_after_refresh(self.paint_bars)

    def _enter_shell(self) -> None:
        if self.size.width < WIDE:
            self.base.remove_class("reading")
        self.base.add_class("typing")
        self.shell_pane.can_focus = True
        self.base.set_focus(self.shell_pane)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Also ctrl+p and ctrl+q are the shell's while it has the keys."""
        if action in ("command_palette", "quit") and self.typing:
            return False
        return super().check_action(action, parameters)

    def _resize_shell(self, columns: int, lines: int) -> None:
        """The first size is that with which it is started."""
        if self._console:
            self._console.resize(columns, lines)
        elif self._with_shell:
            self._start_shell(columns, lines)

    def _start_shell(self, columns: int, lines: int) -> None:
        words, environ = self.seat.shell()
        try:
            self._console = Console(words, environ, (columns, lines), self._wrote, self._shell_ended)
        except OSError as error:
            self.shell_pane.over = f"can't be started: {error.strerror}"

    def on_shell_pane_again(self) -> None:
        """Another shell after the first has ended."""
        if self._console:
            self._console.close()
        self.shell_pane.over = ""
        self.emulator.feed(b"\r\n")
        self._start_shell(self.shell_pane.size.width, self.shell_pane.size.height - 1)
        self.shell_pane.repaint()

    def _type(self, data: bytes) -> None:
        if self._console:
            self._console.write(data)

    def _wrote(self, data: bytes) -> None:
        self.emulator.feed(data)
        self.shell_pane.post_message(ShellPane.Changed())

    def _shell_ended(self, how: str) -> None:
        self.shell_pane.over = how
        self.shell_pane.post_message(ShellPane.Changed())
