"""Collecting a proof's words while the prover runs, and the proof made of them once they are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.errors import DeviceError, WhirError
from whir_mlx.field.constants import P
from whir_mlx.kernels.device import Device
from whir_mlx.protocol.merkle import MerkleTree, OpenedRows, prune
from whir_mlx.protocol.proof import BatchEvaluations, MerkleOpening, Proof, RoundProof, SumcheckProof, WhirProof
from whir_mlx.protocol.readback import Readback

__all__ = ["ProofWords"]


@dataclass(frozen=True)
class _Sumcheck:
    messages: int | None
    witnesses: tuple[int, ...]


@dataclass(frozen=True)
class _Opened:
    arity: int
    kind: str
    indices: int
    rows: int
    paths: int


class ProofWords:
    """Slots of a `Readback`, by their place in the proof."""

    def __init__(self, device: Device):
        self._device = device
        self._readback = Readback(device)
        self._ood: list[int] = []
        self._evaluations: list[tuple[int | None, int | None]] = []
        self._initial_sumcheck = _Sumcheck(None, ())
        self._rounds: list[tuple] = []
        self._final: dict = {"sumcheck": None}
        self._pow_samples: list[tuple[int, int]] = []

    def opening(self, opening) -> None:
        add = self._readback.add
        self._ood = [add(answer.value) for answer in opening.ood_answers]
        self._evaluations = [
            tuple(None if values is None else add(values) for values in pair)
            for pair in zip(opening.current, opening.next)
        ]

    def initial_sumcheck(self, run) -> None:
        self._initial_sumcheck = self._sumcheck(run)

    def round(self, committed, answers, witness, tree, indices, opened, run) -> None:
        add = self._readback.add
        self._rounds.append(
            (
                add(committed.cap),
                [add(answer) for answer in answers],
                add(witness, plain=True),
                self._opened(tree, indices, opened, "extension" if self._rounds else "base"),
                self._sumcheck(run),
            )
        )

    def final_poly(self, f) -> None:
        self._final["poly"] = self._readback.add(f)

    def final_pow_witness(self, witness) -> None:
        self._final["witness"] = self._readback.add(witness, plain=True)

    def final_opening(self, tree, indices, opened) -> None:
        self._final["opening"] = self._opened(tree, indices, opened, "extension" if self._rounds else "base")

    def final_sumcheck(self, run) -> None:
        self._final["sumcheck"] = self._sumcheck(run)

    def pow_samples(self, samples: list) -> None:
        """samples: (bits, (1,) the transcript's sample after a witness) of every grind."""
        self._pow_samples = [(bits, self._readback.add(sample)) for bits, sample in samples]

    def _sumcheck(self, run) -> _Sumcheck:
        messages = self._readback.add_stack(run.round_polynomials) if run.round_polynomials else None
        return _Sumcheck(messages, tuple(self._readback.add(x, plain=True) for x in run.pow_witnesses))

    def _opened(self, tree: MerkleTree, indices, opened: OpenedRows, kind: str) -> _Opened:
        add = self._readback.add
        return _Opened(
            tree.config.arity,
            kind,
            add(indices, plain=True),
            add(opened.rows),
            add(opened.paths),
        )

    def flat(self):
        """All words as one device array; `assemble` takes them back."""
        return self._readback.flat()

    def assemble(self, words) -> Proof:
        """The proof, from an array that `flat` gave; reads it.

        Raises WhirError where a grind found no witness, DeviceError where one does not meet its difficulty.
        """
        words = self._readback.split(self._device.numpy(words))

        def ext(slots) -> np.ndarray:
            return np.stack([words[slot] for slot in slots]) if slots else np.zeros((0, 4), np.uint32)

        def witness(slot: int) -> int:
            value = int(words[slot][0])
            if value >= P:
                raise WhirError("grinding found no witness in the windows it was given; open again")
            return value

        def sumcheck(part: _Sumcheck) -> SumcheckProof:
            messages = np.zeros((0, 2, 4), np.uint32) if part.messages is None else words[part.messages]
            return SumcheckProof(messages, np.array([witness(slot) for slot in part.witnesses], np.uint32))

        def opening(part: _Opened) -> MerkleOpening:
            siblings = prune(part.arity, words[part.indices], words[part.paths])
            return MerkleOpening(part.kind, words[part.rows], siblings)

        rounds = tuple(
            RoundProof(words[cap], ext(answers), witness(pow_slot), opening(opened), sumcheck(run))
            for cap, answers, pow_slot, opened, run in self._rounds
        )
        final = self._final
        whir = WhirProof(
            ext(self._ood),
            sumcheck(self._initial_sumcheck),
            rounds,
            words[final["poly"]],
            witness(final["witness"]),
            opening(final["opening"]),
            None if final["sumcheck"] is None else sumcheck(final["sumcheck"]),
        )
        for number, (bits, slot) in enumerate(self._pow_samples):
            # The search and the transcript are two kernels: a fault of either shows here, not at a verifier.
            if int(words[slot][0]) & ((1 << bits) - 1):
                raise DeviceError(
                    f"the device gave a wrong witness: grind {number} of {len(self._pow_samples)} misses its {bits} "
                    f"bits; nothing was proved (`whir-mlx selftest` checks the device)"
                )
        none = np.zeros((0, 4), np.uint32)
        evaluations = tuple(
            BatchEvaluations(none if a is None else words[a], none if b is None else words[b])
            for a, b in self._evaluations
        )
        return Proof(whir, evaluations)
