"""The kernels that a statement's proof launches, so that a target which builds them can build them all at once."""

from __future__ import annotations

from functools import lru_cache

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.ntt import pass_values
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.parameters import WhirConfig

__all__ = ["proof_kernels"]

_ALWAYS = (
    "dot",
    "sumcheck_round",
    "sumcheck_fold",
    "sumcheck_fold_round",
    "ext_sum",
    "claim_weights",
    "eq_outer",
    "add_scaled",
    "pack",
    "point_weights",
)
_QUERIES = ("query_tables", "query_weights", "gather_opening")


@lru_cache(maxsize=64)
def proof_kernels(device: Device, config: WhirConfig, tree: TreeConfig) -> tuple:
    """(name, values, lanes) of the kernels of commit, open and verify; rare shapes may need a few more at first use."""
    kernels = [(name, {}, 0) for name in _ALWAYS + _QUERIES]
    kernels.append(("montgomery", {"TO_MONTGOMERY": 1}, 0))
    # The longest builds first, so that none of them is left alone at the end.
    hashes = {"WIDTH": tree.leaf_rate + 8}
    if tree.leaf_rate == 8 and device.tuning.four_lane_rows[1]:
        kernels.append(("hash_rows_four", {}, 0))
    if tree.arity == 2 and tree.leaf_rate == 8:
        kernels.insert(0, ("hash_leaves", hashes, 0))
    kernels.insert(0, ("hash_rows", hashes, 0))
    kernels.insert(0, ("compress", {"WIDTH": 8 * tree.arity}, 0))
    kernels.insert(0, ("climb", {**hashes, "ARITY": tree.arity}, 0))
    widths = [1 << config.folding_schedule[0], *(4 << fold for fold in config.folding_schedule[1:])]
    columns = max(device.vector_lanes, device.tuning.wide_columns)
    for wide in sorted({int(width % columns == 0) for width in widths}):
        kernels.insert(0, ("ntt", pass_values(device.tuning, bool(wide)), 0))
    kernels.insert(0, ("replay", {}, device.simd_width))
    kernels.insert(0, ("challenge", {}, device.simd_width))
    phases = [record.folding_pow_bits for record in config.rounds]
    if device.tuning.rest_values and 0 in (config.starting_folding_pow_bits, *phases, config.final_folding_pow_bits):
        kernels.insert(0, ("sumcheck_rest", {}, device.simd_width))
    if device.tuning.draw_values and any((config.starting_folding_pow_bits, *phases, config.final_folding_pow_bits)):
        kernels.insert(0, ("sumcheck_draw_fold", {}, device.simd_width))
    if config.max_pow_bits:
        kernels.insert(0, ("grind", {"WIDTH": 16}, 0))
        if device.tuning.cooperative_bits:
            kernels.append(("grind_sixteen", {}, 0))
    kernels += [("fold_axis", {"EXT": ext, "MODE": mode}, 0) for mode, ext in ((0, 0), (1, 0), (1, 1))]
    kernels.append(("eq_table", {"LOG_EACH": device.tuning.eq_log_each}, 0))
    kernels.append(("ext_arithmetic", {"OPERATION": 2}, 0))
    if device.lazy:
        kernels.append(("ext_sum_group", {}, 0))
        if tree.arity == 2:
            kernels.insert(0, ("tree_layers", {}, 0))
    return tuple((name, tuple(sorted(values.items())), lanes) for name, values, lanes in kernels)
