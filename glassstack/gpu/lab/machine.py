"""One throw-away VM: its folder, its QEMU process, and the ends of its ports.

Owns what it starts: nothing is left by ``close``; QEMU gets SIGKILL when this
process ends in any way, and the folder of a killed process is removed by the
next start. virtme-ng says how the guest is booted (as a program: it is
GPL-2.0-only), and QEMU is started here, so that there is nobody between.
"""

import contextlib
import fcntl
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from glassstack.gpu.lab.needs import Needs

PORTS = ("control", "stdin", "stdout", "stderr")
OVERLAID = ("/etc", "/home", "/lib", "/opt", "/root", "/srv", "/usr", "/var", "/tmp")
"""Folders of the host that the guest may write to, in its memory."""
# What udev would load for QEMU's board and CPU; each costs seconds under emulation.
_NOT_LOADED = (
    "acpi_cpufreq,aesni_intel,button,crc32_pclmul,crc32c_intel,crct10dif_pclmul,cryptd,evdev,"
    "ghash_clmulni_intel,i2c_i801,i6300esb,iTCO_vendor_support,iTCO_wdt,kvm,kvm_amd,kvm_intel,lpc_ich,"
    "pcspkr,powernow_k8,psmouse,serio_raw,sha1_ssse3,sha256_ssse3,sha512_generic,sha512_ssse3"
)
_NEW_S = 60.0
_UNCACHED, _CACHED = b"-t 9p -o ro,version=9p2000.L", b"-t 9p -o ro,cache=loose"


class MachineError(Exception):
    """The VM could not be started; one line."""


@dataclass(frozen=True)
class Job:
    """What runs in the VM.

    Attributes:
        command: words.
        cwd: folder to start in; the root where the guest has none of that name.
        environ: variables set for it.
        size: rows and columns of the terminal it gets; ``None`` = pipes.
        roots: for each image, the folders in it in their order.
        modules: folder with the kernel modules, ``None`` = none.
    """

    command: Sequence[str]
    cwd: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    size: tuple[int, int] | None = None
    roots: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    modules: Path | None = None

    def script(self) -> str:
        """As the assignments that guest.sh reads."""
        rows, cols = self.size or (24, 80)
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.environ.items()]
        lines += [f"command=({shlex.join(self.command)})", f"cwd={shlex.quote(str(self.cwd))}"]
        lines += [f"tty={'yes' if self.size else 'no'}", f"rows={rows}", f"cols={cols}"]
        lines += [f"modules={shlex.quote(str(self.modules or ''))}"]
        for name, paths in self.roots.items():
            lines.append(f"roots_{name}=({shlex.join(str(path) for path in paths)})")
        return "\n".join(lines) + "\n"


