"""Collecting a proof's words while the prover runs, and the proof made of them once they are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.errors import DeviceError, WhirError
from whir_mlx.field.constants import EXT_DEGREE, P
from whir_mlx.kernels.device import Device
from whir_mlx.protocol.merkle import MerkleTree, OpenedRows
from whir_mlx.protocol.proof import BatchEvaluations, MerkleOpening, Proof, RoundProof, SumcheckProof, WhirProof
from whir_mlx.protocol.pruning import pruning_plan
from whir_mlx.protocol.readback import Readback

__all__ = ["ProofWords"]


@dataclass(frozen=True)
class _Sumcheck:
    messages: int
    witnesses: int


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
        self._readback = Readback(device)
        self._ood = -1
        self._evaluations: list[tuple[int | None, int | None]] = []
        self._initial_sumcheck = _Sumcheck(-1, -1)
        self._rounds: list[tuple] = []
        self._final: dict = {"sumcheck": None}
        self._pow_bits: list[int] = []
        self._pow_samples = -1

    def opening(self, opening) -> None:
        add = self._readback.add
        self._ood = self._readback.add_stack([answer.value for answer in opening.ood_answers], (EXT_DEGREE,))
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
                self._readback.add_stack(answers, (EXT_DEGREE,)),
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
        self._pow_bits = [bits for bits, _ in samples]
        self._pow_samples = self._readback.add_stack([sample for _, sample in samples], (1,))

    def _sumcheck(self, run) -> _Sumcheck:
        add = self._readback.add_stack
        return _Sumcheck(add(run.round_polynomials, (2, EXT_DEGREE)), add(run.pow_witnesses, (1,), plain=True))

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
        words = self._readback.collect(words)
        final = self._final
        opened = [part for _, _, _, part, _ in self._rounds] + [final["opening"]]
        sumchecks = [self._initial_sumcheck] + [part for *_, part in self._rounds]
        sumchecks += [final["sumcheck"]] if final["sumcheck"] else []
        witnesses = [slot for _, _, slot, _, _ in self._rounds] + [final["witness"]]
        self._check_grinding(words, witnesses + [part.witnesses for part in sumchecks])
        paths = [words[part.paths] for part in opened]
        plan = pruning_plan(opened[0].arity, tuple(part.shape[:2] for part in paths))
        siblings = plan.siblings(np.concatenate([words[part.indices] for part in opened]), paths)
        openings = [MerkleOpening(part.kind, words[part.rows], kept) for part, kept in zip(opened, siblings)]
        runs = [SumcheckProof(words[part.messages], words[part.witnesses].reshape(-1)) for part in sumchecks]
        rounds = tuple(
            RoundProof(words[cap], words[answers], int(words[slot][0]), opening, run)
            for (cap, answers, slot, _, _), opening, run in zip(self._rounds, openings, runs[1:])
        )
        whir = WhirProof(
            words[self._ood],
            runs[0],
            rounds,
            words[final["poly"]],
            int(words[final["witness"]][0]),
            openings[-1],
            runs[-1] if final["sumcheck"] else None,
        )
        none = np.zeros((0, 4), np.uint32)
        evaluations = tuple(
            BatchEvaluations(none if a is None else words[a], none if b is None else words[b])
            for a, b in self._evaluations
        )
        return Proof(whir, evaluations)

    def _check_grinding(self, words: list[np.ndarray], witnesses: list[int]) -> None:
        """Refuses witnesses that were not found, then witnesses that do not meet their difficulty."""
        if any(word >= P for slot in witnesses for word in words[slot].reshape(-1).tolist()):
            raise WhirError("grinding found no witness in the windows it was given; open again")
        samples = words[self._pow_samples].reshape(-1).tolist()
        for number, (bits, sample) in enumerate(zip(self._pow_bits, samples)):
            # The search and the transcript are two kernels: a fault of either shows here, not at a verifier.
            if sample & ((1 << bits) - 1):
                raise DeviceError(
                    f"the device gave a wrong witness: grind {number} of {len(samples)} misses its {bits} "
                    f"bits; nothing was proved (`whir-mlx selftest` checks the device)"
                )
