"""The weights of claims, batched by powers of a challenge (`claim_weights.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def claim_weights(device: Device, alpha, tables, *, claims: tuple[tuple[int, int], ...]):
    """alpha^e * tables[t] for each claim (t, e). alpha: (4,), tables: (T, B, 4), Montgomery words -> (R, B, 4).

    claims: one or more (number of a table, exponent).
    """
    check_shape("alpha", alpha.shape, ndim=1, last=4)
    check_shape("tables", tables.shape, ndim=3, last=4)
    total, count, _ = tables.shape
    if not claims or any(not (0 <= table < total and 0 <= exponent < 1 << 31) for table, exponent in claims):
        raise ValueError(f"claims must name tables below {total} and exponents of 0 to 2^31 - 1, got {claims}")
    return device.launch(
        "claim_weights",
        (count, *(number for claim in claims for number in claim)),
        [alpha, tables],
        [(len(claims), count, 4)],
        grid=(count, len(claims), 1),
        cost=30.0 * len(claims) * count,
    )[0]
