"""Ways to the device that are not its plain name: /proc, openat2, other roots; and other users."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.embedded_lab import device, python
from tests.system.umd_lab import STUCK, environment, on_device, run_alone

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: chroot, mount namespaces, other users")

#: openat2() by hand: (path, resolve, dirfd) -> descriptor or -errno.
OPENAT2 = """
libc = ctypes.CDLL(None, use_errno=True)
def openat2(path, resolve=0, dirfd=-100):
    how = struct.pack("3Q", os.O_RDWR, 0, resolve)
    fd = libc.syscall(437, dirfd, path.encode(), how, len(how))
    return "ok" if fd >= 0 else os.strerror(ctypes.get_errno())
XDEV, MAGIC, LINKS, BENEATH, ROOT = 1, 2, 4, 8, 16
"""


def test_magic_links_lead_where_they_lead_the_program(native: Path) -> None:
    out = python(
        native,
        """
os.chdir("/dev")
fd = os.open(GPU, os.O_RDWR)
me = os.getpid()
for path in ("/proc/self/root/dev/fakegpu0", "/proc/self/cwd/fakegpu0", f"/proc/{me}/cwd/fakegpu0",
             f"/proc/{me}/task/{me}/root/dev/fakegpu0", "/proc/thread-self/cwd/../dev/fakegpu0",
             f"/proc/thread-self/fd/{fd}", f"/proc/self/task/{me}/fd/{fd}", f"/proc/self/../self/fd/{fd}"):
    try:
        print(stat.S_ISCHR(os.stat(path).st_mode), buffers(os.open(path, os.O_RDWR)), end=" ")
    except OSError as error:
        print(path, error)
alloc(fd)
if os.fork() == 0:
    link = os.lstat(f"/proc/self/fd/{fd}")
    print(buffers(os.open(f"/proc/{me}/fd/{fd}", os.O_RDWR)), stat.S_ISLNK(link.st_mode))
    print(os.readlink(f"/proc/self/fd/{fd}"), flush=True)
    os._exit(0)
os.wait()
""",
    )
    first, second = out.splitlines()
    assert first.split() == ["True", "0"] * 8 + ["0", "True"]
    assert second == "/memfd:fakegpu0 (deleted)"


def test_the_version_file_is_reached_by_any_path(native: Path, tmp_path: Path) -> None:
    (tmp_path / "driver").symlink_to("/proc/driver/fakegpu")
    out = python(
        native,
        """
os.chdir("/proc/driver")
for path in ("/proc/driver/fakegpu/version", "/proc//driver/./fakegpu//version", "fakegpu/version",
             "../driver/fakegpu/version", "/proc/self/../driver/fakegpu/version",
             sys.argv[1] + "/driver/version"):
    print(open(path).readline().startswith("FGPU version:"), end=" ")
print(os.path.isdir("fakegpu"), os.path.isdir("fakegpu/"), os.path.exists("fakegpu/other"))
try:
    open("/proc/driver/fakegpu/version", "w")
except OSError as error:
    print(error.strerror)
""",
        arguments=(str(tmp_path),),
    )
    assert out.splitlines() == ["True " * 6 + "True True False", "Permission denied"]


def test_openat2_keeps_its_promises(native: Path, tmp_path: Path) -> None:
    (tmp_path / "gpu").symlink_to("/dev/fakegpu0")
    (tmp_path / "dev").mkdir()
    out = python(
        native,
        OPENAT2
        + """
here = os.open(sys.argv[1], os.O_PATH)
slash = os.open("/", os.O_PATH)
print(openat2(GPU), openat2("gpu", 0, here), openat2("dev/fakegpu0", BENEATH, slash),
      openat2(GPU, ROOT, slash), openat2(GPU, LINKS), sep=", ")
print(openat2("gpu", LINKS, here), openat2("gpu", BENEATH, here), openat2(GPU, BENEATH, slash), sep=", ")
print(openat2("gpu", ROOT, here), openat2(GPU, ROOT, here), sep=", ")
print(openat2("/proc/self/root/dev/fakegpu0", MAGIC))
""",
        arguments=(str(tmp_path),),
    )
    cross, missing = "Invalid cross-device link", "No such file or directory"
    loop = "Too many levels of symbolic links"
    assert out.splitlines() == [
        "ok, ok, ok, ok, ok",
        f"{loop}, {cross}, {cross}",
        f"{missing}, {missing}",
        loop,
    ]


def test_creating_it_is_refused_as_by_a_node(native: Path) -> None:
    out = python(
        native,
        """