class Machine:
    """A VM that boots from construction on.

    Args:
        needs: what it is made of.
        job: what runs in it.
        images: name to squashfs file.
        folder: where its own folder is made.
        memory: MiB.
        cpus: how many.
        kvm: whether to use KVM.

    Attributes:
        ports: our ends of its ports, by name; "console" is its serial console.
        errors: what QEMU and a panicking kernel say, to read from.

    Raises:
        MachineError: it can't be started.
    """

    def __init__(
        self,
        needs: Needs,
        job: Job,
        images: Mapping[str, Path],
        folder: Path,
        memory: int,
        cpus: int,
        kvm: bool,
    ) -> None:
        self.ports: dict[str, socket.socket] = {}
        self._process: subprocess.Popen[bytes] | None = None
        sweep(folder)
        self._resources = contextlib.ExitStack()
        try:
            self._folder = self._resources.enter_context(_run_folder(folder))
            _write_job(self._folder / "job", job)
            command = _virtme(needs, self._folder, memory, cpus, kvm)
            self._start([*command, *_disks(images)])
        except OSError as error:
            self.close()
            raise MachineError(
                f"the VM can't be started: {error.filename or folder}: {error.strerror}"
            ) from error
        except BaseException:
            self.close()
            raise

    def _start(self, command: list[str]) -> None:
        theirs = {}
        for name in (*PORTS, "console"):
            self.ports[name], theirs[name] = socket.socketpair()
        command += ["-device", "virtio-serial-pci,id=lab"]
        for name in PORTS:
            command += ["-chardev", f"socket,id=lab-{name},fd={theirs[name].fileno()}"]
            command += ["-device", f"virtserialport,bus=lab.0,chardev=lab-{name},name=glassstack.{name}"]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=theirs["console"].fileno(),
            stdout=theirs["console"].fileno(),
            stderr=subprocess.PIPE,
            pass_fds=[theirs[name].fileno() for name in PORTS],
            start_new_session=True,
        )
        for end in theirs.values():
            end.close()
        assert self._process.stderr is not None
        self.errors = self._process.stderr

    def tell(self, line: str) -> None:
        """Sends a line to the guest's session; a machine that is gone hears nothing."""
        with contextlib.suppress(OSError):
            self.ports["control"].sendall(f"{line}\n".encode())

    def close(self) -> None:
        """Ends the machine at once; nothing in it is worth a shutdown. Idempotent."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self.errors.close()
            self._process = None
        for port in self.ports.values():
            port.close()
        self._resources.close()


@contextlib.contextmanager
def _run_folder(folder: Path) -> Iterator[Path]:
    """A folder of this machine's own, locked as long as it is used."""
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    try:
        with open(path / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Removes the folders of machines whose owner was killed."""
    for path in folder.glob("run-*"):
        try:
            with open(path / "lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except FileNotFoundError:
            if path.stat().st_mtime < time.time() - _NEW_S:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue  # in use


def _write_job(folder: Path, job: Job) -> None:
    folder.mkdir()
    (folder / "job").write_text(job.script())
    (folder / "shell").write_bytes((Path(__file__).parent / "guest.sh").read_bytes())
    (folder / "shell").chmod(0o755)


def _virtme(needs: Needs, folder: Path, memory: int, cpus: int, kvm: bool) -> list[str]:
    """QEMU's command line, and an initramfs, as virtme-ng makes them."""
    options = {
        "--kimg": needs.kernel.image,
        "--mods": "auto",
        "--user": "root",
        "--name": "lab",
        "--memory": f"{memory}M",
        "--cpus": cpus,
        "--rodir": f"run/glassstack={folder}/job",
        "--shell": "/run/glassstack/shell",
        "--save-initramfs": folder / "initramfs",
    }
    flags = ["--force-9p", "--force-initramfs", "--disable-monitor", "--dry-run", "--show-command"]
    flags += [] if kvm else ["--disable-kvm"]
    flags += [f"--overlay-rwdir={path}" for path in OVERLAID if Path(path).is_dir()]
    # Five levels of page tables cost emulation time; panic=-1 with -no-reboot ends the VM.
    for word in (f"module_blacklist={_NOT_LOADED}", "mitigations=off", "no5lvl", "panic=-1", "tsc=reliable"):
        flags.append(f"--kopt={word}")
    words = [str(word) for option in options.items() for word in option]
    done = subprocess.run(
        [str(needs.virtme_run), *words, *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    qemu = shlex.split(done.stdout.strip().rpartition("\n")[2]) if not done.returncode else []
    if not qemu:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise MachineError(f"virtme-run: {said[-1]}")
    _cache_root(folder / "initramfs")
    # Reading an HPET leaves the guest, each time that a program asks for the time; the TSC is read in it.
    return [*qemu, "-no-reboot", "-machine", "sata=off,smbus=off,hpet=off"]


def _cache_root(initramfs: Path) -> None:
    """Has the guest keep what it reads of the host: else each start of a program reads its files anew.

    virtme-ng has no option for it. The archive is not compressed, and the
    option that gives way is the kernel's default.
    """
    archive = initramfs.read_bytes()
    initramfs.write_bytes(archive.replace(_UNCACHED, _CACHED.ljust(len(_UNCACHED), b",")))


def _disks(images: Mapping[str, Path]) -> list[str]:
    words = []
    for name, path in images.items():
        file = str(path).replace(",", ",,")
        words += ["-drive", f"if=none,id=lab-{name},file={file},format=raw,readonly=on"]
        words += ["-device", f"virtio-blk-pci,drive=lab-{name},serial={name}"]
    return words
