"""The WHIR run of a proof in the transcript's order: what is absorbed and drawn, and the form of all of it.

Letters: R rounds, k_i the fold of codeword i. Source: p3-whir 0.8.0 (`pcs/verifier/{mod,errors}.rs`,
`pcs/committer/reader.rs`, `transcript/mod.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.proof import MerkleOpening, Proof
from whir_mlx.protocol.replay import Replay
from whir_mlx.protocol.verifier_constraints import Expansion
from whir_mlx.protocol.verifier_plan import VerifierPlan
from whir_mlx.protocol.verifier_sumcheck import replay_sumcheck
from whir_mlx.protocol.verifier_words import MontgomeryWords

__all__ = ["Claims", "Drawn", "Notes", "Queried", "require"]


def require(check: str, where: str, count: int, items) -> None:
    """Raises `VerificationError` (`check`) unless there are `count` items."""
    if len(items) != count:
        raise VerificationError(check, where=where, expected=count, got=len(items))


@dataclass(frozen=True)
class Drawn:
    """A point of n variables that expands the challenge drawn at `place`."""

    place: slice
    num_variables: int

    def of(self, replay: Replay) -> Expansion:
        """The point, once `replay` has run."""
        return Expansion(replay.scalar(self.place), self.num_variables)


@dataclass(frozen=True)
class Claims:
    """The claims that a round adds: `ood_points`, and the place of their combination challenge."""

    ood_points: list[Drawn]
    challenge: slice


@dataclass(frozen=True)
class Queried:
    """An opening of the right kind: `place` of its indices (None: as `count` says), after so many `grinds`.

    `form`: what else `plan_multiproof` takes.
    """

    words: tuple[np.ndarray, ...]
    indices: slice | np.ndarray | None
    count: int
    grinds: int
    form: dict


@dataclass
class Notes:
    """What `note` finds in a proof, all of it by its place among what `replay` draws.

    `proof` is canonical and has passed `validate`, `words` has its Montgomery words. `claims`: of the rounds so far;
    `challenges`: of the sumchecks so far, a list each; `queried`: what was opened so far.
    """

    replay: Replay
    plan: VerifierPlan
    config: WhirConfig
    proof: Proof
    words: MontgomeryWords
    claims: list[Claims] = field(default_factory=list)
    challenges: list[list[slice]] = field(default_factory=list)
    queried: list[Queried] = field(default_factory=list)

    def note(self, cap: np.ndarray) -> slice:
        """Notes every challenge, and what is to be checked of it; the place of the first, alpha.

        `cap` (c, 8): Montgomery words of the commitment. Raises `VerificationError` for what has not the right form.
        """
        config, whir, plan = self.config, self.proof.whir, self.plan
        self._check_form()
        self.replay.observe(plan.whir)
        self.replay.observe(plan.batching)
        alpha = self.replay.sample_ext()
        self._sumcheck(whir.initial_sumcheck, config.folding_schedule[0], config.starting_folding_pow_bits, "initial")
        for i, params in enumerate(config.rounds):
            # The queries of a round are on the codeword before it, and fold with the challenges drawn since.
            self._round(i, cap)
            cap = self.words.of(whir.rounds[i].commitment)
            self._sumcheck(whir.rounds[i].sumcheck, params.next_folding_factor, params.folding_pow_bits, f"round {i}")
        self._final(cap)
        return alpha

    def _sumcheck(self, sumcheck, rounds: int, pow_bits: int, where: str) -> None:
        seed = self.plan.sumchecks[len(self.challenges)]
        self.challenges.append(
            replay_sumcheck(self.replay, sumcheck, self.words, seed=seed, rounds=rounds, pow_bits=pow_bits, where=where)
        )

    def _check_form(self) -> None:
        """What is checked before the run's seed: the number of rounds, and that an unused witness is zero."""
        whir, rounds = self.proof.whir, self.config.rounds
        require("RoundCountMismatch", "", len(rounds), whir.rounds)
        sites = [(f"round {i}", p.pow_bits, whir.rounds[i].pow_witness) for i, p in enumerate(rounds)]
        for where, pow_bits, witness in [*sites, ("final", self.config.final_pow_bits, whir.final_pow_witness)]:
            if pow_bits == 0 and witness != 0:
                raise VerificationError("NonCanonicalPowWitness", where=where, expected=0, got=witness)

    def _round(self, i: int, cap: np.ndarray) -> None:
        """Round i up to its combination challenge."""
        where, params = f"round {i}", self.config.rounds[i]
        round_proof = self.proof.whir.rounds[i]
        if round_proof.commitment is None:
            raise VerificationError("MissingRoundCommitment", where=where)
        require("RoundOodAnswerCountMismatch", where, params.ood_samples, round_proof.ood_answers)
        self.replay.observe(self.words.of(round_proof.commitment))
        ood_points = []
        for answer in self.words.of(round_proof.ood_answers):
            ood_points.append(Drawn(self.replay.sample_ext(), params.num_variables))
            self.replay.observe(answer)
        self._queries(i, cap, params.pow_bits, round_proof.pow_witness, where)
        self.claims.append(Claims(ood_points, self.replay.sample_ext()))

    def _final(self, cap: np.ndarray) -> None:
        """The polynomial in clear, the queries that tie it to the last codeword, and the closing sumcheck."""
        config, whir = self.config, self.proof.whir
        num_variables = config.final_sumcheck_rounds
        if whir.final_poly is None:
            raise VerificationError("MissingFinalPoly", where="final")
        require("FinalPolyLengthMismatch", "final", 1 << num_variables, whir.final_poly)
        self.replay.observe(self.words.of(whir.final_poly))
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

    def codeword(self, i: int) -> tuple[MerkleOpening, int]:
        """The opening of codeword i, and the logarithm of its rows."""
        if i < len(self.config.rounds):
            return self.proof.whir.rounds[i].opening, self.config.rounds[i].log_folded_domain_size
        return self.proof.whir.final_opening, self.config.final_log_folded_domain_size

    def _queries(self, i: int, cap: np.ndarray, pow_bits: int, witness: int, where: str) -> None:
        """Queries on codeword i."""
        config, replay = self.config, self.replay
        opening, log_height = self.codeword(i)
        if i < len(config.rounds):
            num_draws, num_opened = config.rounds[i].num_draws, config.rounds[i].num_opened
        else:
            num_draws, num_opened = config.final_num_draws, config.final_num_opened

        def invalid() -> VerificationError:
            expected = f"{pow_bits} bits of grinding"
            return VerificationError("InvalidPowWitness", where=where, expected=expected, got=f"witness {witness}")

        replay.check_pow(pow_bits, witness, invalid)
        if num_draws:
            indices = replay.sample_indices(log_height, num_draws)
        else:
            indices = np.arange(num_opened)  # every row, or none
        kind = "base" if i == 0 else "extension"
        if opening.kind != kind:
            raise VerificationError(
                "MerkleProofInvalid", where=where, expected=f"{kind} rows", got=f"{opening.kind} rows"
            )
        words = cap, self.words.of(opening.rows), self.words.of(opening.siblings)
        width = (1 if i == 0 else EXT_DEGREE) << config.folding_schedule[i]
        form = {"height": 1 << log_height, "width": width, "where": where}
        self.queried.append(Queried(words, indices, num_draws, replay.num_grinds, form))
