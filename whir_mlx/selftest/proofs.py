"""Whole proofs of fixed statements, whose files are known byte for byte (`answers.json`)."""

from __future__ import annotations

import warnings

import numpy as np

from whir_mlx.parameters_file import FiledStatement, to_dict
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning
from whir_mlx.protocol.proof_file import encode_proof_file
from whir_mlx.splitmix import splitmix
from whir_mlx.whir import Whir

__all__ = ["LARGE", "PROOFS", "make_pcs", "prove", "tables_of"]

_SMALL = {"security_level": 60, "pow_bits": 12}
LARGE = "proof: 2^18, default parameters"
PROOFS: dict[str, dict] = {
    "proof: 2^10": {"num_variables": 10, **_SMALL},
    "proof: 2^10, prefix": {"num_variables": 10, "layout": "prefix", **_SMALL},
    "proof: 2^11, unique": {"num_variables": 11, "soundness": "unique", **_SMALL},
    "proof: 2^12, capacity": {"num_variables": 12, "soundness": "capacity", **_SMALL},
    "proof: 2^11, 4-ary tree": {"num_variables": 11, "tree": "ary4", **_SMALL},
    "proof: 2^11, wide leaves": {"num_variables": 11, "tree": "w24", **_SMALL},
    "proof: tables": {"tables": ((10, 2), (7, 3), (3, 1)), "folding_factor": 3, **_SMALL},
    LARGE: {"num_variables": 18},
}
"""Keywords of `Whir` by label: every tree, both layouts, all kinds of soundness, and one of full size."""


def make_pcs(label: str, device) -> Whir:
    """The statement called `label`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConjecturedSoundnessWarning)
        return Whir(**PROOFS[label], device=device)


def tables_of(pcs: Whir):
    """Its data: `splitmix` of seed 1000 t + c, as `whir-mlx prove random:...` takes it."""
    tables = [
        np.stack([splitmix(1000 * t + c, 1 << shape.log_rows) for c in range(shape.columns)])
        for t, shape in enumerate(pcs.choices.tables)
    ]
    return tables if len(tables) > 1 else tables[0] if len(tables[0]) > 1 else tables[0][0]


def prove(pcs: Whir, tables) -> bytes:
    """Commits, opens and verifies; the proof file's bytes. Raises VerificationError where the proof does not hold."""
    commitment, data = pcs.commit(tables)
    proof = pcs.open(data)
    pcs.verify(commitment, proof)
    return encode_proof_file(to_dict(FiledStatement(pcs.choices, pcs.schedule())), commitment, proof)
