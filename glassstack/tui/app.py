"""The app: what the keys do, on top of the stage that shows pictures.

Owns freezing, the moment, filters and dialogs. The table of keys names the
action methods. Reads nothing and draws nothing itself.
"""

from glassstack.model.entities import Completion
from glassstack.model.events import Log, Syscall
from glassstack.tui import shell
from glassstack.tui.draw import Row
from glassstack.tui.pane import Pane
from glassstack.tui.panes import PANES
from glassstack.tui.stage import Stage
from glassstack.tui.widgets.inspector import Inspector
from glassstack.tui.widgets.prompt import Prompt

_EVENTS = (Syscall, Log, Completion)  # rows that would slide away under the cursor
_HINTS = {"filter": "words; !not  pid=12 name=map errno=EIO err", "find": "text"}


class GlassApp(Stage):
    """The TUI over a live feed or a recording; see Stage for the arguments.

    ``run`` returns the exit code: 0 after quit, 128 + number after a signal.
    """

    # Moving

    async def action_show_pane(self, pane: str) -> None:
        """Shows a pane."""
        await self.switch_to(pane)

    async def action_next_pane(self, by: int) -> None:
        """The pane beside."""
        ids = [spec.id for spec in PANES]
        await self.switch_to(ids[(ids.index(self.pane_id) + by) % len(ids)])

    def action_cursor(self, by: int) -> None:
        """The row above or below."""
        self.pane.move(by)

    def action_page(self, by: int) -> None:
        """A screen up or down; of the inspector when it hides rows."""
        self.pane.page_by(by)

    def action_edge(self, end: int) -> None:
        """First or last row."""
        self.pane.edge(end)

    def action_scroll_detail(self, by: int) -> None:
        """Scrolls the side panel."""
        self.base.query_one(Inspector).scroll_by(by)

    # Looking closer

    def on_pane_selected(self, message: Pane.Selected) -> None:
        """The cursor moved: a row that would slide away holds the picture, and gives the moment."""
        row = message.row
        if row is None:
            return
        if isinstance(row.data, _EVENTS) or self.pane.TAIL:
            self._freeze()
        self._look_at(row, only_if_open=not (self._still and row.ts))

    @property
    def _still(self) -> bool:
        return self.frozen or (self.position is not None and not self.position.playing)

    def _look_at(self, row: Row, only_if_open: bool) -> None:
        if only_if_open and self.subject is None and self.moment is None:
            return
        self.subject = row.data
        self.moment = row.ts or None
        self.paint()

    def action_enter(self) -> None:
        """Enter on the row under the cursor."""
        if self.pane.cursor is None:
            self.pane.move(1)
        elif self.pane.index() is not None:
            self.pane.enter(self.pane.cursor)

    def on_pane_inspect(self, message: Pane.Inspect) -> None:
        """Detail of a row; a row with a time also stops the clock there."""
        if message.row.ts:
            self._freeze()
        self._look_at(message.row, only_if_open=False)

    async def on_pane_goto(self, message: Pane.Goto) -> None:
        """A pane asks for another one."""
        await self.switch_to(message.pane)

    def on_pane_pick(self, message: Pane.Pick) -> None:
        """A process was chosen."""
        if self.on_pick is None:
            self.say(f"can't watch {message.pid} from here: glassstack attach {message.pid}")
        else:
            self.say(f"watching {message.pid}")
            self.on_pick(message.pid)

    def action_undo(self) -> None:
        """Undoes the newest of: side panel, filter and search, cursor, freeze."""
        pane = self.pane
        if self.moment is not None or self.subject is not None:
            self.moment = self.subject = None
        elif pane.filter or pane.needle:
            pane.needle = ""
            pane.set_filter("")
        elif pane.cursor is not None:
            pane.clear_cursor()
        elif self.frozen:
            self._follow()
        self.paint()

    async def action_filter(self) -> None:
        """Asks for a filter."""
        await self._ask("filter", self.pane.filter)

    async def action_find(self, direction: int) -> None:
        """The next match; asks for the text first."""
        if not self.pane.needle:
            await self._ask("find", "")
        else:
            self._find(self.pane.needle, direction)

    def _find(self, text: str, direction: int) -> None:
        if text and not self.pane.find(text, direction):
            self.say(f"no row with {text!r}")
        self.paint_bars()

    async def _ask(self, purpose: str, text: str) -> None:
        self.base.query_one("#bottom").display = False
        await self.base.mount(Prompt(purpose, text, _HINTS[purpose]))

    async def on_prompt_answered(self, message: Prompt.Answered) -> None:
        """A filter works while it is typed; escape takes it away, a search starts on enter."""
        if message.purpose == "filter" and message.text is not None:
            self.pane.set_filter(message.text)
        if message.live:
            return
        await self.base.query(Prompt).remove()
        self.base.query_one("#bottom").display = True
        if message.purpose == "find":
            self._find(message.text or "", 1)
        elif message.text is None:
            self.pane.set_filter("")
        self.call_after_refresh(self.paint)

    # Time

    def _freeze(self) -> None:
        if self.frozen or self.position is not None:
            return
        self.frozen = True
        if self.bridge:
            self.snapshot = self.bridge.frozen()
        self.paint()

    def _follow(self) -> None:
        self.frozen = False
        self.moment = self.subject = None
        for pane in self._panes.values():
            pane.cursor = None
        self.snapshot = self.newest
        self.paint()

    def action_freeze(self) -> None:
        """Holds the picture, or lets it go on."""
        if self.replay:
            self.replay.toggle()
        elif self.frozen:
            self._follow()
        else:
            self._freeze()

    def action_play(self) -> None:
        """Plays or pauses; live, the same as freezing."""
        self.action_freeze()

    def action_step(self, by: int) -> None:
        """Steps through a recording."""
        if self.replay:
            self._leave_moment()
            self.replay.step(by)
        else:
            self.say("stepping needs a recording: glassstack run -o FILE, then glassstack open FILE")

    def action_seek(self, position: int) -> None:
        """Start or end of a recording; live, first or last row."""
        if self.replay:
            self._leave_moment()
            self.replay.seek(position)
        else:
            self.pane.edge(1 if position < 0 else -1)

    def _leave_moment(self) -> None:
        self.moment = self.subject = None
        for pane in self._panes.values():
            pane.cursor = None

    # Everything else

    def action_help(self) -> None:
        """Keys and capabilities."""
        from glassstack.tui.help import HelpScreen

        self.push_screen(HelpScreen(self.look, self.newest, self.actions))

    def action_shell(self) -> None:
        """A shell in this terminal."""
        self.say(shell.run_shell(self))
        self.refresh()

    def action_picture(self) -> None:
        """The screen as SVG."""
        self.say(shell.save_picture(self))

    def action_leave(self) -> None:
        """Quits."""
        self.exit(return_code=0)
