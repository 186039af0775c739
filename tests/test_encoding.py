"""`encode_bits`, `decode_bits` and `splitmix`: exact, both ways, against plain definitions."""

import mlx.core as mx
import numpy as np
import pytest

from tests.oracle.splitmix import splitmix as oracle_splitmix
from whir_mlx import decode_bits, encode_bits, splitmix
from whir_mlx.field.constants import P

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(dtype):
    raw = np.random.default_rng(0).integers(
        0, 2 if dtype == "?" else 256, 15 * np.dtype(dtype).itemsize, dtype=np.uint8
    )
    array = raw.view(dtype).reshape(3, 5)
    limbs = encode_bits(array)
    assert limbs.dtype == np.uint32 and limbs.shape == (15 * max(1, array.itemsize // 2),) and limbs.max() < 2**16
    assert decode_bits(limbs, dtype, (3, 5)).tobytes() == array.tobytes()
    assert np.array_equal(encode_bits(array.T), encode_bits(array.T.copy()))
    if array.itemsize > 1:
        assert np.array_equal(encode_bits(array.astype(array.dtype.newbyteorder(">"))), limbs)


def test_limbs_by_hand():
    assert encode_bits(np.array([0x12345678], np.uint32)).tolist() == [0x5678, 0x1234]
    assert encode_bits(np.array([1.0, -0.0], np.float32)).tolist() == [0, 0x3F80, 0, 0x8000]
    assert encode_bits(np.array([-1], np.int8)).tolist() == [255]
    assert encode_bits(np.array(2.0, np.float16)).tolist() == [0x4000]


def test_mlx_arrays():
    assert encode_bits(mx.array([1.0, -2.0], dtype=mx.bfloat16)).tolist() == [0x3F80, 0xC000]
    x = mx.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert np.array_equal(encode_bits(x.T), encode_bits(np.array(x).T))


def test_refusals():
    for wrong in (np.array(["a"]), np.array([{}], dtype=object), np.zeros(2, np.longdouble), np.zeros(1, "M8[s]")):
        if wrong.dtype.itemsize == 8 and wrong.dtype.kind == "f":
            continue  # where long double is double
        with pytest.raises(TypeError, match="dtype"):
            encode_bits(wrong)
    with pytest.raises(ValueError, match="has 4 limbs, got 3"):
        decode_bits([1, 2, 3], np.float32, (2,))
    with pytest.raises(ValueError, match=r"below 2\^16"):
        decode_bits([2**16, 0], np.float32, (1,))
    with pytest.raises(ValueError, match=r"below 2\^8"):
        decode_bits([256], np.int8, (1,))


def test_splitmix_is_the_oracles():
    # Past one block of the generator (2^16), and seeds at both ends.
    for seed in (0, 1, 1002, 2**64 - 1):
        values = splitmix(seed, 2**16 + 3)
        for i in (0, 1, 2, 65535, 65536, 65538):
            assert int(values[i]) == oracle_splitmix(seed, i)
        assert values.max() < P
        assert np.array_equal(splitmix(seed, 5, start=65534), values[65534:])
    for arguments in ((-1, 1), (2**64, 1), (0, -1), (0, 1, -1)):
        with pytest.raises(ValueError):
            splitmix(*arguments)
