"""Puts a session or a recording on the screen; what the commands with a TUI share."""

import sys
import threading
from collections.abc import Callable

from glassstack.cli.errors import FAILED, MISSING, OK, CommandError
from glassstack.model.events import Event
from glassstack.session import Feed, OpeningError, Session
from glassstack.store.recording import Player, RecordingError
from glassstack.tui.terminal import TerminalRefusedError, require_terminal


def check_terminal() -> None:
    """Raises CommandError where there is no terminal to draw on. To be asked before anything starts."""
    try:
        require_terminal()
    except TerminalRefusedError as error:
        raise CommandError(str(error), code=MISSING) from error


def show(
    feed: Feed | None = None, player: Player | None = None, on_pick: Callable[[int], None] | None = None
) -> int:
    """Runs the TUI until it is left; returns its exit code. The caller closes what it made."""
    from glassstack.tui.app import GlassApp  # a third of a second that --help must not cost

    app = GlassApp(feed=feed, player=player, on_pick=on_pick)
    app.run()
    return app.return_code or OK


class Opening:
    """A session that is made when it is first read: by then the screen is painted.

    Args:
        title: what is watched.
        make: makes it, in the thread that reads.

    Attributes:
        session: ``None`` before that, and when it could not be made.
        error: why not.
    """

    def __init__(self, title: str, make: Callable[[], Session]) -> None:
        self.title = title
        self.session: Session | None = None
        self.error: Exception | None = None
        self._make = make
        self._lock = threading.Lock()
        self._closed = False

    def read(self, timeout: float) -> list[Event] | None:
        """See Feed."""
        session = self.session or self._open()
        return session.read(timeout) if session else None

    def _open(self) -> Session | None:
        with self._lock:
            if not self._closed:
                try:
                    self.session = self._make()
                except Exception as error:
                    self.error = error
                    raise OpeningError from error
            return self.session

    def pick(self, pid: int) -> None:
        """Watches one more process."""
        from glassstack.session.compose import attach

        if self.session:
            attach(self.session, pid)

    def close(self) -> None:
        """See Feed; one that is just being made is waited for."""
        with self._lock:
            self._closed = True
        if self.session:
            self.session.close()


def watch(title: str, make: Callable[[], Session]) -> int:
    """Shows a session that ``make`` makes behind the first picture, and closes it.

    Raises:
        CommandError: the session can't be made.
    """
    opening = Opening(title, make)
    try:
        code = show(opening, on_pick=opening.pick)
    finally:
        opening.close()
    if opening.error:
        raise _command_error(opening.error) from opening.error
    session = opening.session
    for line in session.last_words() if session else ():
        print(f"glassstack: {line}", file=sys.stderr)
    return code or (FAILED if session and session.record_error else OK)


def _command_error(error: Exception) -> CommandError:
    from glassstack.gpu.artifacts import MissingArtifactError
    from glassstack.gpu.embedded import DeviceError

    if isinstance(error, MissingArtifactError):
        return CommandError(error.cause, error.remedy, MISSING)
    if isinstance(error, (RecordingError, DeviceError)):
        return CommandError(str(error), code=FAILED)
    if isinstance(error, OSError):
        return CommandError(f"can't begin: {error}", "`glassstack doctor` says what is missing")
    raise error
