"""A program that opens the device from threads, forks and execs, the same way every time.

Run as: python -S mix.py [DEPTH]. Each flow does 23 INFO ioctls on a descriptor
of its own; none waits on another's calls, so every thread's calls have one order.
"""

import fcntl
import os
import subprocess
import sys
import threading

INFO = 0xC0A8FA01
CALLS = 23


def flow() -> None:
    """Opens, asks, duplicates, asks through the duplicate, closes both."""
    first = os.open("/dev/fakegpu0", os.O_RDWR)
    second = os.dup(first)
    buffer = bytearray(INFO >> 16 & 0x3FFF)
    for number in range(CALLS):
        fcntl.ioctl(second if number % 2 else first, INFO, buffer)
    os.close(first)
    os.close(second)


def main() -> None:
    """Threads here, a forked child, and this program again under exec."""
    depth = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    flow()
    if not depth:
        return
    threads = [threading.Thread(target=flow) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        flow()
        os._exit(0)
    os.waitpid(child, 0)
    subprocess.run([sys.executable, "-S", __file__, "0"], check=True)
    os.execv(sys.executable, [sys.executable, "-S", __file__, str(depth - 1)])


if __name__ == "__main__":
    main()
