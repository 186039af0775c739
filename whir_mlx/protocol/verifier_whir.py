"""The WHIR run of the verifier: the transcript replayed, then grinding, digests, queries and the final identity.

Source: p3-whir 0.8.0 (`pcs/verifier/{mod,errors}.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import EXT_DEGREE, P
from whir_mlx.kernels.fold_axis import fold_axis
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.multilinear import (
    ZERO,
    add,
    base_powers,
    contract,
    eq_tables,
    mul,
    mul_arrays,
    root_powers,
    scalar,
)
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier_constraints import InitialConstraint, RoundConstraint, combined_values, weights_at
from whir_mlx.protocol.verifier_merkle import Multiproof, check_multiproofs, plan_multiproof
from whir_mlx.protocol.verifier_notes import Drawn, Notes
from whir_mlx.protocol.verifier_sumcheck import reduce_claim

__all__ = ["WhirReplay"]


@dataclass(frozen=True)
class WhirReplay:
    """One replay. First what the transcript absorbs and draws is noted, with every check of form; then it is done, in
    one launch, and grinding, digests and arithmetic of all rounds are checked together."""

    device: object
    layout: Layout
    tree: TreeConfig
    notes: Notes

    def check(
        self, transcript: Transcript, cap: np.ndarray, ood_points: list[Drawn], batch_points: list[Drawn | list]
    ) -> None:
        """Checks that the committed polynomial meets the claims at these points, whose values are in the proof.

        `cap` (c, 8): Montgomery words of the commitment. Raises `VerificationError`.
        """
        failure, notes, replay = None, self.notes, self.notes.replay
        try:
            alpha = notes.note(cap)
        except VerificationError as error:
            failure = error
        replay.run(transcript)
        # What was opened came before whatever failed, so its failures are the ones to report, and in the order of the
        # crate.
        multiproofs, failure = self._opened(failure)
        check_multiproofs(self.device, self.tree, multiproofs)
        challenges = [[replay.scalar(place) for place in places] for places in notes.challenges]
        num_rounds = len(notes.config.rounds)
        if len(multiproofs) > num_rounds:
            tables = eq_tables([self._variable_order(phase) for phase in challenges])
            points, folds = self._folds(multiproofs, tables)
            self._check_final_folds(points[num_rounds], folds[num_rounds])
        if failure is not None:
            raise failure
        initial = InitialConstraint(
            [point if isinstance(point, list) else point.of(replay) for point in batch_points],
            [point.of(replay) for point in ood_points],
            replay.scalar(alpha),
            self._claimed(),
        )
        constraints = [
            RoundConstraint(
                params.num_variables,
                [point.of(replay) for point in claims.ood_points],
                replay.scalar(claims.challenge),
                query_points,
                [whir_round.ood_answers, values],
            )
            for params, claims, whir_round, query_points, values in zip(
                notes.config.rounds, notes.claims, notes.proof.whir.rounds, points, folds
            )
        ]
        self._check_claims(initial, constraints, challenges, tables[-1])

    def _claimed(self) -> list[np.ndarray]:
        """The values that the first challenge combines, in the order of its exponents."""
        opened = [part for batch in self.notes.proof.evaluations for part in (batch.current, batch.next)]
        values = np.concatenate(opened) if opened else _NO_VALUES
        return [values[self.notes.plan.claims.values], self.notes.proof.whir.initial_ood_answers]

    def _opened(self, failure: VerificationError | None) -> tuple[list[Multiproof], VerificationError | None]:
        """The openings up to what failed first, with their indices, and what that is."""
        passed, missed = self.notes.replay.failed()
        multiproofs = []
        for queried in self.notes.queried:
            if queried.grinds > passed:
                break
            indices = queried.indices
            if not isinstance(indices, np.ndarray):
                indices = self.notes.replay.indices(indices, queried.count)
            try:
                multiproofs.append(plan_multiproof(self.tree, *queried.words, indices, **queried.form))
            except VerificationError as error:
                return multiproofs, error
        return multiproofs, missed or failure

    def _folds(
        self, multiproofs: list[Multiproof], tables: list[np.ndarray]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Of every codeword: the points z (q,) queried, and the folds (q, 4) of the rows opened there, canonical."""
        points, folds = [], []
        for i, multiproof in enumerate(multiproofs):
            opening, log_height = self.notes.codeword(i)
            points.append(root_powers(log_height, multiproof.indices))
            if not len(multiproof.indices):
                folds.append(_NO_VALUES)
                continue
            # Montgomery words times canonical ones: the sum is canonical.
            weights = self.device.asarray(tables[i].astype(np.uint32))
            rows, extension = self.device.asarray(multiproof.rows), opening.kind == "extension"
            if extension:
                rows = rows.reshape((len(multiproof.rows), -1, EXT_DEGREE))
            folds.append(self.device.numpy(fold_axis(self.device, rows, weights, axis=1, ext=extension)))
        return points, folds

    def _check_final_folds(self, points: np.ndarray, folds: np.ndarray) -> None:
        if not len(points):
            return
        # The values of the final polynomial serve as coefficients here.
        final_poly = self.notes.proof.whir.final_poly.astype(np.uint64)
        values = contract(base_powers(points, self.notes.config.final_sumcheck_rounds), final_poly)
        differing = np.flatnonzero((values != folds).any(axis=1))
        if len(differing):
            at = differing[0]
            raise VerificationError(
                "StirChallengeFailed",
                where=f"final, query {at}",
                expected=values[at].tolist(),
                got=folds[at].tolist(),
            )

    def _check_claims(
        self,
        initial: InitialConstraint,
        constraints: list[RoundConstraint],
        challenges: list[list[tuple]],
        final_table: np.ndarray,
    ) -> None:
        """The claim after the last sumcheck is the final polynomial times the combined weights at the drawn point."""
        whir = self.notes.proof.whir
        sumchecks = [whir.initial_sumcheck, *(round_proof.sumcheck for round_proof in whir.rounds)]
        added, coefficients = combined_values(self.device, initial, constraints)
        claim = ZERO
        for value, sumcheck, phase in zip(added, sumchecks, challenges):
            claim = reduce_claim(add(claim, value), sumcheck, phase)
        if whir.final_sumcheck is not None:
            claim = reduce_claim(claim, whir.final_sumcheck, challenges[-1])
        drawn = [challenge for phase in challenges for challenge in phase]
        plan = self.notes.plan.claims
        weights = weights_at(self.device, self.layout, plan, initial, constraints, coefficients, drawn)
        expected = mul(weights, scalar(mul_arrays(whir.final_poly.astype(np.uint64), final_table).sum(axis=0) % P))
        if claim != expected:
            raise VerificationError("SumcheckFailed", where="final", expected=expected, got=claim)

    def _variable_order(self, challenges: list[tuple]) -> list[tuple]:
        """The point that challenges in draw order bind: the suffix order binds the last variable first."""
        return challenges[::-1] if self.layout.order == "suffix" else challenges


_NO_VALUES = np.zeros((0, EXT_DEGREE), dtype=np.uint32)
