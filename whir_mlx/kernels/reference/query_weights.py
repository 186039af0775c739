"""The weights that a round's constraints add to the sumcheck."""

import numpy as np

from ...field.constants import TWO_ADICITY
from ...field.numpy_ext import dot_rows, ext_mul, ext_powers, scale
from ...field.numpy_field import add, power, powers, root_power
from .check import require

__all__ = ["query_weights"]

_LOG_RUN = 10
"""Powers z^0 .. z^(2^10 - 1) are kept for every query; later runs multiply the coefficients instead."""


def query_weights(
    w: np.ndarray,
    ood_tables: np.ndarray,
    gamma: np.ndarray,
    indices: np.ndarray,
    *,
    log_domain: int,
) -> np.ndarray:
    """w[b] + sum over j < J of gamma^(1+j) ood_tables[j][b] + sum over q of gamma^(1+J+q) z_q^b.

    Args: w, (2^v, 4) Montgomery words; ood_tables (J, 2^v, 4), J may be 0; gamma (4,); indices (Q,) plain integers
    below 2^log_domain, Q may be 0; z_q = g(log_domain)^indices[q]. Returns (2^v, 4).
    Source: p3-sumcheck 0.8.0 (`constraints/statement/select.rs`), p3-whir 0.8.0 (`pcs/prover/mod.rs`).
    """
    size, num_ood = len(w), len(ood_tables)
    require(size > 0 and size & (size - 1) == 0, "w", "a power of two of elements", size)
    require(ood_tables.shape[1:] == w.shape, "ood_tables", f"of shape (J, {size}, 4)", ood_tables.shape)
    require(0 <= log_domain <= TWO_ADICITY, "log_domain", f"in 0..{TWO_ADICITY}", log_domain)
    largest = int(np.max(indices, initial=0))
    require(largest < 2**log_domain, "indices", f"below 2^{log_domain}", largest)
    coefficients = ext_powers(gamma, 1 + num_ood + len(indices))[1:]
    for coefficient, table in zip(coefficients[:num_ood], ood_tables, strict=True):
        w = add(w, ext_mul(table, coefficient))
    if len(indices) == 0:
        return w.copy()
    z = root_power(log_domain, indices)
    run = min(size, 2**_LOG_RUN)
    z_powers = powers(z, run)
    z_run = power(z, run)
    running = coefficients[num_ood:]
    result = np.empty_like(w)
    for start in range(0, size, run):
        terms = dot_rows(z_powers, running[:, None], ext=False)
        result[start : start + run] = add(w[start : start + run], terms)
        running = scale(running, z_run)
    return result
