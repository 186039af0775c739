"""How much work one dispatch may hold: macOS stops a GPU that is busy for too long while a display is active."""

from __future__ import annotations

from collections.abc import Iterator

from .device import Device

MAX_DISPATCH_SECONDS = 0.1
"""The system's budget is undocumented; others tune their Metal kernels to stay below this."""

_GROUP = 256


def dispatch_windows(device: Device, count: int, permutations: float) -> Iterator[tuple[int, int]]:
    """Ranges (first, end) that cover `count` items, one dispatch each; without a limit (`tuning.py`) one range is all.

    permutations: work of one item in permutations of width 16. All ranges but the last are whole groups of threads.
    """
    most = count
    if device.tuning.window_permutations:
        most = max(_GROUP, int(device.tuning.window_permutations / permutations) // _GROUP * _GROUP)
    for first in range(0, count, most):
        yield first, min(first + most, count)
