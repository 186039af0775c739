"""Sizes of the arrays that the host writes and reads on CUDA: no other array is given their buffers."""

import pytest

from whir_mlx.kernels.targets.host_memory import host_array_words, readback_words

PAGE = 1 << 14


def fits(wanted_pages: int, free_pages: int) -> bool:
    """Whether MLX 0.32 gives an array of `wanted_pages` a free buffer (`backend/common/buffer_cache.h`)."""
    return wanted_pages <= free_pages < min(2 * wanted_pages, wanted_pages + 2)


def pages(words: int) -> int:
    return -(-4 * words // PAGE)


# From the least array that has a size of its own, over the steps of a readback (1 MB, 2 MB), to 2^26 words.
COUNTS = [
    edge + delta for edge in [1 << log for log in range(12, 27)] + [3 << 16, 5 << 17] for delta in (-1, 0, 1) if edge
]


@pytest.mark.parametrize("count", COUNTS)
def test_buffers_of_host_arrays_and_readbacks_are_kept_apart(count):
    host, read = pages(host_array_words(count)), pages(readback_words(count))
    assert host_array_words(count) > count and readback_words(count) >= count
    for other in COUNTS:
        assert not fits(pages(host_array_words(other)), read)
        assert not fits(pages(readback_words(other)), host)
    for log in range(12, 28):
        kernel = pages(1 << log)
        assert not fits(kernel, host) and not fits(kernel, read)
        assert not fits(host, kernel) and not fits(read, kernel)


def test_most_proofs_share_one_readback_size():
    """The proofs of the benchmark's shapes take 12,000 to 75,000 words."""
    assert len({readback_words(count) for count in (1, 12_000, 75_000, 1 << 18)}) == 1
    assert readback_words((1 << 18) + 1) > readback_words(1 << 18)
