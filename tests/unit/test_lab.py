"""The lab without a VM: what it finds missing, packs, tells the guest, and how it carries bytes."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassstack.cli.main import main
from glassstack.gpu.lab import driver, images, machine, needs, prepare, streams
from tests.kmod.guests import read_run
from tests.support import ROOT, eventually


def make_kernel(root: Path, release: str, *, headers: bool = False) -> None:
    (root / "boot").mkdir(exist_ok=True)
    (root / "boot" / f"vmlinuz-{release}").touch()
    modules = root / "lib/modules" / release
    (modules / "kernel").mkdir(parents=True)
    if headers:
        (modules / "build").mkdir()
        (modules / "build/Makefile").touch()


def test_all_missing_packages_are_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(needs.LabMissingError) as caught:
        needs.find(root=tmp_path, path=str(tmp_path))
    absent = ["qemu-system-x86", "busybox-static", "squashfs-tools", "linux-image-amd64"]
    assert all(package in caught.value.cause for package in absent)
    assert caught.value.remedy.startswith("as root: apt-get install -y ")
    assert set(absent) <= set(caught.value.remedy.split())


def test_the_newest_kernel_by_number_is_taken_and_any_by_name(tmp_path: Path) -> None:
    for release in ("6.9.1-amd64", "6.10.2-amd64", "6.1.0-57-amd64"):
        make_kernel(tmp_path, release)
    (tmp_path / "boot/vmlinuz-7.0.0-no-modules").touch()
    kernels = needs.installed_kernels(tmp_path)
    assert [kernel.release for kernel in kernels] == ["6.1.0-57-amd64", "6.9.1-amd64", "6.10.2-amd64"]
    assert kernels[0].headers is None


def test_kvm_without_a_device_is_not_tried(tmp_path: Path) -> None:
    kernel = needs.Kernel("1", tmp_path, tmp_path)
    found = needs.Needs(tmp_path, tmp_path / "no-qemu", kernel)
    assert not needs.kvm_works(found, tmp_path / "cache", device=tmp_path / "no-kvm")
    assert not (tmp_path / "cache").exists()


def test_kvm_that_does_not_boot_is_remembered_for_this_boot_of_the_host(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    qemu = tmp_path / "qemu"
    qemu.write_text(f"#!/bin/sh\necho >>{shlex.quote(str(tried))}\nexit 1\n")
    qemu.chmod(0o755)
    (tmp_path / "kvm").touch()
    found = needs.Needs(tmp_path, qemu, needs.Kernel("6.1", tmp_path, tmp_path))
    for _ in range(3):
        assert not needs.kvm_works(found, tmp_path / "cache", device=tmp_path / "kvm")
    assert tried.read_text() == "\n"


def test_no_module_says_why_and_what_to_install(tmp_path: Path) -> None:
    make_kernel(tmp_path, "6.1.0-1-amd64")
    (kernel,) = needs.installed_kernels(tmp_path)
    with pytest.raises(driver.DriverError, match="no driver sources"):
        driver.modules(kernel, None)
    (tmp_path / "kmod/linux").mkdir(parents=True)
    (tmp_path / "kmod/linux/Makefile").touch()
    with pytest.raises(driver.DriverError, match=r"apt-get install -y linux-headers-6\.1\.0-1-amd64"):
        driver.modules(kernel, tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "a root, with = signs"
    for name in (
        "glassstack/a.py",
        "build/bin/tool",
        "build/obj/a.o",
        ".git/x",
        "docs/b.md",
        "build/kmod/6/tree/c.o",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")
    (root / "link").symlink_to("docs/b.md")
    return root


@pytest.mark.skipif(
    not shutil.which("unsquashfs"), reason="no squashfs-tools: apt-get install squashfs-tools"
)
def test_an_image_holds_what_is_kept_is_reused_and_follows_changes(tree: Path, tmp_path: Path) -> None:
    (kept,) = images.project_roots()
    root = kept._replace(path=tree)
    cache = tmp_path / "cache"
    first = images.image("project", [root], cache)
    listed = subprocess.run(["unsquashfs", "-l", first], capture_output=True, text=True, check=True).stdout
    names = {line.removeprefix("squashfs-root/0/") for line in listed.splitlines() if "/0/" in line}
    files = {
        name
        for name in names
        if ("." in name and "__pycache__" not in name) or name in ("link", "build/bin/tool")
    }
    assert files == {"glassstack/a.py", "docs/b.md", "link", "build/bin/tool"}
    assert images.image("project", [root], cache) == first
    (tree / "docs/b.md").write_text("x = 22\n")
    assert images.image("project", [root], cache) != first
    assert not [path for path in cache.iterdir() if path.suffix != ".squashfs"]


def test_an_image_that_can_not_be_written_is_one_line(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(images.ImageError) as caught:
        images.image("project", [images.Root(tree)], tmp_path / "file/below")
    assert len(str(caught.value).splitlines()) == 1


def test_a_full_disk_is_told_in_the_packers_words(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mksquashfs").write_text("#!/bin/sh\necho FATAL ERROR: No space left on device\nexit 1\n")
    (tmp_path / "mksquashfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tree / "large").write_bytes(bytes(1 << 20))  # more than a pipe takes
    with pytest.raises(images.ImageError, match="mksquashfs: FATAL ERROR: No space left on device"):
        images.image("project", [images.Root(tree)], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_environment_of_this_test_is_among_the_images() -> None:
    paths = [root.path for root in images.python_roots()]
    assert any(Path(pytest.__file__).is_relative_to(path) for path in paths)
    assert any(Path(os.__file__).is_relative_to(path) for path in paths)
    assert [root.path for root in images.project_roots()] == [ROOT]


def test_the_job_reaches_the_guest_word_for_word() -> None:
    words = ["printf", "%s\n", "a b", "it's", "$HOME", "`id`", "é\n"]
    job = machine.Job(words, Path("/a b"), {"X": "$y 'z'"}, (30, 100), {"python": [Path("/p q"), Path("/r")]})
    script = job.script() + 'printf "%s|" "${command[@]}" "$cwd" "$X" "$tty" "$rows" "${roots_python[@]}"'
    said = subprocess.run(["bash", "-uc", script], capture_output=True, text=True, check=True).stdout
    assert said.split("|")[:-1] == [*words, "/a b", "$y 'z'", "yes", "30", "/p q", "/r"]


def test_the_guest_gets_what_its_terminal_needs_and_nothing_secret() -> None:
    host = {
        "TERM": "xterm",
        "LC_ALL": "C",
        "SECRET": "x",
        "GLASSSTACK_A": "1",
        "PATH": "/host",
        "HOME": "/me",
    }
    environ = prepare.environment(host, ROOT)
    assert {key: environ[key] for key in ("TERM", "LC_ALL", "GLASSSTACK_A", "HOME")} == {
        "TERM": "xterm", "LC_ALL": "C", "GLASSSTACK_A": "1", "HOME": "/root",
    }  # fmt: skip
    assert "SECRET" not in environ
    assert str(ROOT / "build/bin") in environ["PATH"].split(":")


class FakeMachine:
    """The guest's ends of the ports of a machine that is not there."""

    def __init__(self) -> None:
        self.ports: dict[str, socket.socket] = {}
        self.guest: dict[str, socket.socket] = {}
        for name in (*machine.PORTS, "console"):
            self.ports[name], self.guest[name] = socket.socketpair()
        read, self.write = os.pipe()
        self.errors = os.fdopen(read, "rb", 0)

    def say(self, text: str, port: str = "control") -> None:
        self.guest[port].sendall(text.encode())

    def die(self) -> None:
        for end in self.guest.values():
            end.close()

    def close(self) -> None:
        self.die()
        for end in self.ports.values():
            end.close()
        self.errors.close()
        os.close(self.write)


