"""The two actions that reach outside the screen: a shell, and a picture written to disk.

The only place of the front end that starts a program or writes a file. Both
happen on a key press, never by themselves.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from platformdirs import user_state_path
from textual.app import App, SuspendNotSupported


def run_shell(app: App[Any]) -> str:
    """Gives the terminal to a shell until it exits; returns what to tell the user, "" = nothing."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    try:
        with app.suspend():
            print(f"glassstack goes on watching; leave {shell} to come back.", file=sys.stderr)
            subprocess.run([shell], check=False)
    except SuspendNotSupported:
        return "this terminal can't be handed to a shell"
    except OSError as error:
        return f"can't start {shell}: {error.strerror}; set SHELL"
    return ""


def picture_folder() -> Path:
    """Where pictures go."""
    return user_state_path("glassstack") / "pictures"


def save_picture(app: App[Any], folder: Path | None = None) -> str:
    """Writes the screen as SVG; returns what to tell the user."""
    folder = folder or picture_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = app.save_screenshot(path=str(folder))
    except OSError as error:
        return f"can't write to {folder}: {error.strerror}"
    return f"saved {path}"
