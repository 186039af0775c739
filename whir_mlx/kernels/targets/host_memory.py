"""Where the words that are read back from a CUDA device lie.

MLX reads an array through managed memory, whose pages move to whoever touches them: the buffer that a proof was read
from is used again for the next proof, and its pages go to the GPU when that is written and back to the host when it is
read, each way some 0.2 ms (H200). Told to stay on the host, pages are written across the bus instead. That is advice to
the driver: nothing depends on it, and without the package `cuda-bindings` it is not given.

MLX hands a freed buffer to the next array that takes up to 32 KB less. Kernels that are given one which the host
wrote or read are slow (H200: an NTT of 16 MB takes 0.7 ms and not 0.03 where its twiddles lie in a buffer that a proof
was read from, a `pack` 0.1 and not 0.003), again and again where its pages stay with the host. So the arrays that the
host writes, and those that it reads, have sizes of their own, which kernels' arrays, mostly powers of two, do not come
near.
"""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["LEAST_BYTES", "host_array_words", "keep_on_host", "readback_words"]

# Smaller arrays (a commitment, a few challenges) share buffers with those of kernels: MLX rounds them up to powers of
# two.
LEAST_BYTES = 1 << 14
# MLX rounds up to this, and takes a free buffer that is less than two of these larger.
_PAGE = 1 << 14
# The least buffer that a proof is read from. Few sizes, so that few buffers are kept: most proofs take less.
_LEAST_READBACK = 1 << 20
_MOST_REMEMBERED = 4096
_told: set[tuple[int, int]] = set()


def keep_on_host(view: np.ndarray) -> None:
    """Advise the driver to keep the managed memory of `view` with the host. Does nothing where that cannot be."""
    key = (view.__array_interface__["data"][0], view.nbytes)
    if view.nbytes < LEAST_BYTES or key in _told:
        return
    if len(_told) >= _MOST_REMEMBERED:
        _told.clear()
    _told.add(key)
    advise = _advise()
    if advise is not None:
        advise(*key)


def host_array_words(count: int) -> int:
    """Words, more than `count`, of a large host array on a CUDA device: of 3 pages more than a multiple of 16."""
    return (-(-4 * count // (16 * _PAGE)) * 16 + 3) * _PAGE // 4


def readback_words(count: int) -> int:
    """Words, at least `count`, of the array that a proof of `count` words is read from: of 2^k bytes and 11 pages."""
    return max(_LEAST_READBACK, 1 << max(0, 4 * count - 1).bit_length()) // 4 + 11 * _PAGE // 4


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