@pytest.fixture
def vm() -> Iterator[FakeMachine]:
    made = FakeMachine()
    yield made
    made.close()


class Caller:
    """Pipes in place of the caller's descriptors."""

    def __init__(self) -> None:
        self.stdin, self.typed = os.pipe()
        self.out, stdout = os.pipe()
        self.err, stderr = os.pipe()
        self.files = streams.Files(self.stdin, stdout, stderr)

    def end_input(self) -> None:
        os.close(self.typed)
        self.typed = os.open(os.devnull, os.O_WRONLY)

    def close(self) -> None:
        for fd in (self.stdin, self.typed, self.out, self.files.stdout, self.err, self.files.stderr):
            os.close(fd)


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    made.close()


def carry(vm: Any, caller: Caller, terminal: bool = False) -> tuple[streams.Streams, list[str]]:
    notes: list[str] = []
    return streams.Streams(vm, caller.files, terminal, notes.append), notes


def test_output_errors_and_status_come_out_where_they_belong(vm: FakeMachine, caller: Caller) -> None:
    carried, notes = carry(vm, caller)
    vm.say("boot noise", "console")
    vm.say("note something odd\nrea")
    vm.say("dy\n")
    vm.say("out\n\0\xff", "stdout")
    vm.say("err", "stderr")
    vm.say("exit 7\n")
    assert carried.run(5) == 7
    assert (os.read(caller.out, 99).decode(), os.read(caller.err, 99)) == ("out\n\0\xff", b"err")
    assert notes == ["something odd"]


