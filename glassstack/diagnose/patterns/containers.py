"""What container tools, CDI, the kubelet and the device plugin write."""

from glassstack.diagnose.patterns.base import DEVICE, rows

CONTAINERS = rows(
    (
        "cli_error",
        "nvidia-container-cli:",
        r"nvidia-container-cli: (?P<stage>[\w ]+) error: (?P<text>.*)",
    ),
    (
        "cli_error",
        "nvidia-container-cli.real:",
        r"nvidia-container-cli\.real: (?P<stage>[\w ]+) error: (?P<text>.*)",
    ),
    (
        "requirement",
        "unsatisfied condition",
        r"unsatisfied condition: (?P<what>\w+) *(?P<op>[<>=!]+) *(?P<version>[\d.]+\d)",
    ),
    ("require_env", "nvidia_require_", r"NVIDIA_REQUIRE_(?P<name>\w+)=(?P<value>.*)"),
    (
        "file_exists",
        "file exists",
        r"(?:file creation failed|mount error)[^/]*(?P<path>/\S*?(?P<name>(?:lib(?:nvidia"
        r"|cuda)|nvidia-)[\w.-]*)): file exists",
    ),
    (
        "no_gpu_driver",
        "could not select device driver",
        r"could not select device driver \"\" with capabilities: \[\[(?P<capabilities>[^\]]*)",
    ),
    ("snap_docker", "docker", r"^docker +\d\S* +\d+ +\S+ +canonical"),
    (
        "ldcache_error",
        "ldcache error",
        r"ldcache error: (?:process (?P<path>\S+) terminated with signal (?P<signal>\d+)|.*)",
    ),
    ("bpf_query", "bpf_prog_query", r"bpf_prog_query\(BPF_CGROUP_DEVICE\) failed: (?P<why>[\w ]+)"),
    ("devices_allow", "devices.allow", r"open (?P<path>/\S*devices\.allow): (?P<why>permission denied)"),
    ("whitelisted", "whitelisting device node", r"whitelisting device node (?P<major>\d+):(?P<minor>\d+)"),
    ("cli_user", "unprivileged user", r"using unprivileged user (?P<uid>\d+:?\d*)"),
    (
        "driver_service_killed",
        "driver service terminated",
        r"driver service terminated with signal (?P<signal>\d+)",
    ),
    ("no_cgroups", "no-cgroups", r"(?P<off>#)? *no-cgroups *= *(?P<value>true|false)"),
    ("default_runtime", "default", r"\"?default[-_]runtime(?:_name)?\"? *[:=] *\"(?P<name>[\w-]+)\""),
    (
        "runtime_defined",
        "nvidia-container-runtime",
        r"(?:path\"?|BinaryName) *[:=] *\"\S*nvidia-container-runtime\"",
    ),
    ("runtime_class", "runtimeclassname", r"runtimeClassName: *\"?(?P<name>[\w-]+)"),
    ("native_cgroup", "cgroup", r"(?:Cgroup Driver: (?P<driver>\w+)|native\.cgroupdriver=(?P<option>\w+))"),
    ("systemd_cgroup", "systemdcgroup", r"SystemdCgroup *= *true"),
    ("docker_run", "docker run", r"(?:^|[$#] )(?P<sudo>sudo )?docker run (?P<options>.*)"),
    ("podman_run", "podman run", r"(?:^|[$#] )(?P<sudo>sudo )?podman run (?P<options>.*)"),
    ("rootless", "rootless", r"(?i)\brootless\b(?!: *false)"),
    (
        "cdi_unresolvable",
        "unresolvable cdi",
        r"unresolvable CDI devices (?P<kind>[\w./-]+)=(?P<name>[\w:-]+)",
    ),
    ("cdi_name", "=", r"^(?P<kind>[\w.-]+\.[\w-]+/[\w-]+)=(?P<name>[\w:.-]+)$"),
    (
        "cdi_stat",
        "cdi",
        rf"failed to stat CDI host device \"?(?P<path>{DEVICE}|/dev/[\w/]+)\"?: no such file",
    ),
    (
        "cdi_not_loaded",
        "driver not loaded",
        r"(?:failed to generate CDI spec.*|failed to initiali[sz]e (?:nvml|NVML)): Driver Not Loaded",
    ),
    ("cdi_service", "nvidia-cdi-refresh", r"nvidia-cdi-refresh\.service"),
    ("admission", "unexpectedadmissionerror", r"UnexpectedAdmissionError.*(?P<resource>nvidia\.com/[\w.-]+)"),
    ("plugin_incompatible", "incompatible platform", r"Incompatible platform detected"),
    ("plugin_no_nvml", "non-nvml platform", r"Detected non-NVML platform: (?P<why>.*)"),
    (
        "plugin_registered",
        "registered device plugin",
        r"Registered device plugin(?: for '(?P<resource>[^']*)')?",
    ),
    (
        "plugin_unhealthy",
        "unhealthy",
        r"(?:marking device as unhealthy|[Uu]nhealthy).*?(?P<device>GPU-[0-9a-f-]+)|'?nvidia\.com/gpu'? "
        r"device marked unhealthy",
    ),
    (
        "plugin_unhealthy",
        "unhealthy",
        r"(?P<device>GPU-[0-9a-f-]+).*[Uu]nhealthy|XidCriticalError: Xid=(?P<xid>\d+)",
    ),
    (
        "kubelet_sock",
        "kubelet.sock",
        r"kubelet\.sock\"?:? .*?(?:no such file|not found|connection refused|does not exist)",
    ),
    ("kubelet_created", "kubelet.sock", r"kubelet\.sock created, restarting"),
    ("cpu_manager", "cpu", r"(?:cpu-manager-policy[=: ]+\"?|cpuManagerPolicy: *\"?)(?P<policy>static|none)"),
    ("gpu_request", "nvidia.com/gpu", r"nvidia\.com/gpu\"?: *\"?(?P<count>\d+)"),
    ("visible", "nvidia_visible_devices", r"NVIDIA_VISIBLE_DEVICES[=: ]+\"?(?P<value>[\w:,-]+)"),
    ("insufficient_list", "read device list", r"insufficient privileges to read device list"),
    ("mig_monitor", "nvidia_mig_monitor", r"NVIDIA_MIG_MONITOR_DEVICES[=: ]+\"?(?P<value>\w+)"),
    ("gfd", "feature-discovery", r"gpu-feature-discovery"),
    (
        "mig_on",
        "mig",
        r"(?i)mig[. ]mode.{0,40}enabled|MIG-[0-9a-f-]{36}|mig\.strategy.{0,10}mixed|strategy[:= ]+mixed",
    ),
    ("daemon_reload", "daemon-reload", r"systemctl daemon-reload|systemd\[1\]: Reloading"),
)
