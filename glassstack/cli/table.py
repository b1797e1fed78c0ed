"""The one table of commands: name → module and one line of help.

A command module has ``add_arguments(parser)`` and ``run(args) -> int`` (the
exit code). It is imported only when its command is asked for.
"""

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("glassstack.cli.run", "run a program and watch its GPU stack in the TUI"),
    "attach": ("glassstack.cli.attach", "watch a running process in the TUI"),
    "open": ("glassstack.cli.open", "look at a recording or a strace log in the TUI"),
    "trace": ("glassstack.cli.trace", "trace device calls as text or NDJSON, like strace"),
    "compare": ("glassstack.cli.compare", "two runs lined up by phase"),
    "unknown": ("glassstack.cli.unknown", "what the decoders have no name for, counted"),
    "top": ("glassstack.cli.top", "processes of the whole machine by device ioctls, launches and fence lag"),
    "maps": ("glassstack.cli.maps", "device and GPU library mappings of a process"),
    "fences": ("glassstack.cli.fences", "doorbells, rings and fences of a process"),
    "cgroup": ("glassstack.cli.cgroup", "cgroups of a process with the limits that count"),
    "container": ("glassstack.cli.container", "containers beside their host, and how a GPU came into one"),
    "holders": ("glassstack.cli.holders", "who holds the device, and how"),
    "ps": ("glassstack.cli.ps", "processes with both PID views, cgroup and device"),
    "cdi": ("glassstack.cli.cdi", "CDI specifications: write, list, check, put into a bundle"),
    "image": ("glassstack.cli.image", "find images that bring a driver which only the host may bring"),
    "lab": ("glassstack.cli.lab", "a throw-away VM with the driver in its kernel"),
    "drill": ("glassstack.cli.drill", "incident drills: broken for real, found, mended, proved"),
    "doctor": ("glassstack.cli.doctor", "what can be seen on this machine, and what to do about the rest"),
}
