"""How a reduction's items are shared among threads."""

from __future__ import annotations

from .device import Device


def share_out(device: Device, count: int) -> tuple[int, int]:
    """(threads, items a thread) for a sum over `count` items; threads is a power of two, its last ones may have no
    item.

    At least a vector of threads, which adds up its own sums; enough to fill the device, few enough that adding up the
    vectors' shares is cheap (`sum_threads` of tuning.py).
    """
    most = device.tuning.sum_threads
    threads = device.reduce_width
    while threads < most and threads < count:
        threads *= 2
    return threads, -(-count // threads)
