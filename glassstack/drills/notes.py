"""What happened in a run and when: faults, hints, checks, and the commands typed in its shell.

Owns two files of the run's folder: notes.jsonl, written by the engine, and the
history that bash keeps with times.
"""

import contextlib
import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

_NOTES, _HISTORY = "notes.jsonl", "history"


class Note(msgspec.Struct, frozen=True):
    """``at`` is in seconds since 1970; ``kind`` is "phase", "fault", "symptom", "hint", "check", "log"
    or "command"."""

    at: float
    kind: str
    text: str


class Notes:
    """Of one run's folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _NOTES
        self._history = folder / _HISTORY

    def add(self, kind: str, text: str) -> None:
        """Something happens now. Raises OSError."""
        with self._file.open("ab") as out:
            out.write(msgspec.json.encode(Note(time.time(), kind, text)) + b"\n")

    def read(self) -> list[Note]:
        """All, commands among them, by time; half a line is left out."""
        found = []
        with contextlib.suppress(OSError):
            for line in self._file.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):
                    found.append(msgspec.json.decode(line, type=Note))
        return sorted([*found, *self._commands()], key=lambda note: note.at)

    def shell(self) -> dict[str, str]:
        """Variables with which bash writes each command, with its time, as soon as it has ended."""
        return {
            "HISTFILE": str(self._history),
            "HISTTIMEFORMAT": "%T ",
            "HISTCONTROL": "",
            "PROMPT_COMMAND": "history -a",
        }

    def command(self, words: Sequence[str]) -> None:
        """One command given from outside of a shell, in bash's own form. Raises OSError."""
        descriptor = os.open(self._history, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a") as out:
            out.write(f"#{int(time.time())}\n{shlex.join(words)}\n")

    def _commands(self) -> list[Note]:
        """A line "#SECONDS", then the command, which may take several lines."""
        found: list[Note] = []
        with contextlib.suppress(OSError):
            for line in self._history.read_text(errors="replace").splitlines():
                if line[:1] == "#" and line[1:].isdecimal():
                    found.append(Note(float(line[1:]), "command", ""))
                elif found:
                    text = f"{found[-1].text}\n{line}" if found[-1].text else line
                    found[-1] = msgspec.structs.replace(found[-1], text=text)
        return [note for note in found if note.text]
