"""How a reduction's items are shared among threads."""

from __future__ import annotations

from .device import Device


def share_out(device: Device, count: int) -> tuple[int, int]:
    """(threads, items a thread) for a sum over `count` items, threads a divisor of count that is a power of two.

    Enough threads to fill the device, few enough that adding up their shares is cheap: 64 on a CPU (a few vectors a core),
    4096 on a GPU.
    """
    most = 4096 if device.lazy else 64
    threads = 1
    while threads < most and count % (threads * 2) == 0 and count // (threads * 2) >= 1:
        threads *= 2
    return threads, count // threads
