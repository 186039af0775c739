"""What all benchmarks share: devices as a parameter, data, and a wait for the device inside what is timed."""

import statistics
import time

import numpy as np

from whir_mlx.errors import DeviceError
from whir_mlx.field.constants import P
from whir_mlx.kernels.device import get_device

DEVICES = ("cpu", "cuda", "metal")
RUNS = 9
"""Runs behind a rate, after one that compiles: their median does not move with one disturbed run."""


def usable(name):
    """The device; NotImplementedError, which asv shows as n/a, where this machine has none."""
    try:
        return get_device(name)
    except DeviceError as error:
        raise NotImplementedError(str(error)) from None


def words(device, *shape):
    """Random words below p, on the device."""
    array = device.asarray(np.random.default_rng(7).integers(0, P, shape, dtype=np.uint32))
    device.evaluate(array)
    return array


class OnDevice:
    """Benchmarks whose first parameter is the device."""

    # Rates are medians of their own runs, so asv needs to ask once.
    number = 1
    repeat = 1

    def setup(self, device, *_):
        self.device = usable(device)

    def rate(self, count, call, *arguments, **keywords):
        """`count` a second, where `call(device, ...)` does that much."""
        self._finish(call(self.device, *arguments, **keywords))
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            self._finish(call(self.device, *arguments, **keywords))
            times.append(time.perf_counter() - start)
        return count / statistics.median(times)

    def _finish(self, results):
        self.device.evaluate(*(results if isinstance(results, (list, tuple)) else [results]))
