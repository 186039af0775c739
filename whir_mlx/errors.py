"""The exceptions of whir_mlx.

Bad arguments raise `TypeError` or `ValueError` (or `ParameterError`, a `ValueError`, where a parameter set is refused);
a malformed proof file or proof JSON raises `ProofFormatError`; a well-formed proof that does not hold raises
`VerificationError`.
"""

__all__ = ["DeviceError", "ParameterError", "ProofFormatError", "VerificationError", "WhirError"]


class WhirError(Exception):
    """Base class of the errors that only this package raises."""


class ParameterError(WhirError, ValueError):
    """A parameter set is refused.

    `kind` names the rule in the words of p3-whir 0.8.0 (for example ``"PowBitsExceedBudget"``).
    """

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


class ProofFormatError(WhirError, ValueError):
    """A proof file or proof JSON is not in the one accepted encoding."""


class VerificationError(WhirError):
    """A proof was rejected.

    `check` names the failed check in the words of p3-whir 0.8.0 (for example ``"MerkleProofInvalid"``); `where` says in
    which phase (``"round 1"``, ``"final"``); `expected` and `got` are the two things that differed.
    """

    def __init__(self, check: str, *, where: str = "", expected: object = None, got: object = None):
        parts = [check]
        if where:
            parts.append(f"in {where}")
        if expected is not None or got is not None:
            parts.append(f"(expected {expected}, got {got})")
        super().__init__(" ".join(parts))
        self.check = check
        self.where = where
        self.expected = expected
        self.got = got


class DeviceError(WhirError, RuntimeError):
    """The device that was asked for is missing or failed."""
