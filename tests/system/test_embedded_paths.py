"""The device's names: they mean to a program what they would mean if a real node stood there."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.system.embedded_lab import python
from tests.system.umd_lab import STUCK, environment

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: chroot and mount namespaces")


def on_device(native: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [native / "fakegpu-run", "--", *command],
        capture_output=True,
        text=True,
        timeout=STUCK,
        env=environment(),
    )


def test_a_node_looks_like_a_character_device_by_every_kind_of_stat(native: Path) -> None:
    out = python(
        native,
        """
fd = os.open(GPU, os.O_RDWR)
for info in (os.stat(GPU), os.lstat(GPU), os.fstat(fd), os.stat("fakegpu0", dir_fd=os.open("/dev", 0))):
    print(stat.filemode(info.st_mode), os.major(info.st_rdev), os.minor(info.st_rdev))
print(os.major(os.stat("/dev/fakegpu-uvm").st_rdev), os.minor(os.stat("/dev/fakegpuctl").st_rdev))
print(os.access(GPU, os.R_OK | os.W_OK), os.access(GPU, os.X_OK), os.path.exists("/dev/fakegpu1"))
try:
    os.readlink(GPU)
except OSError as error:
    print(error.errno)
""",
    )
    assert out.splitlines() == ["crw-rw-rw- 120 0"] * 4 + ["509 255", "True False False", "22"]


def test_ordinary_tools_see_it(native: Path) -> None:
    listed = on_device(native, "ls", "-l", "/dev/fakegpu0")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout.startswith("crw-rw-rw-")
    assert "120, 0" in listed.stdout
    told = on_device(native, "stat", "-c", "%F %t:%T", "/dev/fakegpuctl")
    assert told.stdout == "character special file 78:ff\n"
    version = on_device(native, "cat", "/proc/driver/fakegpu/version")
    assert version.stdout.startswith("FGPU version:")
    assert "550.54.14" in version.stdout


def test_the_node_is_reached_by_any_path_that_leads_to_it(native: Path, tmp_path: Path) -> None:
    (tmp_path / "gpu").symlink_to("/dev/fakegpu0")
    (tmp_path / "hop").symlink_to("gpu")
    (tmp_path / "folder").symlink_to("/dev")
    (tmp_path / "loop").symlink_to("loop")
    out = python(
        native,
        """
here = sys.argv[1]
os.chdir(here)
dir_fd = os.open(here, os.O_PATH)
for path in (here + "/gpu", "gpu", "./hop", "folder/fakegpu0", "../../../../../../../../dev/fakegpu0",
             "/dev/../dev/./fakegpu0", "//dev//fakegpu0"):
    os.close(os.open(path, os.O_RDWR))
os.close(os.open("hop", os.O_RDWR, dir_fd=dir_fd))
print(os.readlink("gpu"), stat.S_ISLNK(os.lstat("gpu").st_mode), stat.S_ISCHR(os.stat("hop").st_mode))
for path, flags in (("gpu", os.O_RDWR | os.O_NOFOLLOW), ("loop", os.O_RDWR), ("fakegpu0", os.O_RDWR),
                    ("/dev/fakegpu0/x", os.O_RDWR), (GPU, os.O_RDONLY), (GPU, os.O_RDWR | os.O_DIRECTORY)):
    try:
        os.open(path, flags)
    except OSError as error:
        print(error.strerror)
""",
        arguments=(str(tmp_path),),
    )
    assert out.splitlines() == [
        "/dev/fakegpu0 True True",
        "Too many levels of symbolic links",
        "Too many levels of symbolic links",
        "No such file or directory",
        "No such file or directory",
        "Permission denied",
        "Not a directory",
    ]


def test_ordinary_files_are_left_alone(native: Path, tmp_path: Path) -> None:
    out = python(
        native,
        """
path = os.path.join(sys.argv[1], "fakegpu0")
print(os.path.exists(path))
open(path, "w").write("x" * 23)
print(os.stat(path).st_size, stat.S_ISREG(os.stat(path).st_mode), open(path).read() == "x" * 23)
""",
        arguments=(str(tmp_path),),
    )
    assert out.splitlines() == ["False", "23 True True"]


def test_opening_a_descriptor_again_is_a_new_context(native: Path) -> None:
    out = python(
        native,
        """
fd = os.open(GPU, os.O_RDWR)
alloc(fd)
for path in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", f"/proc/{os.getpid()}/fd/{fd}"):
    print(buffers(os.open(path, os.O_RDWR)))
print(buffers(fd))
""",
    )
    assert out.split() == ["0", "0", "0", "1"]


@pytest.fixture
def new_root(tmp_path: Path) -> Path:
    """A root of its own with a static shell."""
    busybox = shutil.which("busybox")
    if not busybox:
        pytest.skip("no busybox: apt-get install busybox-static")
    if subprocess.run(["ldd", busybox], capture_output=True).returncode == 0:
        pytest.skip("busybox is not static: apt-get install busybox-static")
    folder = tmp_path / "root"
    (folder / "dev").mkdir(parents=True)
    shutil.copy(busybox, folder / "busybox")
    return folder


@pytest.mark.root
@root_only
def test_in_another_root_the_device_is_there_only_if_something_was_put_there(
    native: Path, new_root: Path
) -> None:
    look = ("chroot", new_root, "/busybox", "stat", "-L", "-c", "%F", "/dev/fakegpu0")
    assert on_device(native, *look).returncode == 1
    (new_root / "dev/fakegpu0").touch()
    assert on_device(native, *look).stdout == "regular empty file\n"
    (new_root / "dev/fakegpu0").unlink()
    os.mknod(new_root / "dev/fakegpu0", stat.S_IFCHR | 0o666, os.makedev(120, 0))
    assert on_device(native, *look).stdout == "character special file\n"
    (new_root / "dev/fakegpu0").unlink()
    os.mknod(new_root / "dev/fakegpu0", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    opened = on_device(native, "chroot", new_root, "/busybox", "sh", "-c", "echo x >/dev/fakegpu0")
    assert (opened.returncode, opened.stderr) == (0, "")  # it is /dev/null under another name
    (new_root / "dev/fakegpu0").unlink()
    (new_root / "dev/fakegpu0").symlink_to("/dev/nothing")
    assert on_device(native, *look).returncode == 1


@pytest.mark.root
@root_only
def test_a_mount_namespace_with_its_own_dev_hides_the_device(native: Path) -> None:
    script = "mount -t tmpfs none /dev && {} && stat -c %F /dev/fakegpu0"
    hidden = on_device(native, "unshare", "-m", "sh", "-c", script.format("true"))
    assert hidden.returncode == 1
    assert "No such file" in hidden.stderr
    touched = on_device(native, "unshare", "-m", "sh", "-c", script.format("touch /dev/fakegpu0"))
    assert touched.stdout == "regular empty file\n"
    bind = "touch /dev/fakegpu0 /dev/x && mount --bind /dev/x /dev/fakegpu0"
    placed = on_device(native, "unshare", "-m", "sh", "-c", script.format(bind))
    assert placed.stdout == "character special file\n"
    shared = on_device(native, "unshare", "-m", "stat", "-c", "%F", "/dev/fakegpu0")
    assert shared.stdout == "character special file\n"
