"""Puts a session or a recording on the screen; what the commands with a TUI share."""

import sys
from collections.abc import Callable

from glassstack.cli.errors import FAILED, MISSING, OK, CommandError
from glassstack.session import Session
from glassstack.store.recording import Player, RecordingError
from glassstack.tui.terminal import TerminalRefusedError, require_terminal


def check_terminal() -> None:
    """Raises CommandError where there is no terminal to draw on. To be asked before anything starts."""
    try:
        require_terminal()
    except TerminalRefusedError as error:
        raise CommandError(str(error), code=MISSING) from error


def show(
    session: Session | None = None, player: Player | None = None, on_pick: Callable[[int], None] | None = None
) -> int:
    """Runs the TUI until it is left; returns its exit code. The caller closes what it made."""
    from glassstack.tui.app import GlassApp  # a third of a second that --help must not cost

    app = GlassApp(feed=session, player=player, on_pick=on_pick)
    app.run()
    return app.return_code or OK


def watch(make: Callable[[], Session]) -> int:
    """Makes a session, shows it, closes it.

    Raises:
        CommandError: the session can't be made.
    """
    from glassstack.gpu.artifacts import MissingArtifactError
    from glassstack.gpu.embedded import DeviceError
    from glassstack.session.compose import attach

    try:
        session = make()
    except MissingArtifactError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error
    except (RecordingError, DeviceError) as error:
        raise CommandError(str(error), code=FAILED) from error
    except OSError as error:
        raise CommandError(f"can't begin: {error}", "`glassstack doctor` says what is missing") from error
    try:
        code = show(session, on_pick=lambda pid: attach(session, pid))
    finally:
        session.close()
    for line in session.last_words():
        print(f"glassstack: {line}", file=sys.stderr)
    return code or (FAILED if session.record_error else OK)
