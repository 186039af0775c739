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
    grinds: int


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
        self._initial_sumcheck = _Sumcheck(-1, 0)
        self._rounds: list[tuple] = []
        self._final: dict = {"sumcheck": None}
        self._grind_bits: list[int] = []
        self._grinds = -1

    def opening(self, opening) -> None:
        add = self._readback.add
        self._ood = self._answers(opening.ood_answers)
        self._evaluations = [
            tuple(None if values is None else add(values) for values in pair)
            for pair in zip(opening.current, opening.next)
        ]

    def initial_sumcheck(self, run) -> None:
        self._initial_sumcheck = self._sumcheck(run)

    def round(self, committed, answers, pow_bits: int, tree, indices, opened, run) -> None:
        self._rounds.append(
            (
                self._readback.add(committed.cap),
                self._answers(answers),
                pow_bits,
                self._opened(tree, indices, opened, "extension" if self._rounds else "base"),
                self._sumcheck(run),
            )
        )

    def final_poly(self, f) -> None:
        self._final["poly"] = self._readback.add(f)

    def final_pow_bits(self, bits: int) -> None:
        self._final["pow_bits"] = bits

    def final_opening(self, tree, indices, opened) -> None:
        self._final["opening"] = self._opened(tree, indices, opened, "extension" if self._rounds else "base")

    def final_sumcheck(self, run) -> None:
        self._final["sumcheck"] = self._sumcheck(run)

    def grinds(self, grinds: list) -> None:
        """Of every grind, in the transcript's order, as `Transcript.take_grinds` gives them."""
        self._grind_bits = [bits for bits, _ in grinds]
        self._grinds = self._readback.add_stack([outcome for _, outcome in grinds], (2,), plain=True)

    def _answers(self, answers: list) -> int:
        return self._readback.add_stack([answer.words for answer in answers], (EXT_DEGREE,))

    def _sumcheck(self, run) -> _Sumcheck:
        return _Sumcheck(self._readback.add_stack(run.messages, (2, EXT_DEGREE), entries=run.rounds), run.grinds)

    def _opened(self, tree: MerkleTree, indices, opened: OpenedRows, kind: str) -> _Opened:
        indices = self._readback.add(indices, plain=True)
        return _Opened(tree.config.arity, kind, indices, *self._readback.add_parts(opened.words, opened.shapes))

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
        self._check_grinding(words[self._grinds])
        witnesses = words[self._grinds][:, 0]
        paths = [words[part.paths] for part in opened]
        plan = pruning_plan(opened[0].arity, tuple(part.shape[:2] for part in paths))
        siblings = plan.siblings(np.concatenate([words[part.indices] for part in opened]), paths)
        openings = [MerkleOpening(part.kind, words[part.rows], kept) for part, kept in zip(opened, siblings)]
        # In the transcript's order a round's own grind comes before those of its sumcheck.
        pow_bits = [0, *(bits for _, _, bits, _, _ in self._rounds), final["pow_bits"]]
        own, runs, taken = [], [], 0
        for number, bits in enumerate(pow_bits):
            own.append(int(witnesses[taken]) if bits else 0)
            taken += bits > 0
            if number < len(sumchecks):
                part = sumchecks[number]
                runs.append(SumcheckProof(words[part.messages], witnesses[taken : taken + part.grinds]))
                taken += part.grinds
        rounds = tuple(
            RoundProof(words[cap], words[answers], witness, opening, run)
            for (cap, answers, *_), witness, opening, run in zip(self._rounds, own[1:], openings, runs[1:])
        )
        whir = WhirProof(
            words[self._ood],
            runs[0],
            rounds,
            words[final["poly"]],
            own[-1],
            openings[-1],
            runs[-1] if final["sumcheck"] else None,
        )
        none = np.zeros((0, 4), np.uint32)
        evaluations = tuple(
            BatchEvaluations(none if a is None else words[a], none if b is None else words[b])
            for a, b in self._evaluations
        )
        return Proof(whir, evaluations)

    def _check_grinding(self, outcomes: np.ndarray) -> None:
        """Refuses witnesses that were not found, then witnesses that do not meet their difficulty. outcomes: (grinds,
        2)."""
        if (outcomes[:, 0] >= P).any():
            raise WhirError(
                "grinding found no witness among the candidates searched; a GPU's are a multiple of those expected, "
                "so open again there"
            )
        for number, (bits, sample) in enumerate(zip(self._grind_bits, outcomes[:, 1].tolist())):
            # The search and the transcript are two kernels: a fault of either shows here, not at a verifier.
            if sample & ((1 << bits) - 1):
                raise DeviceError(
                    f"the device gave a wrong witness: grind {number} of {len(outcomes)} misses its {bits} "
                    f"bits; nothing was proved (`whir-mlx selftest` checks the device)"
                )
