"""A question in the bottom line, answered by one key."""

from textual.events import Key
from textual.message import Message

from glassstack.tui.draw import row
from glassstack.tui.look import Look
from glassstack.tui.widgets.lines import Lines, Rows


class Question(Lines, can_focus=True):
    """Asks yes or no in place of the bottom line; no other key does anything meanwhile."""

    DEFAULT_CSS = "Question { dock: bottom; height: 1; background: ansi_default; }"

    class Answered(Message):
        """Yes or no."""

        def __init__(self, yes: bool) -> None:
            super().__init__()
            self.yes = yes

    def __init__(self, look: Look, text: str) -> None:
        super().__init__(look, indent=0)
        keys = (("  y", "key"), (" yes", "dim"), ("  n", "key"), (" no", "dim"))
        self.body = Rows([row((text, "warn"), *keys)])

    def on_mount(self) -> None:
        """The next key is the answer."""
        self.focus()

    async def _on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key in ("y", "enter", "n", "escape", "q"):
            self.post_message(self.Answered(event.key in ("y", "enter")))
