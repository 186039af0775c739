"""Transforms and hashes on plain uint32 arrays, Montgomery words unless said otherwise."""

from __future__ import annotations

from whir_mlx.field.array_edge import Edge
from whir_mlx.field.constants import TWO_ADICITY
from whir_mlx.field.poseidon2_constants import WIDTHS
from whir_mlx.kernels import compress as compress_kernel
from whir_mlx.kernels import hash_rows as hash_kernel
from whir_mlx.kernels import ntt as ntt_kernel
from whir_mlx.kernels import poseidon2 as poseidon2_kernel

__all__ = ["compress", "hash_rows", "intt", "ntt", "poseidon2"]


def ntt(x, *, log_rows: int | None = None, device="auto"):
    """The forward DFT down the rows: y[i] = sum_b x[b] g^(i b), g of order 2^log_rows, natural order in and out.

    x: (R,) or (R, columns), R a power of two; zeros are appended up to 2^log_rows rows (default R). Linear, so
    canonical words give canonical ones. Raises ValueError for other sizes. Source: p3-dft 0.8.0.
    """
    edge = Edge(device, x)
    words = edge.enter("x", x, ndim=(1, 2))
    log_input = _log_rows(words)
    log_rows = log_input if log_rows is None else log_rows
    if not log_input <= log_rows <= TWO_ADICITY:
        raise ValueError(f"log_rows must be in {log_input}..{TWO_ADICITY}, got {log_rows}")
    return edge.leave(_transform(edge, words, log_rows, False))


def intt(x, *, device="auto"):
    """The inverse of `ntt`, scaled by 1/R. x: (R,) or (R, columns), R a power of two; either form of words."""
    edge = Edge(device, x)
    words = edge.enter("x", x, ndim=(1, 2))
    return edge.leave(_transform(edge, words, _log_rows(words), True))


def _log_rows(words) -> int:
    rows = words.shape[0]
    if rows < 1 or rows & (rows - 1) or 0 in words.shape:
        raise ValueError(f"x must have a power of two of rows and no empty axis, got shape {tuple(words.shape)}")
    if rows.bit_length() - 1 > TWO_ADICITY:
        raise ValueError(f"x must have at most 2^{TWO_ADICITY} rows, got {rows}")
    return rows.bit_length() - 1


def _transform(edge: Edge, words, log_rows: int, inverse: bool):
    matrix = words.reshape((words.shape[0], -1))
    result = ntt_kernel.ntt(edge.device, matrix, log_rows=log_rows, inverse=inverse)
    return result.reshape((-1,)) if len(words.shape) == 1 else result


def poseidon2(states, *, device="auto"):
    """The Poseidon2 permutation of each row. states: (t,) or (N, t), t in 16, 24, 32.

    Constants: the crates' (Grain LFSR). Raises ValueError for another width. Source: p3-baby-bear 0.8.0.
    """
    edge = Edge(device, states)
    words = edge.enter("states", states, ndim=(1, 2))
    if words.shape[-1] not in WIDTHS:
        raise ValueError(
            f"states must have rows of {', '.join(map(str, WIDTHS))} words, got shape {tuple(words.shape)}"
        )
    rows = words.reshape((-1, words.shape[-1])) if 0 not in words.shape else words
    return edge.leave(poseidon2_kernel.poseidon2(edge.device, rows).reshape(tuple(words.shape)))


def hash_rows(rows, *, rate: int = 8, device="auto"):
    """The digest of each row, as Merkle leaves are hashed. rows: (N, w) -> (N, 8).

    rate: 8 (Poseidon2 of width 16) or 16 (width 24). The sponge does not pad: rows of different lengths may collide.
    Source: p3-symmetric 0.8.0 `sponge.rs`.
    """
    edge = Edge(device, rows)
    return edge.leave(hash_kernel.hash_rows(edge.device, edge.enter("rows", rows, ndim=(2,)), rate=rate))


def compress(digests, *, arity: int = 2, device="auto"):
    """Parents of consecutive digests: (N * arity, 8) -> (N, 8), arity 2 or 4. Source: p3-symmetric 0.8.0."""
    edge = Edge(device, digests)
    words = edge.enter("digests", digests, ndim=(2,), last=8)
    return edge.leave(compress_kernel.compress(edge.device, words, arity=arity))
