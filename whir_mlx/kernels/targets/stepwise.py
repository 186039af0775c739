"""A GPU that computes every larger launch before the next is added, so that memory is used again within a proof.

One graph holds all that it makes until the GPU has passed it (some twice the memory); waiting costs a round trip, some
0.1 ms, for each of the 50 to 100 larger launches. The numbers are the same.
"""

from __future__ import annotations

from functools import lru_cache

from ..device import Device
from ..operation import product

__all__ = ["StepwiseDevice", "stepwise"]

_LARGE = 1 << 18
"""Words from which a launch's outputs are worth waiting for: 1 MB."""


class StepwiseDevice(Device):
    """`base`, a lazy device, one larger launch after the other. Made by `stepwise`."""

    def __init__(self, base: Device):
        self.__dict__.update(base.__dict__)
        self._base = base

    def asarray(self, x):
        return self._base.asarray(x)

    def numpy(self, x, *, words=None):
        return self._base.numpy(x, words=words)

    def host_view(self, x):
        return self._base.host_view(x)

    def evaluate(self, *arrays) -> None:
        self._base.evaluate(*arrays)

    def facts(self) -> dict:
        return self._base.facts()

    def prepare(self, kernels) -> None:
        self._base.prepare(kernels)

    def compile(self, function):
        """As it is: what is traced whole is computed whole."""
        return function

    def launch(self, name, size, inputs, outputs, **shape):
        made = self._base.launch(name, size, inputs, outputs, **shape)
        if sum(map(product, outputs)) >= _LARGE:
            self._base.evaluate(*made)
        return made


@lru_cache(maxsize=8)
def stepwise(base: Device) -> StepwiseDevice:
    """The stepwise device over `base`, made once."""
    return StepwiseDevice(base)
