"""strace's text as events: every form of a line, descriptors through dup, fork and exec, what is open."""

from __future__ import annotations

import random
from textwrap import dedent

import pytest

from glassstack.decoders.strace import Parser, grammar
from glassstack.decoders.strace.parser import convert
from glassstack.decoders.strace.requests import number_of
from glassstack.model.codec import encode_line
from glassstack.model.events import Calls, Event, Process, Syscall

CTL = "/dev/nvidiactl"
ALLOC = "_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2b, 0x30)"


def events(text: str) -> list[Event]:
    return convert(Parser(), dedent(text).strip("\n").split("\n"))


def calls(text: str) -> list[Syscall]:
    return [event for event in events(text) if isinstance(event, Syscall)]


def told(text: str) -> list[tuple[str, str, int | None, int]]:
    return [(call.name, call.device, call.fd, call.ret) for call in calls(text)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (ALLOC, 0xC030462B),
        ("_IOC(0x3, 0x46, 0x2b, 0x30)", 0xC030462B),
        ("_IOC(0, 0, 0x2, 0x3000)", 0x30000002),
        ("_IOC(_IOC_NONE, 0, 0x1b, 0)", 0x1B),
        ("_IOWR('F', 0x2b, 0x30)", 0xC030462B),
        ("_IOWR(0x46, 0x2b, 0x30)", 0xC030462B),
        ("_IO('d', 0)", 0x6400),
        ("0xc030462b", 0xC030462B),
        ("0xc030462b /* _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2b, 0x30) */", 0xC030462B),
        ("FIBMAP", 1),
        ("FIGETBSZ", 2),
        ("SNDCTL_TMR_TIMEBASE or TCGETS", None),
        ("DRM_IOCTL_VERSION", None),
        ("_IOC(nonsense, 0x46, 0x2b, 0x30)", None),
    ],
)
def test_a_request_in_every_form(text: str, number: int | None) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize(
    "prefix",
    [
        *("", "4242  ", "[pid  4242] ", "4242<python3> ", "[pid 4242<python3>] ", "12:00:01 "),
        *("4242 12:00:01.000002 ", "1700000000.000002 ", "     0.000002 ", "4242      0.000002 "),
        *("4242 12:00:01 (+     0.000002) ", "4242 [  16] [00007f35b9eef8d9] "),
        "[pid  4242] 1700000000.000002 ",
    ],
)
@pytest.mark.parametrize("ending", ["", " <0.000123>"])
def test_a_line_under_every_prefix(prefix: str, ending: str) -> None:
    text = "\n".join(
        (
            f'{prefix}openat(AT_FDCWD, "{CTL}", O_RDWR|O_CLOEXEC) = 8{ending}',
            f"{prefix}ioctl(8, {ALLOC}, 0x7ffd00001000)      = 0{ending}",
        )
    )
    opened, alloc = calls(text)
    assert (opened.device, opened.fields["flags"], opened.ret) == (CTL, "O_RDWR|O_CLOEXEC", 8)
    assert (alloc.name, alloc.device, alloc.fields) == ("RM_ALLOC", CTL, {"arg": 0x7FFD00001000})
    assert alloc.raw == 0xC030462B
    assert alloc.tid == (4242 if "4242" in prefix else 0)
    assert alloc.dur_ns == (123_000 if ending else None)


def test_paths_of_y_and_yy_need_no_history() -> None:
    assert told(f"""
        ioctl(8</dev/nvidiactl>, {ALLOC}, 0x7ffd00001000) = 0
        ioctl(9</dev/nvidia-uvm<char 509:0>>, _IOC(_IOC_NONE, 0, 0x25, 0), 0x7ffd00001000) = 0
        ioctl(3</memfd:fakegpu0>(deleted), _IOC(_IOC_READ|_IOC_WRITE, 0xfa, 0x1, 0xa8), 0x7ff0) = 0
        ioctl(3</memfd:fakegpu0 (deleted)>, _IOC(_IOC_READ|_IOC_WRITE, 0xfa, 0x1, 0xa8), 0x7ff0) = 0
        ioctl(1</dev/pts/0<char 136:0>>, TCGETS, {{c_iflag=ICRNL|IXON, c_oflag=NL0, ...}}) = 0
        ioctl(7<TCP:[127.0.0.1:40000->127.0.0.1:80]>, FIONREAD, [0]) = 0
    """) == [
        ("RM_ALLOC", CTL, 8, 0),
        ("UVM_REGISTER_GPU", "/dev/nvidia-uvm", 9, 0),
        ("INFO", "/dev/fakegpu0", 3, 0),
        ("INFO", "/dev/fakegpu0", 3, 0),
    ]


