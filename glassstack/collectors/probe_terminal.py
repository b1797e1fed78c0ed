"""What the terminal can show. Reads the environment and file descriptors; writes nothing."""

import os
import sys
from collections.abc import Mapping

from glassstack.model.entities import Capability

MIN_COLUMNS, MIN_LINES = 80, 24


def utf8_locale(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the locale's character set is UTF-8."""
    values = os.environ if environ is None else environ
    setting = next((values[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if values.get(key)), "")
    return setting.lower().replace("-", "").endswith("utf8")


def colours(environ: Mapping[str, str]) -> str:
    """How many colours the terminal is said to have, in words."""
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR"):
        return "no colour (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "truecolor"
    return "256 colours" if "256color" in term else "16 colours"


def probe_terminal(environ: Mapping[str, str] | None = None, tty: bool | None = None) -> Capability:
    """Ready where the TUI can be drawn: a terminal that takes cursor movements."""
    values = os.environ if environ is None else environ
    is_tty = sys.stdin.isatty() and sys.stdout.isatty() if tty is None else tty
    term = values.get("TERM", "")
    headless = "run in a terminal, or use the commands with --once or --json"
    if not is_tty:
        return Capability("terminal", False, "stdin and stdout are not a terminal", headless)
    if term in ("", "dumb"):
        return Capability("terminal", False, f"TERM is {term or 'not set'}", headless)
    size = _size()
    about = f"{term}, {colours(values)}, {size.columns}×{size.lines}"
    if not utf8_locale(values):
        about = about.replace("×", "x") + ", not UTF-8: drawn in ASCII"
    if size.columns < MIN_COLUMNS or size.lines < MIN_LINES:
        return Capability(
            "terminal", False, about, f"make it at least {MIN_COLUMNS} columns by {MIN_LINES} lines"
        )
    return Capability("terminal", True, about)


def _size() -> os.terminal_size:
    try:
        return os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return os.terminal_size((MIN_COLUMNS, MIN_LINES))
