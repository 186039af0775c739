"""Where the words that are read back from a CUDA device lie.

MLX reads an array through managed memory, whose pages move to whoever touches them: the buffer that a proof was read
from is used again for the next proof, and its pages go to the GPU when that is written and back to the host when it is
read, each way some 0.2 ms (H200). Told to stay on the host, pages are written across the bus instead. That is advice to
the driver: nothing depends on it, and without the package `cuda-bindings` it is not given.
"""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["keep_on_host"]

# Smaller reads (a commitment, a few challenges) come from buffers that kernels use as well.
_LEAST_BYTES = 1 << 14
_MOST_REMEMBERED = 4096
_told: set[tuple[int, int]] = set()


def keep_on_host(view: np.ndarray) -> None:
    """Advise the driver to keep the managed memory of `view` with the host. Does nothing where that cannot be."""
    key = (view.__array_interface__["data"][0], view.nbytes)
    if view.nbytes < _LEAST_BYTES or key in _told:
        return
    if len(_told) >= _MOST_REMEMBERED:
        _told.clear()
    _told.add(key)
    advise = _advise()
    if advise is not None:
        advise(*key)


@cache
def _advise():
    """`function(address, bytes)`, or None where the bindings are missing or of another form."""
    try:
        from cuda.bindings import runtime

        host, device = runtime.cudaMemLocation(), runtime.cudaMemLocation()
        host.type = runtime.cudaMemLocationType.cudaMemLocationTypeHost
        device.type = runtime.cudaMemLocationType.cudaMemLocationTypeDevice
        device.id = runtime.cudaGetDevice()[1]
        prefer = runtime.cudaMemoryAdvise.cudaMemAdviseSetPreferredLocation
        reach = runtime.cudaMemoryAdvise.cudaMemAdviseSetAccessedBy
        runtime.cudaMemAdvise(0, 0, prefer, host)  # an error is a status; a wrong signature (before CUDA 13) raises
    except (ImportError, AttributeError, TypeError, OSError, RuntimeError):
        return None

    def advise(address: int, size: int) -> None:
        for advice, location in ((prefer, host), (reach, device)):
            runtime.cudaMemAdvise(address, size, advice, location)

    return advise