def test_the_same_number_on_different_nodes() -> None:
    assert told("""
        openat(AT_FDCWD, "/dev/nvidia-uvm", O_RDWR) = 4
        open("/dev/dri/renderD128", O_RDWR) = 5
        open("/etc/passwd", O_RDONLY) = 6
        ioctl(4, FIBMAP, 0x7ffd00001000) = 0
        ioctl(5, DRM_IOCTL_VERSION, {version_major=1, name_len=10}) = 0
        ioctl(6, FIBMAP, 0x7ffd00001000) = -1 EPERM (Operation not permitted)
    """)[2:] == [
        ("UVM_RESERVE_VA", "/dev/nvidia-uvm", 4, 0),
        ("DRM_IOCTL_VERSION", "/dev/dri/renderD128", 5, 0),
    ]


def test_a_failed_open_is_told_with_its_errno() -> None:
    (call,) = calls(
        'openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = -1 EPERM (Operation not permitted) <0.000011>'
    )
    assert (call.ret, call.errno, call.device, call.dur_ns) == (-1, "EPERM", CTL, 11_000)
    assert calls('open("/dev/nvidia0", O_RDWR) = -1 EIO (Input/output error)')[0].ret == -5


def test_unfinished_calls_of_several_threads() -> None:
    seen = calls(f"""
        7 1700000000.000001 ioctl(8<{CTL}>, {ALLOC} <unfinished ...>
        8 1700000000.000002 ioctl(9<{CTL}>, {ALLOC}, 0x7ffd00002000 <unfinished ...>
        7 1700000000.000004 <... ioctl resumed>, 0x7ffd00001000) = 0
        8 1700000000.000009 <... ioctl resumed> )   = -1 EIO (Input/output error)
        7 1700000000.000010 <... futex resumed>) = 0
    """)
    assert [(call.tid, call.fd, call.fields["arg"], call.errno, call.dur_ns) for call in seen] == [
        (7, 8, 0x7FFD00001000, None, 3000),
        (8, 9, 0x7FFD00002000, "EIO", 7000),
    ]


def test_lines_broken_as_old_versions_did() -> None:
    assert told(f"""
        7 open("{CTL}", O_RDWR <unfinished ...>
        7 <... open resumed> )              = 8
        7 ioctl(8, {ALLOC}, <unfinished ...>
        7 <... ioctl resumed> 0x7ffd00001000) = 0
        7 ioctl(8, {ALLOC} <unfinished ...>
        7 <... ioctl resumed> , 0x7ffd00001000) = 0
    """) == [("open", CTL, 8, 8), ("RM_ALLOC", CTL, 8, 0), ("RM_ALLOC", CTL, 8, 0)]


def test_what_never_returned_is_in_flight() -> None:
    found = events(f"7 ioctl(8<{CTL}>, {ALLOC}, 0x7ffd00001000 <unfinished ...>\n7 +++ exited with 0 +++")
    assert not any(isinstance(event, Calls) for event in found), "it ended with its thread"
    found = events(f"7 ioctl(8<{CTL}>, {ALLOC}, 0x7ffd00001000 <unfinished ...>")
    (flying,) = [event for event in found if isinstance(event, Calls)]
    assert [(call.tid, call.name) for call in flying.calls] == [(7, "RM_ALLOC")]


def test_a_descriptor_through_dup_and_close() -> None:
    assert told(f"""
        openat(AT_FDCWD, "{CTL}", O_RDWR) = 8
        dup(8) = 9
        dup2(9, 20) = 20
        dup3(20, 21, O_CLOEXEC) = 21
        fcntl(21, F_DUPFD_CLOEXEC, 100) = 100
        fcntl(21, F_GETFD) = 0x1 (flags FD_CLOEXEC)
        close(8) = 0
        ioctl(100, {ALLOC}, 0x7ff0) = 0
        open("/etc/passwd", O_RDONLY) = 8
        ioctl(8, {ALLOC}, 0x7ff0) = -1 ENOTTY (Inappropriate ioctl for device)
        dup2(8, 100) = 100
        ioctl(100, {ALLOC}, 0x7ff0) = -1 ENOTTY (Inappropriate ioctl for device)
        close_range(9, 30, 0) = 0
        ioctl(20, {ALLOC}, 0x7ff0) = -1 EBADF (Bad file descriptor)
    """) == [
        ("open", CTL, 8, 8), ("dup", CTL, 8, 9), ("dup2", CTL, 9, 20), ("dup3", CTL, 20, 21),
        ("fcntl", CTL, 21, 100), ("close", CTL, 8, 0), ("RM_ALLOC", CTL, 100, 0), ("dup2", CTL, 8, 100),
        ("close_range", CTL, None, 0), ("RM_ALLOC?", "", 20, -9),
    ]  # fmt: skip