for flags in (os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY):
    try:
        os.open(GPU, flags)
    except OSError as error:
        print(error.strerror)
fd = os.open(GPU, os.O_RDWR | os.O_CREAT)
print(os.get_inheritable(fd), os.path.samestat(os.stat(GPU), os.stat(GPU)))
""",
    )
    assert out.splitlines() == ["File exists", "Permission denied", "Permission denied", "False True"]


@pytest.fixture
def new_root(tmp_path: Path) -> Path:
    busybox = shutil.which("busybox")
    if not busybox or subprocess.run(["ldd", busybox], capture_output=True).returncode == 0:
        pytest.skip("no static busybox: apt-get install busybox-static")
    folder = tmp_path / "root"
    (folder / "dev").mkdir(parents=True)
    shutil.copy(busybox, folder / "busybox")
    return folder


@pytest.mark.root
@root_only
def test_in_another_root_links_and_dots_stay_within_it(native: Path, new_root: Path) -> None:
    os.mknod(new_root / "dev/fakegpu0", stat.S_IFCHR | 0o666, os.makedev(120, 0))
    (new_root / "gpu").symlink_to("/dev/fakegpu0")
    (new_root / "dir").mkdir()
    look = ("chroot", new_root, "/busybox", "stat", "-L", "-c", "%F")
    for path in ("/gpu", "/dir/../../../gpu", "/dev/../../dev/fakegpu0"):
        assert on_device(native, *look, path).stdout == "character special file\n"
    (new_root / "dev/fakegpu0").unlink()
    for path in ("/gpu", "/dir/../../../gpu", "/../../../../../dev/fakegpu0", "/dev/fakegpuctl"):
        assert on_device(native, *look, path).returncode == 1


@pytest.mark.root
@root_only
def test_a_bound_dev_is_the_device_and_a_bound_file_a_placeholder(native: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "empty").touch()
    script = f"""
mount --bind /dev {tmp_path}/own && stat -c %F {tmp_path}/own/fakegpu0
mount -t tmpfs none /dev && touch /dev/fakegpu0 && mount --bind {tmp_path}/empty /dev/fakegpu0
stat -c %F /dev/fakegpu0; stat -c %F /dev/fakegpuctl
cd /dev && stat -c %F fakegpu0
"""
    done = on_device(native, "unshare", "-m", "sh", "-c", script)
    assert done.stdout == "character special file\n" * 3
    assert "fakegpuctl" in done.stderr


@pytest.mark.root
@root_only
def test_another_users_socket_with_our_name_is_not_believed(native: Path) -> None:
    name = f"squatted-{os.getpid()}"
    squat = f"""
import os, socket, sys
os.setgid(65534); os.setuid(65534)
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind("\\0fakegpu/0/{name}")
server.listen()
print(flush=True)
sys.stdin.read()
"""
    squatter = subprocess.Popen(
        [sys.executable, "-c", squat], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    try:
        assert squatter.stdout
        assert squatter.stdout.readline() == b"\n"
        for command in (
            ("fakegpu-run", "--join", name, "true"),
            ("fakegpud", "ctl", "--name", name, "status"),
        ):
            done = run_alone(native / command[0], *command[1:])
            assert done.returncode in (125, 1)
            assert "Operation not permitted" in done.stderr
    finally:
        squatter.communicate(timeout=STUCK)


@pytest.mark.root
@root_only
def test_a_program_is_not_given_to_another_users_device(native: Path) -> None:
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    name = f"theirs-{os.getpid()}"
    process = subprocess.Popen(
        [*user, native / "fakegpu-run", "--name", name, "sh", "-c", "echo; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == b"\n"
        full = f"fakegpu/65534/{name}"
        assert run_alone(native / "fakegpud", "ctl", "--name", full, "status").returncode == 2
        assert run_alone(native / "fakegpud", "ctl", "--join", full, "status").returncode == 0
        done = run_alone(native / "fakegpu-run", "--join", full, "true")
        assert (done.returncode, "is another user's" in done.stderr) == (125, True)
    finally:
        process.communicate(timeout=STUCK)


@pytest.mark.root
@root_only
def test_an_ordinary_user_needs_no_more(native: Path) -> None:
    user = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    done = run_alone(*user, native / "fakegpu-run", "--", native / "fakegpu-client")
    assert (done.returncode, done.stderr) == (0, "")
    with device(native, f"shared-{os.getpid()}") as control:
        done = run_alone(
            *user, native / "fakegpu-run", "--join", control.name, "--", native / "fakegpu-client"
        )
        assert (done.returncode, done.stdout) == (125, "")
