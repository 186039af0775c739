"""Reed-Solomon encoding: the message matrix of a polynomial and its codeword.

Source: p3-sumcheck 0.8.0 (`commit.rs`), p3-whir 0.8.0 (`pcs/committer/writer.rs`).
"""

from __future__ import annotations

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.ntt import ntt

__all__ = ["encode"]


def encode(device: Device, f, *, order: str, folding_factor: int, log_inv_rate: int):
    """The codeword whose rows are the leaves of a commitment.

    f: (2^v,) base or (2^v, 4) extension Montgomery words, v >= folding_factor = k. The message matrix has 2^(v-k)
    rows and 2^k columns: f[i 2^k + j] at (i, j) in the suffix order, f[j 2^(v-k) + i] in the prefix order; values
    over the cube serve as coefficients. Returns (2^(v-k+log_inv_rate), 2^k or 4 * 2^k): each column's forward DFT,
    natural order.
    """
    words = 1 if len(f.shape) == 1 else 4
    columns = 1 << folding_factor
    rows = f.shape[0] // columns
    if order == "prefix":
        matrix = f.reshape((columns, rows, words)).transpose(1, 0, 2).reshape((rows, columns * words))
    else:
        matrix = f.reshape((rows, columns * words))
    return ntt(device, matrix, log_rows=rows.bit_length() - 1 + log_inv_rate)
