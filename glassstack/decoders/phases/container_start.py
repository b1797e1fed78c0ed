"""From the runtime's first namespace to the command: how a container starts, in calls or in steps. Pure.

A strace log of any runtime has the calls; minirt tells the steps itself.
"""

from glassstack.decoders.phases.matching import Phase, Rule, Table


def _call(names: str, args: str = ".*") -> Rule:
    return Rule(names, "", {"args": args})


def _step(names: str) -> Rule:
    return Rule(names, kind="step")


def _names(pattern: str) -> list[str]:
    """The names that an alternation of names, some with an optional end, stands for."""
    plain = [name for name in pattern.split("|") if not name.endswith("?")]
    optional = [name.removesuffix("?") for name in pattern.split("|") if name.endswith("?")]
    return [*plain, *optional, *(name[:-1] for name in optional)]


_WRITES = "openat2?|open|write"

PHASES = (
    Phase(
        "cgroup",
        "cgroup and limits",
        "A group for its processes is made, and limits are written into the group's files.",
        (
            _step("cgroup|cgroup-write"),
            _call("mkdir|mkdirat", ".*(?:cgroup|minirt-).*"),
            _call(_WRITES, '.*(?:/memory|/cpu|/pids|/cpuset|/blkio|/io|/freezer|cgroup)\\.[a-z_.]+[>"].*'),
        ),
    ),
    Phase(
        "ids",
        "users",
        "Root inside is mapped to somebody outside; without a user namespace there is nothing to map.",
        (_step("id-map"), _call(_WRITES, '.*/(?:uid_map|gid_map|setgroups)[>"].*')),
    ),
    Phase(
        "namespaces",
        "namespaces",
        "A process begins in new namespaces: of processes, mounts, network, names, System V IPC, cgroups.",
        (_step("clone|net"), _call("clone3?|unshare", ".*CLONE_NEW.*"), _call("setns")),
    ),
    Phase(
        "devices",
        "device list",
        "A program of the cgroup is asked about every open and mknod; with cgroup v1 it is a list in a file.",
        (
            _step("device-rules"),
            _call("bpf", ".*BPF_(?:PROG_LOAD|PROG_ATTACH|PROG_QUERY).*"),
            _call(_WRITES, '.*/devices\\.(?:allow|deny|list)[>"].*'),
        ),
    ),
    Phase(
        "root",
        "root and mounts",
        "Its file system is put together: the image, /proc, /dev, /sys, what is bound in, what is masked.",
        (
            _step("mount|library|ldconfig|hook"),
            _call("mount|move_mount|open_tree|fsopen|fsconfig|fsmount|mount_setattr"),
        ),
    ),
    Phase(
        "nodes",
        "device nodes",
        "Nodes and links in its /dev. Whether a node opens is the device list's word.",
        (_step("device"), _call("mknod|mknodat")),
    ),
    Phase(
        "pivot",
        "change of root",
        "The host's file system is let go of. chroot would only hide it.",
        (_step("pivot-root"), _call("pivot_root|chroot|umount2?")),
    ),
    Phase(
        "names",
        "names",
        "The machine gets a name of its own.",
        (_step("hostname"), _call("sethostname|setdomainname")),
    ),
    Phase(
        "privilege",
        "privilege",
        "Capabilities are dropped, a filter of system calls is loaded, and nothing can be gained any more.",
        (
            _step("capabilities|seccomp"),
            _call("prctl", ".*(?:CAP|NO_NEW_PRIVS|SECCOMP|KEEPCAPS|DUMPABLE).*"),
            _call("capset|seccomp|setresuid|setresgid|setgroups"),
        ),
    ),
    Phase(
        "command",
        "the command",
        "The process becomes the command. A runtime that executes itself in between shows here too.",
        (_step("exec"), _call("execve|execveat")),
    ),
    Phase(
        "end",
        "end",
        "The group is emptied and removed.",
        (_step("exit|oom|delete"), _call("rmdir|unlinkat", ".*(?:cgroup|minirt-|AT_REMOVEDIR).*")),
    ),
)

ALSO = frozenset(
    name for phase in PHASES for rule in phase.rules if rule.kind == "syscall" for name in _names(rule.names)
)
CONTAINER_START = Table("how a container starts", PHASES, also=ALSO)
