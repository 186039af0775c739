"""Reused memory for the CPU target's arrays.

A fresh large array costs more than the kernel that fills it: the system zeroes every page at first touch (64 MB: 24
ms).
Arrays given out here take their memory back to a pool when the last view of them is gone.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref

import numpy as np

_SMALL = 1 << 16  # below, the C library's allocator reuses memory well enough
_HUGE_PAGE = 1 << 21


class BufferPool:
    """Free page-aligned blocks by size; keeps at most `limit` bytes of them."""

    def __init__(self, limit: int = 192 << 20):
        self._limit = limit
        self._free: dict[int, list[mmap.mmap]] = {}
        self._kept = 0
        self._given: dict[int, weakref.ref] = {}

    def empty(self, shape: tuple[int, ...]) -> np.ndarray:
        """An uninitialised uint32 array."""
        count = 1
        for extent in shape:
            count *= extent
        if count * 4 < _SMALL:
            return np.empty(shape, np.uint32)
        size = self.block_bytes(count * 4)
        blocks = self._free.get(size)
        try:
            block = blocks.pop() if blocks else None
        except IndexError:  # another thread was quicker
            block = None
        if block is None:
            block = mmap.mmap(-1, size)
            if size >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
                block.madvise(mmap.MADV_HUGEPAGE)
        else:
            self._kept -= size
        array = np.frombuffer(block, np.uint32, count)
        # Every view of the array keeps `array` itself alive, so its end is the end of all of them.
        key = id(block)
        self._given[key] = weakref.ref(array, lambda _: self._take_back(key, block, size))
        return array.reshape(shape)

    @staticmethod
    def block_bytes(count: int) -> int:
        """Bytes taken for an array of `count` bytes: eighths of a power of two, so that blocks find takers."""
        if count < _SMALL:
            return count
        step = max(mmap.PAGESIZE, 1 << max(0, count.bit_length() - 4))
        return -(-count // step) * step

    def keeps(self, size: int, kept: int) -> bool:
        """Whether a block that comes back is kept, with `kept` bytes of others."""
        return size >= _SMALL and kept + size <= self._limit

    def _take_back(self, key: int, block: mmap.mmap, size: int) -> None:
        self._given.pop(key, None)
        if self.keeps(size, self._kept):
            self._free.setdefault(size, []).append(block)
            self._kept += size


# NumPy's array object starts with the object header and then the data pointer, in every version so far; reading it
# there takes a tenth of the time of `array.ctypes.data`, which a small launch would feel. Checked once, below.
_DATA_OFFSET = object.__basicsize__


def _address_in_object(array: np.ndarray) -> int:
    return ctypes.c_size_t.from_address(id(array) + _DATA_OFFSET).value


def _address_by_numpy(array: np.ndarray) -> int:
    return array.ctypes.data


def _choose_address():
    sample = np.arange(8, dtype=np.uint32)[3:]
    return _address_in_object if _address_in_object(sample) == sample.ctypes.data else _address_by_numpy


address = _choose_address()
"""Address of an array's first element."""
