"""The mirror of kmod/user/witness.h: the records in which the embedded device tells what it did. Pure."""

import struct

MAGIC = 0x31544957555047
VERSION = 1
DATA = 4096
"""The data area begins at this offset of the file."""

HEAD_MAGIC, HEAD_VERSION, HEAD_DATA_SIZE, HEAD_HEAD, HEAD_TAIL, HEAD_DROPPED = 0, 8, 16, 24, 64, 128
"""Offsets in struct fgpu_witness_head."""

PAD, CALL, CONTEXT, PROGRESS, LOG = range(5)

RECORD = struct.Struct("=IHHQ")
"""size, type, device, ts."""
CALL_BODY = struct.Struct("=QiiiIq6QHHHH")
"""done_ns, pid, tid, nr, context, ret, args[6], in_size, out_size, payload_size, reserved."""
CONTEXT_BODY = struct.Struct("=iIIIQ")
"""pid, context, opened, reserved, inode."""
PROGRESS_BODY = struct.Struct("=IIIIQQQII")
"""context, channel, wptr, rptr, seqno, doorbells, jobs, xid, reserved."""
LOG_BODY = struct.Struct("=II")
"""level, length; then the text."""

_SPECIAL = {255: "/dev/fakegpuctl", 256: "/dev/fakegpu-uvm"}
_NODES = {**{index: f"/dev/fakegpu{index}" for index in range(8)}, **_SPECIAL}


def node(device: int) -> str:
    """The node of a record's ``device``."""
    return _NODES.get(device) or f"/dev/fakegpu{device}"
