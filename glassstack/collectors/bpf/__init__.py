"""Calls and functions seen by eBPF: a process of its own that loads BPF through bcc.

Only ``loading`` imports bcc, and only ``__main__`` leads there: the front end
starts the process (``spawn``) and reads its wire.
"""
