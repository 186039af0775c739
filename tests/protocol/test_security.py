"""The security report: its terms against the probabilities they stand for, its sums, and what it must never claim."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whir_mlx.errors import ParameterError
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning, derive_config
from whir_mlx.protocol.security import EXT_FIELD_BITS, security_report
from whir_mlx.protocol.security_bounds import Soundness

FIELD_SIZE = 2013265921**4


def log2(fraction):
    """log2 of a positive Fraction of any size."""
    return math.log2(fraction.numerator) - math.log2(fraction.denominator)


def unique_decoding_probabilities(config, num_claims):
    """All error probabilities of a unique-decoding run, as exact fractions, from the textbook bounds.

    The list is one word. Combining N claims: (N - 1) / |F|. A fold: domain / |F| and a quadratic's 2 / |F|, each times
    its grind. t queries: ((1 + rho) / 2)^t. Combining t constraints: 2 t / |F|.
    """

    def grind(bits):
        return Fraction(1, 2**bits)

    def folds(variables, rate, count, pow_bits):
        return [Fraction(2 ** (variables + rate), FIELD_SIZE) * grind(pow_bits)] * count + [
            Fraction(2, FIELD_SIZE) * grind(pow_bits)
        ] * count

    def queries(rate, count, pow_bits):
        return Fraction(2**rate + 1, 2 ** (rate + 1)) ** count * grind(pow_bits)

    rate = config.log_inv_rate
    total = [Fraction(num_claims - 1, FIELD_SIZE)] if num_claims > 1 else []
    total += folds(config.num_variables, rate, config.folding_schedule[0], config.starting_folding_pow_bits)
    for r in config.rounds:
        total.append(queries(rate, r.num_queries, r.pow_bits))
        total.append(Fraction(2 * r.num_queries, FIELD_SIZE) * grind(r.pow_bits))
        total += folds(r.num_variables, r.log_inv_rate, r.next_folding_factor, r.folding_pow_bits)
        rate = r.log_inv_rate
    total.append(queries(rate, config.final_queries, config.final_pow_bits))
    total += [Fraction(2, FIELD_SIZE) * grind(config.final_folding_pow_bits)] * config.final_sumcheck_rounds
    return total


@pytest.mark.parametrize("num_claims", [0, 1, 2, 1000])
@pytest.mark.parametrize(
    "choice",
    [
        {"num_variables": 6},  # no round
        {"num_variables": 10, "folding_factor": 5, "log_inv_rate": 2},  # closing rounds
        {"num_variables": 20},  # grinding before queries only
        {"num_variables": 24, "folding_factor": (6, 6, 6), "security_level": 110, "pow_bits": 22},  # and before folds
    ],
)
def test_unique_decoding_is_the_sum_of_its_textbook_probabilities(choice, num_claims):
    config = derive_config(**choice, soundness="unique")
    probabilities = unique_decoding_probabilities(config, num_claims)
    report = security_report(config, num_claims)
    assert report.union_bits == pytest.approx(-log2(sum(probabilities)), abs=1e-9)
    assert report.min_bits == pytest.approx(-log2(max(probabilities)), abs=1e-9)
    assert sum(term.count for term in report.terms) == len(probabilities)


def test_johnson_terms_are_the_probabilities_they_stand_for():
    """n = 20, rate 1/2: a list of 10 / rho = 20 words, 8 N (10.5)^3 / (3 rho-) bad challenges a fold."""
    config = derive_config(20)
    report = security_report(config, 5)
    terms = {(term.phase, term.error): term for term in report.terms}
    domain, list_size = 2**21, 20
    lines = Fraction(8 * domain * 21**3, 3 * 8) / Fraction(2**20 - 1, domain)
    folds = config.folding_schedule[0]
    gap, sumcheck = terms["initial", "folding proximity gap"], terms["initial", "folding sumcheck"]
    assert gap.bits == pytest.approx(-log2(lines / FIELD_SIZE / 2**config.starting_folding_pow_bits))
    assert sumcheck.bits == pytest.approx(-log2(Fraction(2 * list_size, FIELD_SIZE * 2**10)))
    assert gap.count == sumcheck.count == folds and gap.pow_bits == config.starting_folding_pow_bits == 10
    # Two words of the list agree at all s out-of-domain points: L^2 / 2 (n-variate degree / |F|)^s.
    ood = terms["commitment", "out-of-domain samples"]
    assert config.commitment_ood_samples == 2
    assert ood.bits == pytest.approx(-log2(Fraction(list_size**2, 2) * Fraction(2**20, FIELD_SIZE) ** 2))
    batching = terms["initial", "claim batching"]
    assert batching.bits == pytest.approx(-log2(Fraction((5 + 2 - 1) * list_size, FIELD_SIZE)))
    # Round 0 queries the committed code with the old rate, 1/2; its samples and combination use the new one, 1/16.
    queries, combination = terms["round 0", "queries"], terms["round 0", "combination"]
    assert queries.bits == pytest.approx(-187 * math.log2(1.05 / math.sqrt(2)) + 20)
    assert combination.bits == pytest.approx(-log2(Fraction(2 * (187 + 2) * 160, FIELD_SIZE * 2**20)))
    assert terms["final", "queries"].bits == pytest.approx(-17 * math.log2(1.05 / 2**5) + 17)


def test_every_phase_is_in_the_report():
    report = security_report(derive_config(20))
    folding = ("folding proximity gap", "folding sumcheck")
    round_terms = ("out-of-domain samples", "queries", "combination", *folding)
    assert [(term.phase, term.error) for term in report.terms] == [
        ("commitment", "out-of-domain samples"),
        ("initial", "claim batching"),
        *(("initial", error) for error in folding),
        *((f"round {i}", error) for i in range(3) for error in round_terms),
        ("final", "queries"),
        ("final", "sumcheck"),
    ]


def test_composed_bits_lie_where_the_crate_says():
    """p3-whir 0.8.0 `pcs/security.rs`, `composed_security_charges_every_phase`: between 20 and 32 bits."""
    config = derive_config(12, soundness="unique", security_level=32, pow_bits=0)
    assert 20.0 < security_report(config).bits < 32.0


def test_the_headline_is_the_union_and_the_weakest_term_is_named():
    report = security_report(derive_config(20))
    assert report.bits == report.union_bits < report.min_bits == report.weakest.bits
    assert report.weakest.error == "folding proximity gap"
    assert report.short_by == pytest.approx(100 - report.bits)
    assert report.union_bits == pytest.approx(95.770, abs=1e-3)
    assert report.min_bits == pytest.approx(100.030, abs=1e-3)


def test_a_query_budget_is_not_called_security():
    """n = 20, rate 1/2, fold 4, 100 bits, Johnson, 10 bits of grinding: refused; forced through, shown as short."""
    with pytest.raises(ParameterError, match="6 more than the budget pow_bits=10") as caught:
        derive_config(20, pow_bits=10)
    assert caught.value.kind == "PowBitsExceedBudget"
    # The same schedule with no folding grind above 10 bits: queries alone still say 100.
    config = derive_config(20, pow_bits=16)
    rounds = tuple(replace(r, folding_pow_bits=min(10, r.folding_pow_bits)) for r in config.rounds)
    report = security_report(replace(config, rounds=rounds))
    assert min(term.bits for term in report.terms if term.error == "queries") >= 100
    assert report.bits < report.min_bits < 95
    assert report.weakest.error == "folding proximity gap"
    assert report.short_by > 5


def test_claims_that_miss_the_target_are_shown():
    config = derive_config(20)
    with pytest.raises(ParameterError):
        config.check_claims(10**7)
    report = security_report(config, 10**7)
    assert report.weakest.error == "claim batching" and report.min_bits < 100


def test_capacity_is_marked_as_conjectured():
    with pytest.warns(ConjecturedSoundnessWarning):
        config = derive_config(12, soundness="capacity", security_level=60)
    assert security_report(config).conjectured
    assert not security_report(derive_config(12)).conjectured


def test_a_hopeless_statement_is_worth_zero_bits_not_fewer():
    config = derive_config(20, security_level=40, pow_bits=0)
    assert config.commitment_ood_samples == 1
    report = security_report(replace(config, final_queries=0), 2**63)
    assert report.union_bits < 0 and report.bits == 0.0 and report.short_by == 40


def test_num_claims_is_a_count():
    for bad, error in ((-1, ValueError), (1.0, TypeError), (True, TypeError), (None, TypeError)):
        with pytest.raises(error, match="num_claims"):
            security_report(derive_config(12), bad)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    num_variables=st.integers(1, 26),
    folding_factor=st.integers(1, 8),
    log_inv_rate=st.integers(1, 4),
    security_level=st.integers(20, 110),
    pow_bits=st.integers(0, 30),
    soundness=st.sampled_from([Soundness.UNIQUE, Soundness.JOHNSON]),
    num_claims=st.integers(0, 2000),
)
def test_every_accepted_choice_reaches_its_target_in_each_term(num_claims, **choice):
    try:
        config = derive_config(**choice)
        config.check_claims(num_claims)
    except ParameterError:
        assume(False)
    report = security_report(config, num_claims)
    # The derivation credits the field with 124 bits where it has 123.63 (as often as it was sampled, out of domain).
    slack = 124 - EXT_FIELD_BITS
    for term in report.terms:
        allowed = slack * (3 if term.error == "out-of-domain samples" else 1)
        assert term.bits >= config.security_level - allowed - 1e-9, term
    occurrences = sum(term.count for term in report.terms)
    assert report.bits <= report.min_bits <= report.union_bits + math.log2(occurrences) + 1e-9
    assert security_report(config, num_claims + 1).union_bits <= report.union_bits
