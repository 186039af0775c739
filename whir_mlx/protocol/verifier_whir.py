"""The WHIR run of the verifier: rounds, queries and the final identity.

Letters: n variables, R rounds, k_i the fold of codeword i, v the variables of the polynomial that a round commits to, m
closing rounds. Source: p3-whir 0.8.0 (`pcs/verifier/{mod,errors}.rs`, `pcs/committer/reader.rs`, `transcript/mod.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.multilinear import (
    add,
    base_powers,
    contract,
    eq_table,
    evaluate,
    expand,
    mul,
    powers,
    root_powers,
)
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.proof import Proof
from whir_mlx.protocol.seeds import batching_seed, whir_seed
from whir_mlx.protocol.statement import Schedule, claims
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier_constraints import InitialConstraint, RoundConstraint, combine, weights_at
from whir_mlx.protocol.verifier_merkle import Multiproof, check_multiproofs, plan_multiproof
from whir_mlx.protocol.verifier_sumcheck import verify_sumcheck

__all__ = ["WhirReplay", "require"]


def require(check: str, where: str, count: int, items) -> None:
    """Raises `VerificationError` (`check`) unless there are `count` items."""
    if len(items) != count:
        raise VerificationError(check, where=where, expected=count, got=len(items))


@dataclass
class WhirReplay:
    """One replay. `proof` is canonical, `words` the same object in Montgomery words; `proof` has passed `validate`."""

    device: object
    transcript: Transcript
    layout: Layout
    schedule: Schedule
    config: WhirConfig
    tree: TreeConfig
    proof: Proof
    words: Proof
    multiproofs: list[Multiproof] = field(default_factory=list)

    def run(self, cap: np.ndarray, ood_points: list[list[tuple]], batch_points: list[list[tuple]]) -> None:
        """Checks that the committed polynomial meets the claims at these points, whose values are in the proof.

        `cap` (c, 8): Montgomery words of the commitment. Raises `VerificationError`.
        """
        failure = None
        try:
            self._replay(cap, ood_points, batch_points)
        except VerificationError as error:
            failure = error
        # The digests of all rounds are hashed together at last, a third of the launches. Each of these openings came
        # before whatever failed, so its failure is the one to report.
        check_multiproofs(self.device, self.tree, self.multiproofs)
        if failure is not None:
            raise failure

    def _replay(self, cap: np.ndarray, ood_points: list[list[tuple]], batch_points: list[list[tuple]]) -> None:
        """Every check but the digests of the openings, which are left in `multiproofs`."""
        config, whir, words = self.config, self.proof.whir, self.words.whir
        self._check_form()
        self.transcript.observe_seed(whir_seed(config, self.schedule.num_batches))
        initial, claim = self._batch_claims(ood_points, batch_points)
        claim, challenges = verify_sumcheck(
            self.transcript,
            claim,
            whir.initial_sumcheck,
            words.initial_sumcheck,
            rounds=config.folding_schedule[0],
            pow_bits=config.starting_folding_pow_bits,
            where="initial",
        )
        drawn, constraints = challenges, []
        for i, params in enumerate(config.rounds):
            # The queries of a round are on the codeword before it, and fold with the challenges drawn since.
            constraint, values = self._round(i, cap, challenges)
            constraints.append(constraint)
            claim = add(claim, combine(constraint.powers, *values))
            cap = words.rounds[i].commitment
            claim, challenges = verify_sumcheck(
                self.transcript,
                claim,
                whir.rounds[i].sumcheck,
                words.rounds[i].sumcheck,
                rounds=params.next_folding_factor,
                pow_bits=params.folding_pow_bits,
                where=f"round {i}",
            )
            drawn = drawn + challenges
        claim, challenges = self._final(claim, cap, challenges)
        expected = mul(
            weights_at(initial, constraints, drawn + challenges),
            evaluate(whir.final_poly, self._variable_order(challenges)),
        )
        if claim != expected:
            raise VerificationError("SumcheckFailed", where="final", expected=expected, got=claim)

    def _check_form(self) -> None:
        """What is checked before the run's seed: the number of rounds, and that an unused witness is zero."""
        whir, rounds = self.proof.whir, self.config.rounds
        require("RoundCountMismatch", "", len(rounds), whir.rounds)
        sites = [(f"round {i}", p.pow_bits, whir.rounds[i].pow_witness) for i, p in enumerate(rounds)]
        for where, pow_bits, witness in [*sites, ("final", self.config.final_pow_bits, whir.final_pow_witness)]:
            if pow_bits == 0 and witness != 0:
                raise VerificationError("NonCanonicalPowWitness", where=where, expected=0, got=witness)

    def _batch_claims(self, ood_points: list, batch_points: list) -> tuple[InitialConstraint, tuple]:
        """Draws alpha: the combined constraint and its claimed value."""
        ordered = claims(self.layout, self.schedule)
        self.transcript.observe_seed(batching_seed(self.layout, len(ordered), len(ood_points)))
        alpha = self.transcript.sample_scalar()
        weights = powers(alpha, len(ordered) + len(ood_points))
        opened = [part for batch in self.proof.evaluations for part in (batch.current, batch.next)]
        values = np.concatenate([part.reshape(-1, EXT_DEGREE) for part in opened]) if opened else _NO_VALUES
        values = values[[claim.flat_index for claim in ordered]] if ordered else _NO_VALUES
        initial = InitialConstraint(self.layout, ordered, batch_points, ood_points, weights)
        return initial, combine(weights, values, self.proof.whir.initial_ood_answers)

    def _round(self, i: int, cap: np.ndarray, challenges: list[tuple]) -> tuple[RoundConstraint, tuple]:
        """Round i up to its combination challenge: the new constraint and its values (answers, folds)."""
        where, params = f"round {i}", self.config.rounds[i]
        round_proof, words = self.proof.whir.rounds[i], self.words.whir.rounds[i]
        if round_proof.commitment is None:
            raise VerificationError("MissingRoundCommitment", where=where)
        require("RoundOodAnswerCountMismatch", where, params.ood_samples, round_proof.ood_answers)
        self.transcript.observe(words.commitment)
        ood_points = []
        for answer in words.ood_answers:
            ood_points.append(expand(self.transcript.sample_scalar(), params.num_variables))
            self.transcript.observe(answer)
        query_points, folds = self._queries(i, cap, challenges, params.pow_bits, round_proof.pow_witness, where)
        gamma = self.transcript.sample_scalar()
        # gamma^0 is the coefficient of the claim carried so far.
        weights = powers(gamma, 1 + len(ood_points) + len(folds))[1:]
        constraint = RoundConstraint(params.num_variables, ood_points, query_points, weights)
        return constraint, (round_proof.ood_answers, folds)

    def _final(self, claim: tuple, cap: np.ndarray, challenges: list[tuple]) -> tuple[tuple, list[tuple]]:
        """The polynomial in clear, the queries that tie it to the last codeword, and the closing sumcheck."""
        config, whir, words = self.config, self.proof.whir, self.words.whir
        num_variables = config.final_sumcheck_rounds
        if whir.final_poly is None:
            raise VerificationError("MissingFinalPoly", where="final")
        require("FinalPolyLengthMismatch", "final", 1 << num_variables, whir.final_poly)
        self.transcript.observe(words.final_poly)
        num_rounds = len(config.rounds)
        points, folds = self._queries(
            num_rounds, cap, challenges, config.final_pow_bits, whir.final_pow_witness, "final"
        )
        if len(points):
            # The values of the final polynomial serve as coefficients here.
            values = contract(base_powers(points, num_variables), whir.final_poly.astype(np.uint64))
            differing = np.flatnonzero((values != folds).any(axis=1))
            if len(differing):
                at = differing[0]
                raise VerificationError(
                    "StirChallengeFailed",
                    where=f"final, query {at}",
                    expected=values[at].tolist(),
                    got=folds[at].tolist(),
                )
        if num_variables == 0:
            # The crate ignores what stands here; a proof has one encoding, and honest provers write nothing.
            if whir.final_sumcheck is not None:
                raise VerificationError(
                    "Sumcheck(RoundCountMismatch)", where="final", expected="no sumcheck", got="one"
                )
            return claim, []
        if whir.final_sumcheck is None:
            raise VerificationError("Sumcheck(MissingSumcheckData)", where="final", expected=num_variables, got=None)
        return verify_sumcheck(
            self.transcript,
            claim,
            whir.final_sumcheck,
            words.final_sumcheck,
            rounds=num_variables,
            pow_bits=config.final_folding_pow_bits,
            where="final",
        )

    def _queries(self, i: int, cap: np.ndarray, challenges: list[tuple], pow_bits: int, witness: int, where: str):
        """Queries on codeword i: the points z (q,) and the folds of the rows opened there (q, 4), canonical uint64.

        `challenges`: the k_i scalars drawn since the codeword was committed.
        """
        config, whir, words = self.config, self.proof.whir, self.words.whir
        if i < len(config.rounds):
            params, opening, opening_words = config.rounds[i], whir.rounds[i].opening, words.rounds[i].opening
            log_height, num_draws, num_opened = params.log_folded_domain_size, params.num_draws, params.num_opened
        else:
            opening, opening_words = whir.final_opening, words.final_opening
            log_height = config.final_log_folded_domain_size
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
                opening_words.rows,
                opening_words.siblings,
                indices,
                height=1 << log_height,
                width=(1 if i == 0 else EXT_DEGREE) << config.folding_schedule[i],
                where=where,
            )
        )
        if num_opened == 0:
            return np.zeros(0, dtype=np.uint64), _NO_VALUES
        folds = contract(opening.rows, eq_table(self._variable_order(challenges)))
        return root_powers(log_height, indices), folds

    def _variable_order(self, challenges: list[tuple]) -> list[tuple]:
        """The point that challenges in draw order bind: the suffix order binds the last variable first."""
        return challenges[::-1] if self.layout.order == "suffix" else challenges


_NO_VALUES = np.zeros((0, EXT_DEGREE), dtype=np.uint64)
