"""What the steps of a container's start do, in plain words. Pure; one row a step."""

from typing import NamedTuple


class Meaning(NamedTuple):
    """``layer``, what of a container it makes: "visibility", "resources", "privilege", "devices", "life"."""

    layer: str
    text: str


STEPS: dict[str, Meaning] = {
    "clone": Meaning("visibility", "Starts the first process in new namespaces: it sees its own of each."),
    "id-map": Meaning("privilege", "Says who its users are on the host: root inside is nobody outside."),
    "cgroup": Meaning("resources", "Makes a cgroup for it; what its ancestors limit limits it, too."),
    "cgroup-write": Meaning("resources", "Writes a limit that the kernel enforces on all of its processes."),
    "device-rules": Meaning(
        "devices", "Attaches the device list: a BPF program asked at each open and mknod."
    ),
    "mount": Meaning("visibility", "Puts a file system or a host's path where its processes will find it."),
    "device": Meaning(
        "devices", "Puts a device node into its /dev; whether it opens is the device list's word."
    ),
    "library": Meaning("devices", "Brings a library of the host's driver; the image must not have its own."),
    "ldconfig": Meaning("devices", "Renews the loader's cache, so that what was brought is found by name."),
    "hook": Meaning("devices", "Runs a program of the host at this point of the start."),
    "pivot-root": Meaning("visibility", "Makes its file system the root and lets go of the host's."),
    "hostname": Meaning("visibility", "Names the machine as its processes see it."),
    "net": Meaning("visibility", "Gives it a network interface: one end of a pair, the other at the host."),
    "capabilities": Meaning("privilege", "Drops what root can do but for a short list."),
    "seccomp": Meaning("privilege", "Refuses syscalls that it has no use for, from here on."),
    "exec": Meaning("life", "Becomes the command: everything before this the command finds done."),
    "exit": Meaning("life", "The command has ended."),
    "oom": Meaning("resources", "The kernel killed a process: a memory limit was reached."),
    "delete": Meaning("life", "Takes away what was made for it."),
}
UNKNOWN = Meaning("", "A step that this version does not know.")


def meaning(name: str) -> Meaning:
    """Of a step by its name."""
    return STEPS.get(name, UNKNOWN)
