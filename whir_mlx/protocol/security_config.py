"""The derived schedule: every number that prover and verifier share.

Source: p3-whir 0.8.0 `parameters/whir.rs` (`RoundConfig`, `WhirConfig`).

Letters: n variables, schedule k_0..k_R (R rounds after the initial fold), rates r_0..r_R (minus log2). The codeword
c_i, i = 0..R, has message width 2^(k_i), rate 2^-(r_i) and a domain of log size D_i; c_0 is the committed one.
"""

import math
from dataclasses import dataclass

from whir_mlx.errors import ParameterError
from whir_mlx.protocol import security_bounds as bounds
from whir_mlx.protocol.folding import FoldingRule, index_in_range
from whir_mlx.protocol.security_bounds import Soundness

__all__ = ["RoundConfig", "WhirConfig"]


@dataclass(frozen=True)
class RoundConfig:
    """Round i, 0 <= i < R: commit to the folded polynomial as codeword c_(i+1), then query the *previous* one, c_i.

    pow_bits: grinding before the query indices are drawn (also in front of the combination challenge).
    folding_pow_bits: grinding before each challenge of this round's sumcheck, which has `next_folding_factor` rounds.
    num_queries: queries on c_i, counted with the *old* rate r_i. May exceed the folded domain: see `num_draws`.
    ood_samples: out-of-domain samples of the polynomial committed in this round, counted with the *new* rate.
    num_variables: v_i = n - k_0 - ... - k_i, the variables of the polynomial that this round commits to.
    folding_factor: k_i, the fold that made that polynomial; rows of c_i are 2^(k_i) wide.
    log_inv_rate: r_(i+1), the rate of c_(i+1), the codeword committed in this round.
    log_domain_size: D_i = v_i + k_i + r_i, of c_i, the codeword queried.
    log_folded_domain_size: D_i - k_i, log2 of the number of rows of c_i; the width in bits of a query index.
    next_folding_factor: k_(i+1): rows of c_(i+1) are 2^(k_(i+1)) wide, and this round's sumcheck has k_(i+1) rounds.
    """

    pow_bits: int
    folding_pow_bits: int
    num_queries: int
    ood_samples: int
    num_variables: int
    folding_factor: int
    log_inv_rate: int
    log_domain_size: int
    log_folded_domain_size: int
    next_folding_factor: int

    @property
    def num_draws(self) -> int:
        """Indices drawn from the transcript: none if the queries cover the folded domain."""
        return _num_draws(self.num_queries, self.log_folded_domain_size)

    @property
    def num_opened(self) -> int:
        """Rows opened: one a draw, or every row in natural order if nothing is drawn."""
        return _num_opened(self.num_queries, self.log_folded_domain_size)


@dataclass(frozen=True)
class WhirConfig:
    """The whole schedule. Made by `derive_config` only.

    num_variables: n, of the stacked polynomial.
    log_inv_rate: r_0, the rate of the committed codeword c_0, whose domain has log size n + r_0.
    security_level, pow_bits: the target per error term, and the grinding budget (the choices, not the result).
    folding: the rule; folding_schedule: k_0..k_R that it gives.
    round_log_inv_rates: r_1..r_R in effect, defaults included.
    commitment_ood_samples: out-of-domain samples of the stacked polynomial.
    starting_folding_pow_bits: grinding before each of the k_0 challenges of the initial sumcheck.
    rounds: R records, see `RoundConfig`.
    final_queries, final_pow_bits: queries on the last codeword c_R, and the grinding before them.
    final_sumcheck_rounds: m = n - k_0 - ... - k_R <= 6; the final polynomial has 2^m values.
    final_folding_pow_bits: grinding before each challenge of the closing sumcheck.
    final_log_domain_size: D_R; final_log_folded_domain_size: D_R - k_R, the index width of the final queries.
    """

    num_variables: int
    log_inv_rate: int
    security_level: int
    pow_bits: int
    soundness: Soundness
    folding: FoldingRule
    folding_schedule: tuple[int, ...]
    round_log_inv_rates: tuple[int, ...]
    commitment_ood_samples: int
    starting_folding_pow_bits: int
    rounds: tuple[RoundConfig, ...]
    final_queries: int
    final_pow_bits: int
    final_sumcheck_rounds: int
    final_folding_pow_bits: int
    final_log_domain_size: int
    final_log_folded_domain_size: int

    @property
    def final_num_draws(self) -> int:
        """`RoundConfig.num_draws` of the final queries."""
        return _num_draws(self.final_queries, self.final_log_folded_domain_size)

    @property
    def final_num_opened(self) -> int:
        """`RoundConfig.num_opened` of the final queries."""
        return _num_opened(self.final_queries, self.final_log_folded_domain_size)

    @property
    def pow_by_phase(self) -> tuple[tuple[str, int], ...]:
        """(phase, grinding bits) of every phase that may grind, in transcript order."""
        phases = [("initial folding", self.starting_folding_pow_bits)]
        for i, record in enumerate(self.rounds):
            phases += [(f"round {i} queries", record.pow_bits), (f"round {i} folding", record.folding_pow_bits)]
        phases += [("final queries", self.final_pow_bits), ("final folding", self.final_folding_pow_bits)]
        return tuple(phases)

    @property
    def max_pow_bits(self) -> int:
        """The largest grind of any phase."""
        return max(bits for _, bits in self.pow_by_phase)

    def claims_bits(self, total_claims: int) -> float:
        """Error of batching `total_claims` claims, out-of-domain ones included, in bits; the field counted as 123."""
        field_bits = float(bounds.EXT_FIELD_BITS_CEIL - 1)
        return bounds.initial_claims_bits(
            self.soundness, self.num_variables, self.log_inv_rate, total_claims, field_bits
        )

    def check_claims(self, num_claims: int) -> None:
        """Refuse a statement of `num_claims` column claims (current and next, all batches) that costs too many bits.

        The batching challenge has no grind in front of it, so its error must reach the target by itself. The
        commitment's out-of-domain claims are added here. The derivation does not run this check; prover and verifier
        do, before anything is drawn. Raises ParameterError InitialClaimsBelowTarget.
        """
        total = index_in_range("num_claims", num_claims, high=2**63) + self.commitment_ood_samples
        bits = self.claims_bits(total)
        if bits < self.security_level:
            raise ParameterError(
                "InitialClaimsBelowTarget",
                f"combining {total} initial claims ({num_claims} opened columns, {self.commitment_ood_samples} "
                f"out-of-domain) keeps {bits:.2f} bits under soundness {self.soundness}, "
                f"{self.security_level - bits:.2f} below the target of {self.security_level}; "
                f"open fewer columns or aim at no more than {max(0, math.floor(bits))} bits",
            )


def _num_draws(num_queries: int, log_folded_domain_size: int) -> int:
    return 0 if num_queries >= 2**log_folded_domain_size else num_queries


def _num_opened(num_queries: int, log_folded_domain_size: int) -> int:
    return min(num_queries, 2**log_folded_domain_size)
