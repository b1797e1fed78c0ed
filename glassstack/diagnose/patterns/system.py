"""What ordinary tools and files of /proc, /sys and /etc say: versions, nodes, modules, libraries, limits."""

from glassstack.diagnose.patterns.base import DEVICE, VERSION, rows

SYSTEM = rows(
    (
        "proc_version",
        "version: ",
        rf"(?:NVRM|FGPU) version: (?:NVIDIA|FAKEGPU) .*?(?:Module|device)\b.*? (?P<version>{VERSION})\b",
    ),
    (
        "modinfo",
        "version:",
        rf"^version: +(?P<version>{VERSION})$",
    ),
    (
        "package",
        "nvidia",
        r"^[ih]i +(?P<name>(?:lib)?nvidia[\w.+-]*|xserver-xorg-video-nvidia\S*)(?::\w+)? +(?:\d+:)?"
        rf"(?P<version>{VERSION})\S*",
    ),
    (
        "upgraded",
        "nvidia",
        r"(?<![\w.+-])(?P<name>(?:lib)?nvidia[\w.+-]{0,80})(?::\w+)? \((?:\d+:)?"
        rf"(?P<old>{VERSION})[^,)]*, (?:\d+:)?(?P<new>{VERSION})",
    ),
    ("unattended", "unattended", r"/unattended-upgrade|unattended-upgrades"),
    (
        "rebooted",
        "reboot",
        r"(?:^|\$ |# )(?:sudo )?(?:reboot|systemctl reboot)|up \d+ min|already rebooted|after (?:a )?reboot",
    ),
    (
        "node",
        "nv",
        r"^c(?P<mode>[rwxsStT-]{9})[.+@]? +\d+ +(?P<owner>\S+) +(?P<group>\S+) +(?P<major>\d+), "
        r"*(?P<minor>\d+) "
        r".*?(?P<path>(?:/dev/)?nvidia[\w/-]*)$",
    ),
    (
        "node",
        "fakegpu",
        r"^c(?P<mode>[rwxsStT-]{9})[.+@]? +\d+ +(?P<owner>\S+) +(?P<group>\S+) +(?P<major>\d+), "
        r"*(?P<minor>\d+) "
        r".*?(?P<path>(?:/dev/)?fakegpu[\w/-]*)$",
    ),
    (
        "nodes_absent",
        "no such file",
        r"cannot access '?(?P<path>/dev/(?:nvidia|fakegpu)[\w*?/-]*)'?: No such file",
    ),
    ("node_absent", "no such file", rf"(?:l?stat|open)\S* (?:failed: )?(?P<path>{DEVICE}): no such file"),
    ("major", "nvidia", r"^ *(?P<major>\d+) (?P<name>nvidia[\w-]*)$"),
    ("major", "fakegpu", r"^ *(?P<major>\d+) (?P<name>fakegpu[\w-]*)$"),
    (
        "module",
        "nvidia",
        r"^(?P<name>nvidia\w*) +\d+ +(?P<count>-?\d+)(?: +(?P<users>[\w,]+|-)(?: Live.*)?)? *$",
    ),
    (
        "module",
        "fakegpu",
        r"^(?P<name>fakegpu\w*) +\d+ +(?P<count>-?\d+)(?: +(?P<users>[\w,]+|-)(?: Live.*)?)? *$",
    ),
    (
        "module",
        "nouveau",
        r"^(?P<name>nouveau) +\d+ +(?P<count>-?\d+)(?: +(?P<users>[\w,]+|-)(?: Live.*)?)? *$",
    ),
    ("bound", "kernel driver in use", r"Kernel driver in use: (?P<driver>[\w-]+)"),
    (
        "pci_nvidia",
        "nvidia",
        r"^(?P<pci>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d) (?:VGA|3D|Display).*?NVIDIA",
    ),
    (
        "module_busy",
        "in use",
        r"(?P<tool>rmmod: ERROR|modprobe: FATAL|rmmod): Module (?P<name>\w+) is in use(?: by: "
        r"(?P<users>[\w ]+))?",
    ),
    (
        "module_busy",
        "driver is in use",
        r"Could not unload (?P<name>NVIDIA driver) kernel modules, driver is in use",
    ),
    (
        "ldconfig",
        "=>",
        r"^ *(?P<name>lib(?:cuda|nvidia-ml|fakecuda|fakeml)\.so\S*) \((?P<abi>[^)]*)\) => (?P<path>\S+)",
    ),
    (
        "mapped",
        "/",
        r"^[0-9a-f]+-[0-9a-f]+ [rwxps-]{4} [0-9a-f]+ \S+ \d+ +"
        r"(?P<path>/\S*lib(?:cuda|nvidia-ml|fakecuda|fakeml|fakecudart|cudart)\S*)",
    ),
    ("ld_library_path", "ld_library_path", r"LD_LIBRARY_PATH=\"?(?P<path>[^\"\s]*)"),
    ("self_cgroup", ":/", r"^\d+:[\w,=-]*:(?P<path>/.*)$"),
    ("device_rule", ":", r"^(?P<type>[acb]) (?P<major>\d+|\*):(?P<minor>\d+|\*) (?P<access>[rwm]+)$"),
    ("memlock", "max locked memory", r"max locked memory +(?:\(.*?\) )?(?P<limit>\d+|unlimited)"),
    ("memlock_unit", "limitmemlock", r"LimitMEMLOCK=(?P<limit>\w+)"),
    ("unit_memory", "memorymax", r"MemoryMax=(?P<limit>\S+)"),
    ("map_count", "max_map_count", r"vm\.max_map_count *= *(?P<limit>\d+)"),
    ("wsl", "microsoft", r"(?P<kernel>[\w.-]{0,40}microsoft-standard[\w.-]*)"),
    ("selinux_mode", "enforcing", r"Enforcing Mode +(?P<mode>\w+)"),
    (
        "param",
        "devicefile",
        r"(?:NVreg_)?DeviceFile(?P<name>UID|GID|Mode)[:=] *(?P<value>\d+)",
    ),
    ("modify_off", "modifydevicefiles", r"(?:NVreg_)?ModifyDeviceFiles[:=] *(?P<value>0)\b"),
    ("dev_char_missing", "/dev/char", r"/dev/char/\d+:\d+.*(?:No such file|missing)"),
    ("dev_char", "/dev/", r"(?:/dev/char/)?(?P<number>195:\d+) -> \S*nvidia\S*"),
)
