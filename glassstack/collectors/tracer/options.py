"""What a tracer is asked to do; the same on both sides of its command line."""

import msgspec


class Options(msgspec.Struct, frozen=True):
    """Work for one tracer.

    Attributes:
        command: the program to launch, empty for none.
        pids: processes to attach to.
        runner: words of the embedded device's launcher, empty to launch without the device.
        follow: children of attached processes are traced too (those of launched ones always are).
        any_node: every ioctl counts, and calls on every node of /dev, not only the GPUs'.
        each_call: a launched program stops at every call, not where a filter of ours says: under the
            filter of a device that somebody else runs, ours would never stop at what that one answers.
    """

    command: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    runner: tuple[str, ...] = ()
    follow: bool = True
    any_node: bool = False
    each_call: bool = False
