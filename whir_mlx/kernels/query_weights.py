"""Weights of a round's claims: out-of-domain answers and STIR queries (`query_tables`, `query_weights`)."""

from __future__ import annotations

from .device import Device
from .ntt import twiddles
from .operation import check_shape, log2_exact, operation


@operation
def query_weights(device: Device, w, ood_tables, gamma, indices, *, log_domain: int):
    """w[b] + sum_{j<J} gamma^(1+j) ood_tables[j, b] + sum_{q<Q} gamma^(1+J+q) z_q^b, z_q = g(log_domain)^indices[q].

    w: (2^v, 4); ood_tables: (J, 2^v, 4), J may be 0; gamma: (4,); indices: (Q,) plain integers, Q may be 0.
    Montgomery words.
    Returns (2^v, 4). Source: p3-sumcheck 0.8.0 (`constraints/statement/select.rs`), p3-whir 0.8.0
    (`pcs/prover/mod.rs`).
    """
    check_shape("w", w.shape, ndim=2, last=4)
    variables = log2_exact("w", w.shape[0])
    check_shape("gamma", gamma.shape, ndim=1, last=4)
    check_shape("indices", indices.shape, ndim=1)
    if tuple(ood_tables.shape[1:]) != tuple(w.shape):
        raise ValueError(f"ood_tables must be (J, {w.shape[0]}, 4), got {tuple(ood_tables.shape)}")
    samples, queries = ood_tables.shape[0], indices.shape[0]
    if samples + queries == 0:
        return w
    # The split balances the two tables of powers against each other.
    columns, rows = 1 << (variables - variables // 2), 1 << variables // 2
    low = high = gamma  # not read where there is no query
    if queries:
        each = min(rows, device.tuning.fold_least_rows)
        low, high = device.launch(
            "query_tables",
            (queries, columns, rows, log_domain, 1 + samples, each, (samples + queries).bit_length()),
            [indices, twiddles(device, log_domain), gamma],
            [(queries, columns), (rows, queries, 4)],
            grid=(max(columns, queries), queries + rows // each, 1),
            cost=10.0 * queries * (columns + rows),
        )
    return device.launch(
        "query_weights",
        (columns, samples, queries, rows),
        [w, ood_tables if samples else w, gamma, high, low],
        [w.shape],
        grid=(columns, rows, 1),
        cost=(12.0 * samples + 2.0 * queries) * (1 << variables),
    )[0]
