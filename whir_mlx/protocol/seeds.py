"""Seeds: the base field elements with which every sub-protocol opens on the one challenger.

    seed bytes = id (64) || keccak256(pattern text) (32) || u32be(len(label)) || label || 0x80
    id         = version, name, zero padding, len(name) in the last byte
    label      = chunks, each u32be(length) || bytes; numbers are chunks of eight big-endian bytes
    elements   = the number of seed bytes, then the bytes in groups of three, little-endian (the last may be shorter)

Every `..._seed` function returns a read-only uint32 array of canonical elements, built once per statement: nothing in a
seed depends on proof data.

Source: p3-challenger 0.8.0 `fs/domain_separator.rs`, `fs/transcript_field.rs`; p3-sumcheck 0.8.0
`layout/transcript.rs`, `transcript.rs`; p3-whir 0.8.0 `transcript/mod.rs`.
"""

from functools import lru_cache

import numpy as np

from whir_mlx.protocol.layout import Layout, chunk_byte, chunk_u64
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.patterns import (
    challenge,
    delegated,
    indices,
    keccak256,
    message,
    opaque,
    pattern_text,
    pow_step,
)
from whir_mlx.protocol.statement import OpeningBatch

__all__ = [
    "batching_seed",
    "commitment_seed",
    "ood_seed",
    "opening_seed",
    "pack_bytes",
    "seed_bytes",
    "sumcheck_seed",
    "whir_label",
    "whir_pattern",
    "whir_seed",
]

BYTES_PER_ELEMENT = 3
"""Whole bytes that fit below p."""


def pack_bytes(data: bytes) -> np.ndarray:
    """(1 + ceil(len/3),) uint32: the length, then three bytes an element, little-endian."""
    groups = -(-len(data) // BYTES_PER_ELEMENT)
    padded = np.zeros((groups, 4), dtype=np.uint8)
    padded[:, :BYTES_PER_ELEMENT] = np.frombuffer(
        data.ljust(groups * BYTES_PER_ELEMENT, b"\x00"), dtype=np.uint8
    ).reshape(groups, BYTES_PER_ELEMENT)
    words = padded.view("<u4").reshape(groups).astype(np.uint32)
    return np.concatenate([np.array([len(data)], dtype=np.uint32), words])


def seed_bytes(version: int, name: str, pattern: str, label: bytes) -> bytes:
    """The byte string that a seed packs. pattern: the whole text. Raises ValueError unless 1 <= len(name) <= 62."""
    encoded = name.encode("ascii")
    if not 1 <= len(encoded) <= 62:
        raise ValueError(f"name must have 1..62 characters, got {len(encoded)}")
    identifier = (bytes([version]) + encoded).ljust(63, b"\x00") + bytes([len(encoded)])
    return b"".join([identifier, keccak256(pattern.encode("ascii")), len(label).to_bytes(4, "big"), label, b"\x80"])


# The arguments here and below are plain text and numbers, so equal statements share an entry and nothing of a caller's
# objects is kept alive.
@lru_cache(maxsize=256)
def _seed(version: int, name: str, pattern: str, label: bytes) -> np.ndarray:
    elements = pack_bytes(seed_bytes(version, name, pattern, label))
    elements.setflags(write=False)
    return elements


def _numbers(*values: int) -> bytes:
    return b"".join(chunk_u64(value) for value in values)


@lru_cache(maxsize=1)
def commitment_seed() -> np.ndarray:
    """Seed played before the initial commitment's cap is absorbed."""
    return _seed(1, "p3-sumcheck-layout-commitment", pattern_text(opaque("commitment")), b"")


def ood_seed(layout: Layout) -> np.ndarray:
    """Seed of one out-of-domain claim on the stacked polynomial (played once per claim)."""
    pattern = pattern_text(challenge("virtual_point") + message("virtual_eval"))
    return _seed(1, "p3-sumcheck-layout-ood", pattern, layout.binding())


def opening_seed(layout: Layout, table: int, batch: OpeningBatch, prescribed: bool) -> np.ndarray:
    """Seed of one opening batch on a table; prescribed: the point is the caller's, so none is drawn."""
    pattern = pattern_text(
        ([] if prescribed else challenge("opening_point"))
        + message("current_evals", len(batch.current))
        + message("next_evals", len(batch.next))
    )
    label = layout.binding() + _numbers(
        table,
        layout.padded_log_rows[table],
        len(batch.current),
        *batch.current,
        len(batch.next),
        *batch.next,
    )
    return _seed(1, "p3-sumcheck-layout-opening", pattern, label)


def batching_seed(layout: Layout, num_claims: int, num_ood: int) -> np.ndarray:
    """Seed of the challenge that combines the claims; num_claims counts column claims, not batches."""
    label = layout.binding() + _numbers(num_claims, num_ood)
    return _seed(1, "p3-sumcheck-layout-batching", pattern_text(challenge("batching")), label)


@lru_cache(maxsize=64)
def sumcheck_seed(rounds: int, pow_bits: int) -> np.ndarray:
    """Seed of one sumcheck; empty for no rounds, when nothing is absorbed."""
    if rounds == 0:
        return _NO_SEED
    round_steps = message("round_poly", 2) + pow_step("round_pow", pow_bits) + challenge("round_challenge")
    return _seed(1, "p3-sumcheck-quadratic", pattern_text(round_steps * rounds), chunk_byte(0))


_NO_SEED = np.zeros(0, dtype=np.uint32)
_NO_SEED.setflags(write=False)


@lru_cache(maxsize=64)
def whir_seed(config: WhirConfig, num_batches: int) -> np.ndarray:
    """Seed of the WHIR run; num_batches counts opening batches, not columns."""
    return _seed(3, "p3-whir", whir_pattern(config), whir_label(config, num_batches))


def whir_pattern(config: WhirConfig) -> str:
    """The pattern text of a WHIR run."""
    steps = delegated("initial_fold")
    for round_ in config.rounds:
        steps += opaque("commitment")
        steps += (challenge("ood_point") + message("ood_answer")) * round_.ood_samples
        steps += pow_step("query_pow", round_.pow_bits)
        steps += indices("query_indices", round_.log_folded_domain_size, round_.num_draws)
        steps += challenge("round_batching") + delegated("round_fold")
    steps += message("final_poly", 1 << config.final_sumcheck_rounds)
    steps += pow_step("final_query_pow", config.final_pow_bits)
    steps += indices("final_query_indices", config.final_log_folded_domain_size, config.final_num_draws)
    if config.final_sumcheck_rounds > 0:
        steps += delegated("final_fold")
    return pattern_text(steps)


def whir_label(config: WhirConfig, num_batches: int) -> bytes:
    """The label of a WHIR run: every number of the configuration that the pattern does not show."""
    schedule = config.folding_schedule
    label = _numbers(
        config.num_variables,
        config.commitment_ood_samples,
        num_batches,
        1 << schedule[0],
        config.security_level,
        config.pow_bits,
        config.log_inv_rate,
        config.soundness.label,
    )
    label += _numbers(*config.folding.label)
    label += _numbers(schedule[0], config.starting_folding_pow_bits)
    label += _numbers(config.final_sumcheck_rounds, config.final_folding_pow_bits)
    label += _numbers(len(config.rounds))
    for i, round_ in enumerate(config.rounds):
        label += _numbers(round_.log_inv_rate, schedule[i + 1], round_.folding_pow_bits)
    return label
