"""WHIR polynomial commitments over BabyBear on MLX: commit to tables of field elements, open them, verify.

pcs = whir_mlx.Whir(num_variables=20); commitment, data = pcs.commit(evals); proof = pcs.open(data);
opened = pcs.verify(commitment, proof). The field, NTT, Poseidon2, Merkle trees and transcript on plain arrays are in
`whir_mlx.field`. Importing this package needs no GPU and no compiler, and touches neither.
"""

from whir_mlx.encoding import decode_bits, encode_bits
from whir_mlx.errors import DeviceError, ParameterError, ProofFormatError, VerificationError, WhirError
from whir_mlx.field.constants import P
from whir_mlx.protocol.folding import Constant, ConstantFromSecondRound, PerRound
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning
from whir_mlx.protocol.plonky3_json import from_plonky3_json, to_plonky3_json
from whir_mlx.protocol.proof import Commitment, Proof
from whir_mlx.protocol.proof_file import read_proof_file, write_proof_file
from whir_mlx.protocol.statement import OpeningBatch, Schedule
from whir_mlx.splitmix import splitmix
from whir_mlx.whir import Opened, Whir

__version__ = "0.1.0"

__all__ = [
    "Commitment",
    "ConjecturedSoundnessWarning",
    "Constant",
    "ConstantFromSecondRound",
    "DeviceError",
    "Opened",
    "OpeningBatch",
    "P",
    "ParameterError",
    "PerRound",
    "Proof",
    "ProofFormatError",
    "Schedule",
    "VerificationError",
    "Whir",
    "WhirError",
    "decode_bits",
    "encode_bits",
    "from_plonky3_json",
    "read_proof_file",
    "splitmix",
    "to_plonky3_json",
    "write_proof_file",
]
