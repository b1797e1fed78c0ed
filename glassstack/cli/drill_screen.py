"""A drill on the screen: its seat for the TUI, and the session of its node.

Owns the way from the engine to what the screen needs of it; a check or a hint
from another terminal is seen here too.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from glassstack.cli.drill_shell import shell_of
from glassstack.cli.errors import FAILED, OK, CommandError
from glassstack.cli.screen import Opening
from glassstack.drills.engine import Drill, DrillError, Run
from glassstack.drills.scenario import ScenarioError
from glassstack.format.text import plain
from glassstack.tui.drillview import Checked, Standing


class Seat:
    """A running drill as the screen knows it (DrillSeat)."""

    def __init__(self, drill: Drill) -> None:
        self._drill = drill
        self.name = drill.scenario.id
        self.title = drill.scenario.title
        self.brief = drill.scenario.brief()

    def standing(self) -> Standing:
        """Of now, by what is on disk."""
        if not self._refresh():
            return Standing("gone")
        drill, run = self._drill, self._drill.run
        hints = drill.scenario.hint
        solved = run.phase == "solved"
        return Standing(
            run.phase,
            (run.solved if solved else time.time()) - run.broken,
            tuple(hint.text for hint in hints[: run.hints]),
            len(hints),
            hints[run.hints].cost if run.hints < len(hints) else 0,
            run.checks,
            drill.score,
            drill.scenario.debrief() if solved else "",
            drill.scenario.evidence if solved else (),
        )

    def _refresh(self) -> bool:
        try:
            self._drill.run = msgspec.json.decode((self._drill.folder / "run.json").read_bytes(), type=Run)
        except (OSError, msgspec.DecodeError):
            return False
        return True

    def hint(self) -> str:
        """See DrillSeat."""
        self._refresh()
        return "" if self._drill.hint() else "there are no more hints"

    def check(self) -> Checked:
        """See DrillSeat."""
        if not self._refresh():
            return Checked(error="the drill was ended")
        try:
            return Checked(tuple(plain(why) for why in self._drill.check()))
        except (DrillError, ScenarioError, OSError) as error:
            return Checked(error=str(error))

    def shell(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """See DrillSeat."""
        command, environ = shell_of(self._drill)
        return command, {**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def show(drill: Drill, record: Path | None = None) -> int:
    """Shows the drill until the screen is left; the drill goes on. Returns the exit code."""
    from glassstack.session.drill import drill_session
    from glassstack.tui.drill import DrillApp

    title = f"drill {drill.scenario.id}"
    opening = Opening(title, lambda: drill_session(drill.world.control.name, title, record))
    app = DrillApp(Seat(drill), opening)
    try:
        app.run()
    finally:
        opening.close()
    if opening.error:
        raise CommandError(f"can't begin: {opening.error}", code=FAILED)
    if drill.folder.is_dir():
        print(f"{drill.scenario.id} is still on: `glassstack drill tui` comes back, `… stop` ends it")
    return app.return_code or OK
