"""Which files are devices: from the name a descriptor or mapping has in /proc to the node. Pure."""

import re

_NODE = re.compile(r"/dev/(?:fakegpu[\w-]*|nvidia[\w-]*(?:/[\w-]+)*|dri/[\w-]+|kfd)")
_EMBEDDED = re.compile(r"/(?:memfd:)?(fakegpu(?:\d+|ctl|-uvm))(?:[.:\s/]|$)")
_HINT = re.compile(r"fakegpu|nvidia|dri/|renderD|card\d|kfd|^/dev/")


def node_of(link: str, any_node: bool = False) -> str:
    """The node behind ``link``, "" when it is none.

    Args:
        link: what /proc/PID/fd/N points to, or a path of /proc/PID/maps.
        any_node: every file of /dev counts, not only the GPUs'.
    """
    if _NODE.fullmatch(link):
        return link
    if link.startswith("/memfd:fakegpu"):
        # The embedded device's file: a memfd that bears the node's name.
        found = _EMBEDDED.match(link)
        return f"/dev/{found[1]}" if found else ""
    return link if any_node and link.startswith("/dev/") else ""


def may_be_node(path: str) -> bool:
    """Whether opening ``path`` could give a device; cheap, and true rather than sorry."""
    return _HINT.search(path) is not None