def test_input_reaches_the_guest_and_ends_there(vm: FakeMachine, caller: Caller) -> None:
    carried, _ = carry(vm, caller)
    os.write(caller.typed, b"typed")
    caller.end_input()
    vm.say("ready\n")
    got: list[bytes] = []

    def command() -> None:
        """Ends only when its input has ended, as a command that reads does."""
        while part := vm.guest["stdin"].recv(99):
            got.append(part)
        vm.say("exit 0\n")

    guest = threading.Thread(target=command)
    guest.start()
    assert carried.run(5) == 0
    guest.join(5)
    assert b"".join(got) == b"typed"


@pytest.mark.parametrize(("before", "when"), [("", "boot"), ("ready\n", "command")])
def test_a_machine_that_dies_says_when_and_its_last_word(
    vm: FakeMachine, caller: Caller, before: str, when: str
) -> None:
    carried, _ = carry(vm, caller)
    vm.say(before)
    os.write(vm.write, b"\nKernel panic - not syncing: no root\n---[ end\n")
    vm.die()
    with pytest.raises(
        streams.VmEndedError, match=f"before the {when} did: Kernel panic - not syncing: no root"
    ):
        carried.run(5)


def test_a_machine_that_does_not_come_up_is_given_up(vm: FakeMachine, caller: Caller) -> None:
    carried, _ = carry(vm, caller)
    with pytest.raises(streams.VmEndedError, match=r"did not come up in 0\.1 s"):
        carried.run(0.1)


def test_escape_leaves_a_guest_that_does_not_answer(vm: FakeMachine, caller: Caller) -> None:
    carried, _ = carry(vm, caller, terminal=True)
    vm.say("ready\n")
    os.write(caller.typed, streams.ESCAPE * 3)
    with pytest.raises(streams.EscapedError):
        carried.run(5)


def test_folders_of_the_dead_are_removed_and_of_the_living_kept(tmp_path: Path) -> None:
    dead = tmp_path / "run-dead"
    dead.mkdir()
    (dead / "lock").touch()
    half_made = tmp_path / "run-new"
    half_made.mkdir()
    with machine._run_folder(tmp_path) as living:
        machine.sweep(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted([living, half_made])
    eventually(lambda: list(tmp_path.iterdir()) == [half_made])


def test_the_guest_caches_its_root_and_the_archive_stays_valid(tmp_path: Path) -> None:
    """The initramfs that virtme-ng makes here."""
    try:
        found = needs.find()
    except needs.LabMissingError as error:
        pytest.skip(str(error))
    machine._write_job(tmp_path / "job", machine.Job(("true",), Path("/")))
    machine._virtme(found, tmp_path, 256, 1, False)
    archive = (tmp_path / "initramfs").read_bytes()
    assert b"mount -n -t 9p -o ro,cache=loose,,,,,,trans=virtio," in archive
    assert archive.startswith(b"070701")  # of the kind that has no checksum


def test_usage_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--memory", "8", "--", "true"]) == 2
    assert "256 MiB" in capsys.readouterr().err


def test_missing_packages_end_the_command_with_4(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(release: str) -> None:
        raise needs.LabMissingError(
            "the lab VM needs squashfs-tools", "as root: apt-get install -y squashfs-tools"
        )

    monkeypatch.setattr(needs, "find", absent)
    assert main(["lab", "--", "true"]) == 4
    assert capsys.readouterr().err == (
        "glassstack: the lab VM needs squashfs-tools; as root: apt-get install -y squashfs-tools\n"
    )


def test_ktap_is_sorted_by_script_and_test() -> None:
    out = (
        "# script a.sh\nKTAP version 1\nok 1 one # 23 done\n# why\nnot ok 2 - two # it is\n1..2\n"
        "# status 1 after 3 s\n"
        "# script b.py\nok 1 one\nok 2 three # SKIP no strace\nBail out!\n"
    )
    run = read_run(subprocess.CompletedProcess([], 125, out, "gone"), 1.0)
    assert {key: result.passed for key, result in run.results.items()} == {
        ("a.sh", "one"): True, ("a.sh", "two"): False, ("b.py", "one"): True, ("b.py", "three"): True,
    }  # fmt: skip
    assert [key for key, result in run.results.items() if result.skipped] == [("b.py", "three")]
    assert run.results["b.py", "three"].skipped == "no strace"
    assert run.results["a.sh", "two"].said == "# why\nnot ok 2 - two # it is"
    assert (run.statuses, run.status) == ({"a.sh": 1}, 125)
