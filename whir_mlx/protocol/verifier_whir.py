"""The WHIR run of the verifier: rounds, queries and the final identity.

Letters: n variables, R rounds, k_i the fold of codeword i, v the variables of the polynomial that a round commits to, m
closing rounds. Source: p3-whir 0.8.0 (`pcs/verifier/{mod,errors}.rs`, `pcs/committer/reader.rs`, `transcript/mod.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    expand,
    mul,
    mul_arrays,
    root_powers,
    scalar,
)
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.proof import MerkleOpening, Proof
from whir_mlx.protocol.statement import Schedule
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier_constraints import InitialConstraint, RoundConstraint, combined_values, weights_at
from whir_mlx.protocol.verifier_merkle import Multiproof, check_multiproofs, plan_multiproof
from whir_mlx.protocol.verifier_plan import VerifierPlan
from whir_mlx.protocol.verifier_sumcheck import reduce_claim, replay_sumcheck
from whir_mlx.protocol.verifier_words import MontgomeryWords

__all__ = ["WhirReplay", "require"]


def require(check: str, where: str, count: int, items) -> None:
    """Raises `VerificationError` (`check`) unless there are `count` items."""
    if len(items) != count:
        raise VerificationError(check, where=where, expected=count, got=len(items))


@dataclass
class WhirReplay:
    """One replay: first the transcript with every check of form and grinding, then what no challenge depends on.

    `proof` is canonical and has passed `validate`, `words` has its Montgomery words. `constraints`: of the rounds so
    far; `challenges`: of the sumchecks so far, a list each; `multiproofs`: what was opened so far.
    """

    device: object
    transcript: Transcript
    plan: VerifierPlan
    layout: Layout
    schedule: Schedule
    config: WhirConfig
    tree: TreeConfig
    proof: Proof
    words: MontgomeryWords
    constraints: list[RoundConstraint] = field(default_factory=list)
    challenges: list[list[tuple]] = field(default_factory=list)
    multiproofs: list[Multiproof] = field(default_factory=list)

    def run(self, cap: np.ndarray, ood_points: list[list[tuple]], batch_points: list[list[tuple]]) -> None:
        """Checks that the committed polynomial meets the claims at these points, whose values are in the proof.

        `cap` (c, 8): Montgomery words of the commitment. Raises `VerificationError`.
        """
        failure = None
        try:
            initial = self._replay(cap, ood_points, batch_points)
        except VerificationError as error:
            failure = error
        # Arithmetic and digests of all rounds are done together at last, a third of the launches. What was opened came
        # before whatever failed, so its failures are the ones to report, and in the order of the crate.
        check_multiproofs(self.device, self.tree, self.multiproofs)
        num_rounds = len(self.config.rounds)
        if len(self.multiproofs) > num_rounds:
            tables = eq_tables([self._variable_order(challenges) for challenges in self.challenges])
            points, folds = self._folds(tables)
            self._check_final_folds(points[num_rounds], folds[num_rounds])
        if failure is not None:
            raise failure
        for constraint, query_points, values in zip(self.constraints, points, folds):
            constraint.query_points = query_points
            constraint.values.append(values)
        self._check_claims(initial, tables)

    def _replay(self, cap: np.ndarray, ood_points: list, batch_points: list) -> InitialConstraint:
        """The transcript: draws every challenge, leaves what is to be checked at last in the lists."""
        config, whir, plan = self.config, self.proof.whir, self.plan
        self._check_form()
        self.transcript.observe(plan.whir)
        initial = self._batch_claims(ood_points, batch_points)
        self._sumcheck(whir.initial_sumcheck, config.folding_schedule[0], config.starting_folding_pow_bits, "initial")
        for i, params in enumerate(config.rounds):
            # The queries of a round are on the codeword before it, and fold with the challenges drawn since.
            self._round(i, cap)
            cap = self.words.of(whir.rounds[i].commitment)
            self._sumcheck(
                whir.rounds[i].sumcheck, params.next_folding_factor, params.folding_pow_bits, f"round {i}"
            )
        self._final(cap)
        return initial

    def _sumcheck(self, sumcheck, rounds: int, pow_bits: int, where: str) -> None:
        seed = self.plan.sumchecks[len(self.challenges)]
        self.challenges.append(
            replay_sumcheck(
                self.transcript, sumcheck, self.words, seed=seed, rounds=rounds, pow_bits=pow_bits, where=where
            )
        )

    def _check_form(self) -> None:
        """What is checked before the run's seed: the number of rounds, and that an unused witness is zero."""
        whir, rounds = self.proof.whir, self.config.rounds
        require("RoundCountMismatch", "", len(rounds), whir.rounds)
        sites = [(f"round {i}", p.pow_bits, whir.rounds[i].pow_witness) for i, p in enumerate(rounds)]
        for where, pow_bits, witness in [*sites, ("final", self.config.final_pow_bits, whir.final_pow_witness)]:
            if pow_bits == 0 and witness != 0:
                raise VerificationError("NonCanonicalPowWitness", where=where, expected=0, got=witness)

    def _batch_claims(self, ood_points: list, batch_points: list) -> InitialConstraint:
        """Draws alpha: the combined constraint."""
        self.transcript.observe(self.plan.batching)
        alpha = self.transcript.sample_scalar()
        opened = [part for batch in self.proof.evaluations for part in (batch.current, batch.next)]
        values = np.concatenate(opened) if opened else _NO_VALUES
        values = [values[self.plan.claims.values], self.proof.whir.initial_ood_answers]
        return InitialConstraint(batch_points, ood_points, alpha, values)

    def _round(self, i: int, cap: np.ndarray) -> None:
        """Round i up to its combination challenge."""
        where, params = f"round {i}", self.config.rounds[i]
        round_proof = self.proof.whir.rounds[i]
        if round_proof.commitment is None:
            raise VerificationError("MissingRoundCommitment", where=where)
        require("RoundOodAnswerCountMismatch", where, params.ood_samples, round_proof.ood_answers)
        self.transcript.observe(self.words.of(round_proof.commitment))
        ood_points = []
        for answer in self.words.of(round_proof.ood_answers):
            ood_points.append(expand(self.transcript.sample_scalar(), params.num_variables))
            self.transcript.observe(answer)
        self._queries(i, cap, params.pow_bits, round_proof.pow_witness, where)
        gamma = self.transcript.sample_scalar()
        self.constraints.append(
            RoundConstraint(params.num_variables, ood_points, gamma, values=[round_proof.ood_answers])
        )

    def _final(self, cap: np.ndarray) -> None:
        """The polynomial in clear, the queries that tie it to the last codeword, and the closing sumcheck."""
        config, whir = self.config, self.proof.whir
        num_variables = config.final_sumcheck_rounds
        if whir.final_poly is None:
            raise VerificationError("MissingFinalPoly", where="final")
        require("FinalPolyLengthMismatch", "final", 1 << num_variables, whir.final_poly)
        self.transcript.observe(self.words.of(whir.final_poly))
        self._queries(len(config.rounds), cap, config.final_pow_bits, whir.final_pow_witness, "final")
        if num_variables == 0:
            # The crate ignores what stands here; a proof has one encoding, and honest provers write nothing.
            if whir.final_sumcheck is not None:
                raise VerificationError(
                    "Sumcheck(RoundCountMismatch)", where="final", expected="no sumcheck", got="one"
                )
            self.challenges.append([])
            return
        if whir.final_sumcheck is None:
            raise VerificationError("Sumcheck(MissingSumcheckData)", where="final", expected=num_variables, got=None)
        self._sumcheck(whir.final_sumcheck, num_variables, config.final_folding_pow_bits, "final")

    def _codeword(self, i: int) -> tuple[MerkleOpening, int]:
        """The opening of codeword i, and the logarithm of its rows."""
        if i < len(self.config.rounds):
            return self.proof.whir.rounds[i].opening, self.config.rounds[i].log_folded_domain_size
        return self.proof.whir.final_opening, self.config.final_log_folded_domain_size

    def _queries(self, i: int, cap: np.ndarray, pow_bits: int, witness: int, where: str) -> None:
        """Queries on codeword i: the form of the opening there."""
        config = self.config
        opening, log_height = self._codeword(i)
        if i < len(config.rounds):
            num_draws, num_opened = config.rounds[i].num_draws, config.rounds[i].num_opened
        else:
            num_draws, num_opened = config.final_num_draws, config.final_num_opened
        if not self.transcript.check_pow(pow_bits, witness):
            raise VerificationError(
                "InvalidPowWitness", where=where, expected=f"{pow_bits} bits of grinding", got=f"witness {witness}"
            )
        if num_draws:
            indices = self.device.numpy(self.transcript.sample_indices(log_height, num_draws))
        else:
            indices = np.arange(num_opened)  # every row, or none
        kind = "base" if i == 0 else "extension"
        if opening.kind != kind:
            raise VerificationError(
                "MerkleProofInvalid", where=where, expected=f"{kind} rows", got=f"{opening.kind} rows"
            )
        self.multiproofs.append(
            plan_multiproof(
                self.tree,
                cap,
                self.words.of(opening.rows),
                self.words.of(opening.siblings),
                indices,
                height=1 << log_height,
                width=(1 if i == 0 else EXT_DEGREE) << config.folding_schedule[i],
                where=where,
            )
        )

    def _folds(self, tables: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Of every codeword: the points z (q,) queried, and the folds (q, 4) of the rows opened there, canonical."""
        points, folds = [], []
        for i, multiproof in enumerate(self.multiproofs):
            opening, log_height = self._codeword(i)
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
        final_poly = self.proof.whir.final_poly.astype(np.uint64)
        values = contract(base_powers(points, self.config.final_sumcheck_rounds), final_poly)
        differing = np.flatnonzero((values != folds).any(axis=1))
        if len(differing):
            at = differing[0]
            raise VerificationError(
                "StirChallengeFailed",
                where=f"final, query {at}",
                expected=values[at].tolist(),
                got=folds[at].tolist(),
            )

    def _check_claims(self, initial: InitialConstraint, tables: list[np.ndarray]) -> None:
        """The claim after the last sumcheck is the final polynomial times the combined weights at the drawn point."""
        whir = self.proof.whir
        sumchecks = [whir.initial_sumcheck, *(round_proof.sumcheck for round_proof in whir.rounds)]
        added, coefficients = combined_values(self.device, initial, self.constraints)
        claim = ZERO
        for value, sumcheck, challenges in zip(added, sumchecks, self.challenges):
            claim = reduce_claim(add(claim, value), sumcheck, challenges)
        if whir.final_sumcheck is not None:
            claim = reduce_claim(claim, whir.final_sumcheck, self.challenges[-1])
        drawn = [challenge for challenges in self.challenges for challenge in challenges]
        weights = weights_at(
            self.device, self.layout, self.plan.claims, initial, self.constraints, coefficients, drawn
        )
        expected = mul(weights, scalar(mul_arrays(whir.final_poly.astype(np.uint64), tables[-1]).sum(axis=0) % P))
        if claim != expected:
            raise VerificationError("SumcheckFailed", where="final", expected=expected, got=claim)

    def _variable_order(self, challenges: list[tuple]) -> list[tuple]:
        """The point that challenges in draw order bind: the suffix order binds the last variable first."""
        return challenges[::-1] if self.layout.order == "suffix" else challenges


_NO_VALUES = np.zeros((0, EXT_DEGREE), dtype=np.uint32)
