"""Files of a node: copying what anybody may read of the machine's."""

import contextlib
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
