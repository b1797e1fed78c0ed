"""What a BPF process is asked to do; the same on both sides of its command line."""

import msgspec


class Options(msgspec.Struct, frozen=True):
    """Work for one BPF process.

    Attributes:
        command: the program to launch, empty for none.
        pids: processes to watch.
        cgroup: a folder of the cgroup v2 mount; its processes and those of its children are watched.
        system: every process is watched.
        runner: words of the embedded device's launcher, empty to launch without the device.
        follow: children of watched processes are watched too (those of launched ones always are).
        any_node: every ioctl counts, and calls on every node of /dev, not only the GPUs'.
        count: no calls one by one: counts and distributions, kept in the kernel, every ``period`` seconds.
        functions: functions of the GPU libraries are counted too.
        libraries: files to look for such functions in from the start, before a process has them mapped.
        stack: of each call the functions that led to it, as far as frame pointers go.
        period: seconds between two Tallies.
        ring_mib: size of the ring buffer, a power of two.
        witness_fd: where the launched embedded device tells what it answered, -1 for nowhere.
    """

    command: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    cgroup: str = ""
    system: bool = False
    runner: tuple[str, ...] = ()
    follow: bool = True
    any_node: bool = False
    count: bool = False
    functions: bool = False
    libraries: tuple[str, ...] = ()
    stack: bool = False
    period: float = 0.5
    ring_mib: int = 16
    witness_fd: int = -1
