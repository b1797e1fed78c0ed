"""The line in which a filter or a text to find is typed."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Label


class _Line(Input):
    """An input that keeps the order of keys.

    Textual inserts letters at once, but runs keys that have a binding only
    after a trip up to the screen and back: on a busy machine a letter typed
    after backspace would be inserted before it, and then deleted.
    """

    class GivenUp(Message):
        """Escape."""

    async def _on_key(self, event: Key) -> None:
        if event.key == "backspace":
            self.action_delete_left()
        elif event.key == "enter":
            await self.action_submit()
        elif event.key == "escape":
            self.post_message(self.GivenUp())
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()


class Prompt(Horizontal):
    """Asks for one line; ``Answered`` has it, or ``None`` after escape."""

    DEFAULT_CSS = """
    Prompt { dock: bottom; height: 1; background: ansi_default; }
    Prompt Label { width: auto; padding: 0 1 0 0; text-style: bold; }
    Prompt Input { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
    """

    class Answered(Message):
        """The line was entered, changed while typing (``live``), or given up (``None``)."""

        def __init__(self, purpose: str, text: str | None, live: bool = False) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text
            self.live = live

    def __init__(self, purpose: str, text: str, hint: str) -> None:
        super().__init__()
        self.purpose = purpose
        self._line = _Line(text, placeholder=hint, compact=True, select_on_focus=False)

    def compose(self) -> ComposeResult:
        yield Label(self.purpose)
        yield self._line

    def on_mount(self) -> None:
        """Typing goes here at once."""
        self._line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.post_message(self.Answered(self.purpose, event.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Each key."""
        event.stop()
        self.post_message(self.Answered(self.purpose, event.value, live=True))

    def on__line_given_up(self) -> None:
        """Escape."""
        self.post_message(self.Answered(self.purpose, None))
