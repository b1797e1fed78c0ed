"""Disk images for the guest: the Python environment and the project, one squashfs each.

The host's files reach the guest through 9p, which is slow when the CPU is
emulated: importing textual took 50 s. An image is built once for what it holds
(names, sizes, times of all files) and kept in the cache.
"""

import compileall
import contextlib
import hashlib
import os
import stat
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import glassstack

_FORMAT = "1"
_KEEP_S = 7 * 24 * 3600
_COMPRESSION = ("-comp", "lz4", "-no-progress", "-quiet", "-no-xattrs", "-all-root", "-noappend")
_UNNEEDED = {"dist", "node_modules", "tree"}  # tree: where a module is compiled
_UNUSED = {"test", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "pydoc_data"}
_DEVELOPMENT = {"mypy", "mypyc", "ruff", "pip", "setuptools", "hatchling", "virtme", "virtme_ng", "include"}
_BUILT = {"bin", "lib", "kmod", "kmod-tests", "minirt-tests"}


class ImageError(Exception):
    """An image could not be made; one line."""


class Root(NamedTuple):
    """A folder that the guest gets from an image, at the same path.

    Attributes:
        path: absolute.
        skip: names that are left out wherever they are.
        only: when not empty, what is kept of ``build``.
    """

    path: Path
    skip: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()


def python_roots() -> tuple[Root, ...]:
    """Standard library, packages and, in a virtual environment, its programs."""
    paths = sysconfig.get_paths()
    stdlib = Root(Path(paths["stdlib"]), frozenset(_UNUSED | {"site-packages", "dist-packages"}))
    if sys.prefix != sys.base_prefix:
        return stdlib, Root(Path(sys.prefix), frozenset(_DEVELOPMENT))
    packages = {Path(paths["purelib"]), Path(paths["platlib"])}
    return stdlib, *(Root(path, frozenset(_DEVELOPMENT)) for path in sorted(packages) if path.is_dir())


def checkout() -> Path | None:
    """The checkout that this glassstack runs from; ``None`` for an installed one."""
    root = Path(glassstack.__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() else None


def project_roots() -> tuple[Root, ...]:
    """The checkout with what is built in it; nothing for an installed package, which is among the others."""
    root = checkout()
    return (Root(root, frozenset(_UNNEEDED), frozenset(_BUILT)),) if root else ()


def image(name: str, roots: Sequence[Root], cache: Path) -> Path:
    """An image called ``name`` of ``roots``, from the cache or made now.

    Raises:
        ImageError: it can't be written.
    """
    for root in roots:
        if root.only:
            compileall.compile_dir(str(root.path / "glassstack"), quiet=2)
    files = [(number, *entry) for number, root in enumerate(roots) for entry in _walk(root)]
    made = hashlib.sha256(_FORMAT.encode())
    for number, path, _, info in files:
        made.update(f"{number}\0{path}\0{info.st_mode}\0{info.st_size}\0{info.st_mtime_ns}\n".encode())
    target = cache / f"{name}-{made.hexdigest()[:20]}.squashfs"
    if target.exists():
        os.utime(target)
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _forget_old(cache)
        _write(target, roots, files)
    except OSError as error:
        raise ImageError(
            f"{target.parent}: the image for the VM can't be written: {error.strerror}"
        ) from error
    return target


def _walk(root: Root) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Relative name, path and what it is, of all that is kept."""
    for folder, folders, names in os.walk(root.path):
        here = Path(folder)
        relative = here.relative_to(root.path)
        folders[:] = sorted(name for name in folders if _kept(root, relative, name))
        for name in sorted([*folders, *(n for n in names if _kept(root, relative, n))]):
            path = here / name
            info = path.lstat()
            if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode):
                yield str(relative / name), path, info


def _kept(root: Root, folder: Path, name: str) -> bool:
    if name in root.skip:
        return False
    if not root.only:
        return True
    if folder == Path("build"):
        return name in root.only
    return not name.startswith(".")


def _write(
    target: Path, roots: Sequence[Root], files: Sequence[tuple[int, str, Path, os.stat_result]]
) -> None:
    """Streams a tar to mksquashfs; complete or not there."""
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    command = ["mksquashfs", "-", str(partial), "-tar", *_COMPRESSION]
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as packer:
            assert packer.stdin is not None
            assert packer.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # it says why
                _tar(packer.stdin, roots, files)
            with contextlib.suppress(BrokenPipeError):
                packer.stdin.close()
            said = packer.stdout.read().decode("utf-8", "replace").strip().splitlines()
        if packer.returncode:
            raise ImageError(f"mksquashfs: {said[-1] if said else f'status {packer.returncode}'}")
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


def _tar(
    out: IO[bytes], roots: Sequence[Root], files: Sequence[tuple[int, str, Path, os.stat_result]]
) -> None:
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for number in range(len(roots)):
            folder = tarfile.TarInfo(str(number))
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        for number, name, path, info in files:
            entry = tarfile.TarInfo(f"{number}/{name}")
            entry.mode, entry.mtime = stat.S_IMODE(info.st_mode), int(info.st_mtime)
            if stat.S_ISDIR(info.st_mode):
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            elif stat.S_ISLNK(info.st_mode):
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
                tar.addfile(entry)
            else:
                with open(path, "rb") as content:
                    entry.size = os.fstat(content.fileno()).st_size
                    tar.addfile(entry, content)


def _forget_old(cache: Path) -> None:
    """Removes images that no boot has used for a week, and what a killed packer left."""
    for path in cache.glob("*.squashfs*"):
        try:
            if path.stat().st_mtime < time.time() - _KEEP_S:
                path.unlink()
        except OSError:
            continue