FORK = "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f10)"
THREAD = (
    "clone3({flags=CLONE_VM|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD, stack=0x7f} => {parent_tid=[11]}, 88)"
)


def test_a_fork_copies_and_a_thread_shares() -> None:
    assert told(f"""
        10 openat(AT_FDCWD, "{CTL}", O_RDWR) = 8
        10 {FORK} = 20
        10 {THREAD} = 11
        11 close(8) = 0
        10 ioctl(8, {ALLOC}, 0x7ff0) = -1 EBADF (Bad file descriptor)
        20 ioctl(8, {ALLOC}, 0x7ff0) = 0
    """) == [
        ("open", CTL, 8, 8), ("close", CTL, 8, 0), ("RM_ALLOC?", "", 8, -9), ("RM_ALLOC", CTL, 8, 0)
    ]  # fmt: skip


def test_raw_flags_of_a_clone_mean_the_same() -> None:
    found = events("""
        10 clone3({flags=0x3d0f00, stack=0x7f} => {parent_tid=[11]}, 88) = 11
        10 clone(child_stack=NULL, flags=0x1200000|17, child_tidptr=0x7f) = 12
    """)
    assert [(event.pid, event.tid, event.what) for event in found if isinstance(event, Process)] == [
        (10, 10, "start"), (10, 11, "thread"), (12, 12, "fork")
    ]  # fmt: skip


def test_a_child_that_speaks_before_its_parents_fork_returns() -> None:
    assert (
        told(f"""
        10 openat(AT_FDCWD, "{CTL}", O_RDWR) = 8
        10 {FORK.removesuffix(")")} <unfinished ...>
        20 ioctl(8, {ALLOC}, 0x7ff0) = 0
        10 <... clone resumed>) = 20
        20 ioctl(8, {ALLOC}, 0x7ff0) = 0
    """)[1:]
        == [("RM_ALLOC", CTL, 8, 0)] * 2
    )


def test_exec_closes_what_is_marked_and_nothing_else() -> None:
    assert told(f"""
        10 openat(AT_FDCWD, "{CTL}", O_RDWR|O_CLOEXEC) = 8
        10 openat(AT_FDCWD, "{CTL}", O_RDWR) = 9
        10 fcntl(9, F_SETFD, FD_CLOEXEC) = 0
        10 openat(AT_FDCWD, "{CTL}", O_RDWR) = 10
        10 execve("/usr/bin/python3", ["python3", "train.py"], 0x7ffd /* 30 vars */) = 0
        10 ioctl(8, {ALLOC}, 0x7ff0) = 0
        10 ioctl(9, {ALLOC}, 0x7ff0) = 0
        10 ioctl(10, {ALLOC}, 0x7ff0) = 0
    """)[3:] == [("RM_ALLOC?", "", 8, 0), ("RM_ALLOC?", "", 9, 0), ("RM_ALLOC", CTL, 10, 0)]


def test_a_passed_descriptor_is_known_with_y_and_forgotten_without() -> None:
    sent = "msg_control=[{{cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[{}]}}], msg_flags=0}}, 0"
    assert told(f"""
        openat(AT_FDCWD, "{CTL}", O_RDWR) = 8
        recvmsg(5, {{msg_name=NULL, {sent.format("9</dev/nvidia0>")}) = 1
        ioctl(9, {ALLOC}, 0x7ff0) = 0
        recvmsg(5, {{msg_name=NULL, {sent.format("8")}) = 1
        ioctl(8, {ALLOC}, 0x7ff0) = 0
    """)[1:] == [("RM_ALLOC", "/dev/nvidia0", 9, 0), ("RM_ALLOC?", "", 8, 0)]


def test_mappings_of_a_device_come_and_go() -> None:
    seen = calls("""
        openat(AT_FDCWD, "/dev/nvidia0", O_RDWR) = 15
        ioctl(5</dev/nvidiactl>, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x4e, 0x38), 0x7ff0) = 0
        mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_SHARED, 15, 0) = 0x7f5eb38b2000
        munmap(0x7f0000000000, 4096) = 0
        munmap(0x7f5eb38b2000, 65536) = 0
        munmap(0x7f5eb38b2000, 65536) = 0
        mmap(0x200000000, 0x1000, 0x3, 0x11, 15, 0x1000) = -1 EINVAL (Invalid argument)
    """)
    assert [call.syscall for call in seen] == ["openat", "ioctl", "mmap", "munmap", "mmap"]
    assert str(seen[2].fields["maps"]).endswith("of the size of a doorbell region")
    assert seen[4].fields["prot"] == "PROT_READ|PROT_WRITE"
    assert seen[4].fields["flags"] == "MAP_SHARED|MAP_FIXED"


