"""Lines of the kernel's log. The stand-in driver's prefix is FGPU where NVIDIA's is NVRM."""

from glassstack.diagnose.patterns.base import VERSION, rows

_PCI = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)"

# The driver writes these over several lines; they are put together first.
JOINED = rows(
    (
        "api_mismatch",
        "api mismatch",
        r"API mismatch: the client(?: '(?P<name>[^']*)' \(pid (?P<pid>\d+)\))? has the version "
        rf"(?P<client>{VERSION})\b.*?kernel module has the version (?P<module>{VERSION})",
    ),
    (
        "fallen_off_bus",
        "fallen off the bus",
        rf"The NVIDIA GPU {_PCI}.*?fallen off the bus and is not responding",
    ),
    (
        "open_module_unsupported",
        "not supported by open",
        rf"The NVIDIA GPU {_PCI}(?: \(PCI ID: (?P<id>[0-9a-f:]+)\))?.*?not supported by open nvidia\.ko",
    ),
    (
        "release_unsupported",
        "not supported by the",
        rf"The NVIDIA GPU {_PCI}.{{0,200}}?not supported by the .{{0,200}}?driver release",
    ),
    (
        "driver_took_device",
        "ownership",
        r"driver such as: (?P<drivers>.*?) was loaded and obtained ownership",
    ),
)

KERNEL = rows(
    ("sxid", "sxid", r"SXid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)[^)]*\): (?P<xid>\d{4,6}), ?(?P<rest>.*)"),
    (
        "rm_init",
        "rminitadapter failed",
        rf"GPU {_PCI}: RmInitAdapter failed! \((?P<stage>0x[0-9a-f]+):(?P<status>0x[0-9a-f]+):"
        r"(?P<line>\d+)\)",
    ),
    ("gsp_init", "initialize gsp", r"Cannot initialize GSP firmware RM"),
    ("gfw_boot", "gfw_boot", r"failed to wait for GFW_BOOT(?:: \(progress (?P<progress>0x[0-9a-f]+)\))?"),
    ("probe_not_called", "probe routine was not", r"probe routine was not called for (?P<count>\d+) device"),
    ("probe_failed", "probe routine failed", r"probe routine failed for (?P<count>\d+) device"),
    ("took_ownership", "obtained ownership", r"loaded and obtained ownership"),
    ("none_initialized", "none of the nvidia", r"None of the NVIDIA devices were (?:initialized|probed)"),
    (
        "module_loaded",
        "kernel module",
        rf"(?:NVRM: )?loading (?:NVIDIA|FAKEGPU) .*?Module .*?(?P<version>{VERSION})",
    ),
    (
        "module_rejected",
        "reject",
        r"(?P<why>Loading of (?:unsigned module|module with unavailable key) is rejected"
        r"|Key was rejected by service)",
    ),
    ("module_rejected", "required key not available", r"(?P<why>Required key not available)"),
    (
        "module_rejected",
        "not signed with a trusted key",
        r"(?P<why>PKCS#7 signature not signed with a trusted key)",
    ),
    (
        "module_not_loaded",
        "unable to load the",
        r"Unable to load the (?:kernel module '(?P<module>[\w.-]+)'|'?(?P<name>nvidia\S*?)'? kernel module)",
    ),
    ("secure_boot", "secure", r"(?:SecureBoot enabled|[Ss]ecure [Bb]oot(?: is)? enabled)"),
    (
        "vermagic",
        "version magic",
        r"(?<!\w)(?P<module>\w{1,64}): version magic '(?P<built>[^' ]+)[^']*' should be '(?P<runs>[^' ]+)",
    ),
    (
        "symbol_version",
        "disagrees about version",
        r"(?<!\w)(?P<module>nvidia\w{0,60}|fakegpu\w{0,60}): disagrees about version of symbol "
        r"(?P<symbol>\S+)",
    ),
    (
        "unknown_symbol",
        "unknown symbol",
        r"(?<!\w)(?P<module>nvidia\w{1,60}|fakegpu\w{1,60}): Unknown symbol (?P<symbol>\S+)",
    ),
    (
        "module_not_found",
        "not found in directory",
        r"Module (?P<module>(?:nvidia|fakegpu)\S*) not found in directory /lib/modules/(?P<kernel>\S+)",
    ),
    (
        "module_no_device",
        "could not insert",
        r"could not insert '?(?P<module>(?:nvidia|fakegpu)\w*)'?: (?P<why>No such device|Exec format error)",
    ),
    (
        "dkms_failed",
        "nvidia",
        r"(?P<why>module_symvers_sanity_check|Bad return status for module build on kernel: \S+"
        r"|Error! (?:The )?[Kk]ernel headers .*)",
    ),
    ("dkms_failed", "symvers_sanity", r"(?P<why>module_symvers_sanity_check)"),
    (
        "oom",
        "oom-kill:",
        r"oom-kill:constraint=(?P<constraint>\w+).*?(?:oom_memcg=(?P<oom>[^,]*),)?"
        r"task_memcg=(?P<memcg>[^,]*),task=(?P<task>[^,]*),pid=(?P<pid>\d+)",
    ),
    (
        "oom_killed",
        "out of memory: killed",
        r"(?P<scope>Memory cgroup o|O)ut of memory: Killed process (?P<pid>\d+) \((?P<task>[^)]*)\)",
    ),
    (
        "hung_task",
        "blocked for more",
        r"INFO: task (?P<task>.+):(?P<pid>\d+) blocked for more than (?P<seconds>\d+)",
    ),
    ("d_state", "state:d", r"task:(?P<task>\S+) +state:D .*?pid:(?P<pid>\d+)"),
    (
        "frame",
        "[nvidia",
        r"(?<![\w.])(?P<function>[A-Za-z_][\w.]{0,120})\+0x[0-9a-f]+/0x[0-9a-f]+ \[(?P<module>nvidia\w*)\]",
    ),
    ("watchdog", "rc watchdog", r"RC watchdog: GPU is probably locked"),
    (
        "avc",
        "avc:",
        r"avc: +denied +\{ (?P<what>[^}]*) \}.*?scontext=(?P<scontext>\S+) tcontext=(?P<tcontext>\S+)",
    ),
    ("avc", "xserver_misc_device_t", r"Target Context +(?P<tcontext>\S*xserver_misc_device_t\S*)"),
    (
        "suspend",
        "suspend",
        r"PM: (?:suspend (?:entry|exit)|Suspending|Finishing wakeup|hibernation)|suspend (?:entry|exit)",
    ),
    (
        "usage_count",
        "non-zero usage count",
        r"Attempting to remove device (?P<pci>\S+) with non-zero usage count",
    ),
)
