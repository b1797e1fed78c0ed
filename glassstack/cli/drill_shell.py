"""A shell on a drill's node: the same for a terminal of one's own and for the pane."""

from collections.abc import Sequence

from glassstack.drills.engine import Drill


def shell_of(drill: Drill, words: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:
    """The command line and environment of a command there, by default of a shell."""
    environ = {**drill.desk.environ(), **drill.notes.shell(), "PS1": f"[{drill.scenario.id}] \\W \\$ "}
    return drill.desk.words(words or ["bash", "--norc", "-i"]), environ
