"""Transcript patterns: the text that names every step of a sub-protocol, and its hash.

A pattern is a list of steps; `pattern_text` prints one numbered line a step. The text's keccak-256 (original padding,
not SHA3) enters the seed of the sub-protocol, so two sub-protocols with different steps never share a transcript.

Source: p3-challenger 0.8.0 `fs/pattern/step.rs`, `fs/pattern/sequence.rs`.
"""

from dataclasses import dataclass

from Crypto.Hash import keccak

from whir_mlx.field.constants import EXT_DEGREE, EXT_W, P

__all__ = ["Step", "challenge", "delegated", "indices", "keccak256", "message", "opaque", "pattern_text", "pow_step"]


def keccak256(data: bytes) -> bytes:
    """The 32-byte keccak-256 digest of `data`, with the original Keccak padding byte 0x01."""
    return keccak.new(digest_bits=256, data=data).digest()


BASE_TYPE = f"Algebra({P}^1;{keccak256(b'p3-scalar-basis-v1').hex()})"
"""The type of base field elements: modulus, degree, and the hash of the basis' name."""

EXT_TYPE = f"Algebra({P}^{EXT_DEGREE};{keccak256(f'p3-power-basis-v1:X^{EXT_DEGREE}-{EXT_W}'.encode()).hex()})"
"""The type of quartic extension elements."""


@dataclass(frozen=True)
class Step:
    """One line of a pattern: the words as they are printed."""

    hierarchy: str
    kind: str
    label: str
    length: str
    type: str


def challenge(label: str) -> list[Step]:
    """One extension element is drawn."""
    return [Step("Atomic", "Challenge", label, "Scalar", EXT_TYPE)]


def message(label: str, count: int | None = None) -> list[Step]:
    """One extension element is absorbed, or `count` of them as one step; none is no step."""
    if count == 0:
        return []
    return [Step("Atomic", "Message", label, "Scalar" if count is None else f"Fixed({count})", EXT_TYPE)]


def opaque(label: str) -> list[Step]:
    """A value that another layer encodes (a commitment) is absorbed."""
    return [Step("Atomic", "Message", label, "Scalar", "Opaque")]


def pow_step(label: str, bits: int) -> list[Step]:
    """A grind of `bits` bits; zero bits are no step."""
    return [Step("Atomic", "Pow", label, f"Fixed({bits})", BASE_TYPE)] if bits > 0 else []


def indices(label: str, width: int, draws: int) -> list[Step]:
    """`draws` integers of `width` uniform bits are drawn; none (every position is opened) is no step."""
    return [Step("Atomic", "Challenge", label, f"Fixed({draws})", f"UniformBits({width})")] if draws > 0 else []


def delegated(label: str) -> list[Step]:
    """A bracket that marks where another sub-protocol runs under its own seed."""
    return [Step(hierarchy, "Protocol", label, "None", "Marker") for hierarchy in ("Begin", "End")]


def pattern_text(steps: list[Step]) -> str:
    """The pattern as text: a header line, then a line a step, numbered and indented by open brackets."""
    lines = [f"Plonky3 Fiat-Shamir Transcript ({len(steps)} interactions)"]
    width = len(str(max(len(steps) - 1, 0)))
    depth = 0
    for position, step in enumerate(steps):
        depth -= step.hierarchy == "End"
        indent = "  " * depth
        lines.append(
            f"{position:0{width}d} {indent}{step.hierarchy} {step.kind} {len(step.label)} {step.label} "
            f"{step.length} {step.type}"
        )
        depth += step.hierarchy == "Begin"
    return "\n".join(lines) + "\n"
