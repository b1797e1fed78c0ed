"""From a cgroup path to the container, pod or systemd unit it belongs to. Pure.

Owns the naming habits of the runtimes. A path that none of them made belongs
to no container: nothing is guessed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_HEX = r"(?P<id>[0-9a-f]{64})"
_POD = re.compile(
    r"/(?:kubepods[^/]*-)?pod(?P<pod>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?(?=/|$)"
)

# Runtime, and what its cgroups look like; the first that matches wins.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("docker", re.compile(rf"/docker-{_HEX}\.scope")),
    ("docker", re.compile(rf"/docker/(?:buildkit/)?{_HEX}(?=/|$)")),
    ("containerd", re.compile(rf"/cri-containerd-{_HEX}\.scope")),
    ("containerd", re.compile(rf"[/:]cri-containerd:{_HEX}(?=/|$)")),
    ("cri-o", re.compile(rf"/crio-{_HEX}(?:\.scope)?(?=/|$)")),
    ("podman", re.compile(rf"/libpod-(?:payload-)?{_HEX}(?:\.scope)?(?=/|$)")),
    ("podman", re.compile(rf"/libpod_parent/(?:libpod-)?{_HEX}(?=/|$)")),
    ("containerd", re.compile(r"/nerdctl-(?P<id>[0-9a-f]{64})\.scope")),
    ("containerd", re.compile(rf"/(?:k8s\.io|moby|default|buildkit)/{_HEX}(?=/|$)")),
    ("kubernetes", re.compile(rf"/pod[0-9a-f_-]+(?:\.slice)?/{_HEX}(?=/|$)")),
    ("lxc", re.compile(r"/lxc\.payload\.(?P<id>[^/]+)")),
    ("lxc", re.compile(r"/lxc/(?P<id>[^/]+)")),
    ("nspawn", re.compile(r"/machine\.slice/(?:machine-|systemd-nspawn@)(?P<id>[^/]+?)\.(?:scope|service)")),
)
# The innermost service, scope or, failing those, nothing: a slice only groups.
_UNIT = re.compile(r"/(?P<id>[^/]+\.(?:service|scope))(?=/|$)")


@dataclass(frozen=True)
class Container:
    """Who a cgroup belongs to.

    ``kind`` is the runtime ("docker", "containerd", "cri-o", "podman",
    "kubernetes", "lxc", "nspawn") or "systemd" for a plain unit; ``pod`` is the
    Kubernetes pod's UID with dashes, or "".
    """

    kind: str
    id: str
    pod: str = ""

    @property
    def label(self) -> str:
        """Short form: ``docker:0123456789ab``, ``systemd:ssh.service``."""
        short = self.id[:12] if len(self.id) == 64 else self.id
        return f"{self.kind}:{short}"


@lru_cache(maxsize=1024)
def container_of(path: str) -> Container | None:
    """The innermost container or unit of a cgroup path, None when there is none."""
    pod_match = _POD.search(path)
    pod = pod_match["pod"].replace("_", "-") if pod_match else ""
    for kind, rule in _RULES:
        found = list(rule.finditer(path))
        if found:
            return Container(kind, found[-1]["id"], pod)
    units = _UNIT.findall(path)
    return Container("systemd", units[-1], pod) if units else None


def container_of_any(paths: Iterable[str]) -> Container | None:
    """Of the paths a process has in several hierarchies: a container before a mere unit."""
    found = [container for container in map(container_of, paths) if container]
    return next((one for one in found if one.kind != "systemd"), found[0] if found else None)
