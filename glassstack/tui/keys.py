"""The one table of actions: its keys feed the bindings, the help screen and the command palette."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """Something a person can do. ``call`` is a Textual action of the app."""

    keys: str  # comma-separated, Textual's names
    shown: str  # as people write them
    call: str
    title: str
    group: str


MOVE, LOOK, TIME, DO, DRILL = "move", "look", "time", "do", "drill"

ACTIONS: tuple[Action, ...] = (
    Action("tab", "tab", "next_pane(1)", "next pane", MOVE),
    Action("shift+tab", "shift+tab", "next_pane(-1)", "previous pane", MOVE),
    Action("up,k", "↑ k", "cursor(-1)", "up", MOVE),
    Action("down,j", "↓ j", "cursor(1)", "down", MOVE),
    Action("pageup,ctrl+b", "PgUp", "page(-1)", "a page up", MOVE),
    Action("pagedown,ctrl+d", "PgDn", "page(1)", "a page down", MOVE),
    Action("g", "g", "edge(-1)", "to the first row", MOVE),
    Action("G,shift+g", "G", "edge(1)", "to the last row", MOVE),
    Action("enter", "enter", "enter", "detail of the row; attach in the process list", LOOK),
    Action("escape", "esc", "undo", "back: close, clear, follow", LOOK),
    Action("slash", "/", "filter", "filter rows", LOOK),
    Action("n", "n", "find(1)", "find text, next match", LOOK),
    Action("N,shift+n", "N", "find(-1)", "previous match", LOOK),
    Action("J,shift+down", "J", "scroll_detail(3)", "scroll the detail down", LOOK),
    Action("K,shift+up", "K", "scroll_detail(-3)", "scroll the detail up", LOOK),
    Action("f", "f", "freeze", "freeze the picture, follow again", TIME),
    Action("space", "space", "play", "recording: pause and play", TIME),
    Action("right,l", "→ l", "step(1)", "recording: one event on", TIME),
    Action("left,h", "← h", "step(-1)", "recording: one event back", TIME),
    Action("right_square_bracket", "]", "step(10)", "recording: ten events on", TIME),
    Action("left_square_bracket", "[", "step(-10)", "recording: ten events back", TIME),
    Action("home", "home", "seek(0)", "recording: to the start", TIME),
    Action("end", "end", "seek(-1)", "recording: to the end", TIME),
    Action("s", "s", "shell", "a shell; exit comes back here", DO),
    Action("ctrl+s", "ctrl+s", "picture", "save the screen as a picture (SVG)", DO),
    Action("ctrl+p", "ctrl+p", "command_palette", "command palette", DO),
    Action("question_mark", "?", "help", "this help", DO),
    Action("q,ctrl+c", "q", "leave", "quit", DO),
)

DRILL_ACTIONS: tuple[Action, ...] = (
    Action("c", "c", "check", "is it mended? says what still fails, never why", DRILL),
    Action("H,shift+h", "H", "hint", "the next hint; asks first, because it costs", DRILL),
    Action("b", "b", "report", "the report, hints and debrief; close them again", DRILL),
    Action(
        "ctrl+right_square_bracket", "ctrl+]", "toggle_shell", "into the shell; the same key leads out", DRILL
    ),
    Action("z", "z", "zoom", "the shell alone, or with the stack", DRILL),
    Action("e", "e", "evidence", "after it is solved: the next pane that shows it", DRILL),
)
"""Those of a drill, besides the others."""
