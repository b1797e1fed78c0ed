"""The tracer: a process of its own that watches other processes through ptrace.

``start`` is for whoever wants one; the rest runs inside that process, the only
place where python-ptrace is imported.
"""
