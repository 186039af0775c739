"""A few known answers, before a process first uses a GPU: one that gets them wrong would make worthless proofs.

The answers are those of the published crates (p3-baby-bear 0.8.0, p3-dft 0.8.0), canonical words.
"""

from __future__ import annotations

import numpy as np

from ..field.constants import P
from .compress import compress
from .device import Device
from .field_arithmetic import field_mul
from .montgomery import from_montgomery, to_montgomery
from .ntt import ntt, pass_values
from .poseidon2 import poseidon2
from .simd_width import simd_width

__all__ = ["quick_check"]

_PERMUTED = (
    1906786279,
    1737026427,
    1959749225,
    700325316,
    1638050605,
    1021608788,
    1726691001,
    1761127344,
    1552405120,
    417318995,
    36799261,
    1215172152,
    614923223,
    1300746575,
    957311597,
    304856115,
)
_ZERO_NODE = (
    1168947398,
    128782440,
    747404447,
    883925857,
    360581875,
    1704698758,
    1878363991,
    1054281681,
)
_TRANSFORMED = (
    36,
    1976151680,
    1139445628,
    1710526337,
    2013265917,
    302739576,
    873820285,
    37114233,
)
_FACTORS, _PRODUCT = (123456789, 987654321), 6500116
# What the check launches, so that a target which builds kernels builds these side by side.
_KERNELS = (
    ("poseidon2", (("WIDTH", 16),), 0),
    ("compress", (("WIDTH", 16),), 0),
    ("montgomery", (("TO_MONTGOMERY", 0),), 0),
    ("montgomery", (("TO_MONTGOMERY", 1),), 0),
    ("field_arithmetic", (("OPERATION", 2),), 0),
    ("simd_width", (), 0),
)


def quick_check(device: Device) -> str | None:
    """None where `device` gives the known answers, else what it got wrong, in one sentence.

    A permutation of 0..15, a transform of 1..8 (repeated, so that it takes a barrier), a product, the parent of two
    zero digests, and SIMD groups, in one evaluation; with the first compilations some tenths of a second.
    Errors of the back-end are answers too.
    """
    try:
        device.prepare((*_KERNELS, ("ntt", tuple(sorted(pass_values(device.tuning, True).items())), 0)))
        # 1..8 four times in each of 8 columns, as many as make lanes of columns: every fourth row is 4 times an entry
        # of the transform of 1..8, the others are 0.
        rows = np.repeat(np.tile(np.arange(1, 9), 4), 8)
        transformed = np.repeat([4 * x % P for y in _TRANSFORMED for x in (y, 0, 0, 0)], 8)
        words = [
            to_montgomery(device, device.asarray(np.array(x, np.uint32))) for x in (range(16), rows, *zip(_FACTORS))
        ]
        found = {
            "Poseidon2 of 0..15": (poseidon2(device, words[0].reshape((1, 16))), _PERMUTED),
            "the transform of 1..8": (ntt(device, words[1].reshape((32, 8)), log_rows=5), transformed),
            f"{_FACTORS[0]} * {_FACTORS[1]}": (field_mul(device, words[2], words[3]), (_PRODUCT,)),
            "the parent of zero digests": (
                compress(device, device.asarray(np.zeros((2, 8), np.uint32)), arity=2),
                _ZERO_NODE,
            ),
        }
        answers = {name: (from_montgomery(device, x), expected) for name, (x, expected) in found.items()}
        probe = simd_width(device)
        device.evaluate(*(x for x, _ in answers.values()), *probe)
        for name, (x, expected) in answers.items():
            got = device.numpy(x).reshape(-1).tolist()
            if got != list(expected):
                return f"{name} came out as {got[:4]}..., not {list(expected[:4])}..."
        return _simd_fault(device, *(device.numpy(x) for x in probe))
    except (RuntimeError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {str(error)[:500]}"


def _simd_fault(device: Device, widths: np.ndarray, lanes: np.ndarray, partners: np.ndarray) -> str | None:
    """What is wrong with the SIMD groups, by the answers of the probe."""
    wanted = device.simd_width
    width = (int(widths[0]) + wanted) % (1 << 32)
    if widths.any():
        return f"SIMD groups have {width} threads, and the kernels are written for {wanted}"
    if lanes.any() or partners.any():
        return f"SIMD groups are not runs of {wanted} consecutive threads, as the kernels take them to be"
    return None
