"""Files of a run: copying what anybody may read of the machine's, and taking all of it away."""

import contextlib
import os
import shutil
import stat
from pathlib import Path


def copy_public(source: Path, target: Path) -> None:
    """Copies a folder but what others may not read, and leaves what is there already. Raises OSError."""
    for path in sorted(source.iterdir()):
        mode = path.lstat().st_mode
        there = target / path.name
        if stat.S_ISLNK(mode):
            if not there.is_symlink() and not there.exists():
                there.symlink_to(path.readlink())
        elif stat.S_ISDIR(mode) and mode & stat.S_IROTH:
            there.mkdir(exist_ok=True)
            with contextlib.suppress(PermissionError):
                copy_public(path, there)
        elif stat.S_ISREG(mode) and mode & stat.S_IROTH and not there.exists():
            shutil.copy2(path, there)


def remove_tree(folder: Path) -> None:
    """Removes a folder, also what an overlay made in it with mode 0. What can't be removed stays."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink() and not os.access(inner, os.R_OK | os.W_OK | os.X_OK):
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