@pytest.mark.parametrize(
    ("lines", "gap"),
    [
        (("23:59:59.999999 a(", "00:00:00.000001 b("), 2000),
        (("1700000000.100000 a(", "1700000001.000000 b("), 900_000_000),
        (("1700000000.123456789 a(", "1700000000.123456790 b("), 1),
        (("     0.000000 a(", "     0.000250 b("), 250_000),
        (("12:00:00 (+     0.000000) a(", "12:00:00 (+     0.000250) b("), 250_000),
        (("a(", "b("), 1000),
    ],
)
def test_times(lines: tuple[str, str], gap: int) -> None:
    clock = grammar.Clock()
    matches = [grammar.LINE.match(line) for line in lines]
    first, second = (clock.at(m[grammar.TIME], m[grammar.SINCE]) for m in matches if m)
    assert second - first == gap


def test_ends_of_processes() -> None:
    found = [event for event in events("""
        10 execve("/bin/x", ["x", "-v"], 0x7ffd /* 3 vars */) = 0
        10 --- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL} ---
        10 +++ killed by SIGSEGV (core dumped) +++
        11 exit_group(3) = ?
        11 +++ exited with 3 +++
    """) if isinstance(event, Process)]  # fmt: skip
    assert [(event.tid, event.what, event.status, event.signal, event.command) for event in found] == [
        (10, "start", None, None, ""), (10, "exec", None, None, "x -v"), (10, "exit", None, "SIGSEGV", "")
    ]  # fmt: skip


def test_stacks_program_output_and_rubbish_are_left_out_and_counted() -> None:
    parser = Parser()
    text = f"""
        strace: Process 11 attached
        ioctl(8<{CTL}>, {ALLOC}, 0x7ff0) = 0
         > /usr/lib/libc.so.6(ioctl+0xb) [0x10dd6b]
         > /opt/libcuda.so.550.54.14() [0x2fe6a3]
        write(1, "Failed"..., 41Failed to initialize NVML: Unknown Error
        ) = 41
        hello world
    """
    convert(parser, dedent(text).strip("\n").split("\n"))
    assert parser.notes.device_calls == 1
    assert parser.notes.strange == 2
    assert "2 lines are none of strace's; they are left out" in parser.notes.said()


def test_the_log_says_how_old_the_library_is_and_what_it_can_not_show() -> None:
    parser = Parser()
    convert(parser, [f"ioctl(8<{CTL}>, {ALLOC}, 0x7ff0) = 0"])
    text = "\n".join(parser.notes.said())
    assert "driver 535 or newer" in text
    assert "a silent log is not a hang" in text
    assert "no times in this log" in text
    parser = Parser()
    convert(parser, ["ioctl(8, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2b, 0x28), 0x7ff0) = 0"])
    text = "\n".join(parser.notes.said())
    assert "driver 530 or older" in text
    assert "1 calls on descriptors that were opened before the log begins" in text
    parser = Parser()
    convert(parser, ['openat(AT_FDCWD, "/x/libcuda.so.1", O_RDONLY) = 3</x/libcuda.so.550.54.14>'])
    assert parser.notes.libraries == {"libcuda.so": "550.54.14"}


def test_mutated_lines_never_raise() -> None:
    chance = random.Random(31)
    good = [
        f'7 1700000000.000001 openat(AT_FDCWD, "{CTL}", O_RDWR|O_CLOEXEC) = 8<{CTL}<char 195:255>> <0.00001>',
        f"7 12:00:00.1 ioctl(8<{CTL}>, {ALLOC}, 0x7ffd00001000) = 0 <0.000010>",
        f"7 ioctl(8, {ALLOC} <unfinished ...>",
        "7 <... ioctl resumed>, 0x7ff0) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)",
        f"10 {FORK} = 20",
        THREAD + " = 11",
        "mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_SHARED, 15, 0) = 0x7f5eb38b2000",
        "munmap(0x7f5eb38b2000, 65536) = 0",
        "close_range(3, 0xffffffff, CLOSE_RANGE_CLOEXEC) = 0",
        "fcntl(21, F_DUPFD_CLOEXEC, 100) = 100",
        'execve("/bin/x", ["x", "-v"], 0x7ffd /* 3 vars */) = 0',
        "7 +++ exited with 3 +++",
        "recvmsg(5, {msg_control=[{cmsg_type=SCM_RIGHTS, cmsg_data=[8]}]}, 0) = 1",
    ]
    parser = Parser()
    for _ in range(20_000):
        line = chance.choice(good)
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(line) + 1)
            piece = chance.choice(
                ("", "\0", "(", ")", " = ", "<", ">", "-1", "99999999999999999999", "\x1b[31m", '"')
            )
            line = line[:at] + piece + line[at + chance.randrange(4) :]
        for event in parser.feed([line]):
            encode_line(event)
    for event in parser.finish():
        encode_line(event)
