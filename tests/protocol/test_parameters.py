"""Parameter derivation against p3-whir 0.8.0: 936 configurations, every refusal, and what must hold for any choice.

vectors/configs.txt is described in vectors/README_configs.md.
"""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whir_mlx.errors import ParameterError
from whir_mlx.protocol import parameters
from whir_mlx.protocol.folding import Constant, ConstantFromSecondRound, PerRound, folding_rule
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning, Soundness, derive_config

CONFIGS = Path(__file__).parents[1] / "vectors" / "configs.txt"
REGIMES = {"U": "UniqueDecoding", "J": "JohnsonBound", "C": "CapacityBound"}


def read_configs():
    """(keyword arguments, expected fields after the first, or None where the crate refuses) of every line."""
    for line in CONFIGS.read_text().splitlines():
        arguments, *fields = line.split(" | ")
        n, fold, rate, reduction, level, pow_bits, regime = arguments.split()
        choice = {
            "num_variables": max(int(n), int(fold)),
            "folding_factor": int(fold),
            "log_inv_rate": int(rate),
            "security_level": int(level),
            "pow_bits": int(pow_bits),
            "soundness": REGIMES[regime],
        }
        expected = None if fields == ["error"] else [[int(x) for x in field.split()] for field in fields]
        if reduction != "-":
            choice["round_log_inv_rates"] = rates = []
            schedule = Constant(int(fold)).schedule(choice["num_variables"])
            for i, factor in enumerate(schedule[:-1]):
                rates.append((rates[-1] if rates else int(rate)) + factor - (int(reduction) if i == 0 else 1))
        yield choice, expected


def fields_of(config):
    """A configuration in the columns of configs.txt."""
    whole = [config.num_variables, config.commitment_ood_samples, config.starting_folding_pow_bits]
    rounds = [
        [
            r.folding_factor,
            r.log_inv_rate,
            r.num_variables,
            r.log_domain_size,
            r.log_folded_domain_size,
            r.ood_samples,
            r.num_queries,
            r.pow_bits,
            r.folding_pow_bits,
        ]
        for r in config.rounds
    ]
    final = [config.final_queries, config.final_pow_bits, config.final_sumcheck_rounds, config.final_folding_pow_bits]
    return [whole, *rounds, [config.folding_schedule[-1], *final, config.max_pow_bits]]


def derive_quietly(**choice):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConjecturedSoundnessWarning)
        return derive_config(**choice)


def kind_of(**choice):
    with pytest.raises(ParameterError) as caught:
        derive_quietly(**choice)
    return caught.value.kind


def test_every_vector_configuration():
    counts = {"accepted": 0, "refused": 0, "claims refused": 0}
    for choice, expected in read_configs():
        if expected is None:
            assert kind_of(**choice) == "PowBitsExceedBudget", choice
            counts["refused"] += 1
            continue
        config = derive_quietly(**choice)
        assert fields_of(config) == expected, choice
        assert config.round_log_inv_rates == tuple(r.log_inv_rate for r in config.rounds)
        assert config.folding_schedule[:-1] == tuple(r.folding_factor for r in config.rounds)
        counts["accepted"] += 1
        try:
            config.check_claims(1)
        except ParameterError as error:
            assert error.kind == "InitialClaimsBelowTarget"
            assert config.soundness is Soundness.CAPACITY
            counts["claims refused"] += 1
    assert counts == {"accepted": 866, "refused": 70, "claims refused": 43}


def test_defaults_at_2_to_the_20():
    config = derive_config(20)
    assert config == derive_config(
        20, folding_factor=Constant(4), log_inv_rate=1, security_level=100, pow_bits=20, soundness=Soundness.JOHNSON
    )
    assert config.folding_schedule == (4, 4, 4, 4) and config.round_log_inv_rates == (4, 7, 10)
    assert [r.num_queries for r in config.rounds] + [config.final_queries] == [187, 42, 24, 17]
    assert [r.pow_bits for r in config.rounds] + [config.final_pow_bits] == [20, 19, 18, 17]
    assert [config.starting_folding_pow_bits] + [r.folding_pow_bits for r in config.rounds] == [10, 12, 14, 16]
    assert [r.log_folded_domain_size for r in config.rounds] + [config.final_log_folded_domain_size] == [17, 16, 15, 14]
    assert config.final_log_domain_size == 18 and config.final_sumcheck_rounds == 4


def test_saturated_queries_open_every_row_and_draw_nothing():
    # 4 variables folded once by 1 at rate 1/2: 16 rows, 187 queries.
    small = derive_config(4, folding_factor=1)
    assert (small.final_queries, small.final_num_draws, small.final_num_opened) == (187, 0, 16)
    # 8 variables folded to 7 at rate 1/2: 256 rows against 266 queries in the round, 128 in the end.
    config = derive_config(8, folding_factor=(1, 1), security_level=110, pow_bits=0, soundness="unique")
    (round_0,) = config.rounds
    assert (round_0.num_queries, round_0.num_draws, round_0.num_opened) == (266, 0, 256)
    assert (config.final_queries, config.final_num_draws, config.final_num_opened) == (266, 0, 128)


@pytest.mark.parametrize("queries_minus_rows", [-1, 0, 1])
def test_saturation_starts_at_equality(queries_minus_rows):
    config = derive_config(20)
    round_0 = replace(config.rounds[0], log_folded_domain_size=7, num_queries=128 + queries_minus_rows)
    final = replace(config, final_log_folded_domain_size=7, final_queries=128 + queries_minus_rows)
    draws, opened = (127, 127) if queries_minus_rows < 0 else (0, 128)
    assert (round_0.num_draws, round_0.num_opened) == (draws, opened)
    assert (final.final_num_draws, final.final_num_opened) == (draws, opened)


@pytest.mark.parametrize(
    ("kind", "choice"),
    [
        ("NonRedundantStartingRate", {"num_variables": 16, "log_inv_rate": 0}),
        ("ZeroFactor", {"num_variables": 16, "folding_factor": 0}),
        ("ZeroFactor", {"num_variables": 16, "folding_factor": (4, 0, 4)}),
        ("ZeroFactor", {"num_variables": 16, "folding_factor": ConstantFromSecondRound(4, 0)}),
        ("ZeroFactor", {"num_variables": 5, "folding_factor": ConstantFromSecondRound(4, 0)}),
        ("TooLarge", {"num_variables": 3}),
        ("TooLarge", {"num_variables": 0}),
        ("TooLarge", {"num_variables": 16, "folding_factor": ConstantFromSecondRound(17, 4)}),
        ("EmptySchedule", {"num_variables": 16, "folding_factor": ()}),
        # A folding schedule that folds too little once panicked, one that folds too much once underflowed.
        ("InsufficientFolding", {"num_variables": 16, "folding_factor": (4, 4)}),
        ("TooLarge", {"num_variables": 16, "folding_factor": (4, 20)}),
        ("TooLarge", {"num_variables": 16, "folding_factor": (4, 13)}),
        ("InitialDomainExceedsUsize", {"num_variables": 63, "folding_factor": 40}),
        ("FoldedDomainExceedsCapacity", {"num_variables": 31}),
        ("FoldedDomainExceedsCapacity", {"num_variables": 62, "folding_factor": 35}),
        ("RoundRateCountMismatch", {"num_variables": 16, "round_log_inv_rates": (4,)}),
        ("RoundRateCountMismatch", {"num_variables": 16, "round_log_inv_rates": (4, 7, 10)}),
        ("NonRedundantRoundRate", {"num_variables": 16, "round_log_inv_rates": (4, 0)}),
        ("FoldingFactorCountMismatch", {"num_variables": 16, "folding_factor": (4, 6, 1)}),
        ("OodSamplesInfeasible", {"num_variables": 16, "security_level": 8000}),
        ("RateGrowsDomain", {"num_variables": 16, "round_log_inv_rates": (6, 7)}),
        ("RateGrowsDomain", {"num_variables": 16, "round_log_inv_rates": (4, 9)}),
        ("ZeroQueries", {"num_variables": 16, "security_level": 20}),
        ("ZeroQueries", {"num_variables": 16, "security_level": 0, "pow_bits": 0}),
        ("PowBitsExceedBudget", {"num_variables": 23}),
        ("PowBitsExceedBudget", {"num_variables": 20, "pow_bits": 10}),
    ],
)
def test_refusals(kind, choice):
    assert kind_of(**choice) == kind


def test_the_first_of_several_faults_is_reported():
    """Faults are put right one by one, in the order of the crate's checks."""
    factors = (1, 0, 99)
    choice = {"num_variables": 64, "log_inv_rate": 0, "folding_factor": factors, "round_log_inv_rates": (0,)}
    choice |= {"security_level": 9000, "pow_bits": 30}
    seen = []
    for change in (
        {},
        {"log_inv_rate": 1},
        {"folding_factor": (1, 99)},
        {"folding_factor": (1, 57)},
        {"folding_factor": (1, 57, 1)},
        {"num_variables": 60, "folding_factor": (1, 55, 1)},
        {"num_variables": 28, "folding_factor": (2, 20, 1)},
        {"round_log_inv_rates": (0,)},
        {"round_log_inv_rates": (4,)},
        {"folding_factor": (2, 20)},
        {"security_level": 30},
        {"round_log_inv_rates": (3,)},
        {"security_level": 128},
    ):
        choice |= change
        seen.append(kind_of(**choice))
    assert seen == [
        "NonRedundantStartingRate",
        "ZeroFactor",
        "TooLarge",
        "InitialDomainExceedsUsize",
        "InitialDomainExceedsUsize",
        "FoldedDomainExceedsCapacity",
        "NonRedundantRoundRate",
        "NonRedundantRoundRate",
        "FoldingFactorCountMismatch",
        "OodSamplesInfeasible",
        "RateGrowsDomain",
        "ZeroQueries",
        "PowBitsExceedBudget",
    ]


@pytest.mark.parametrize(
    ("choice", "error", "words"),
    [
        ({"num_variables": True}, TypeError, "num_variables"),
        ({"num_variables": 20.0}, TypeError, "num_variables"),
        ({"num_variables": "20"}, TypeError, "num_variables"),
        ({"num_variables": -1}, ValueError, "num_variables"),
        ({"num_variables": 10**9}, ValueError, "num_variables"),
        ({"folding_factor": -4}, ValueError, "folding_factor"),
        ({"folding_factor": 4.0}, TypeError, "folding_factor"),
        ({"folding_factor": False}, TypeError, "folding_factor"),
        ({"folding_factor": "44"}, TypeError, "folding_factor"),
        ({"folding_factor": {4, 5}}, TypeError, "folding_factor"),
        ({"folding_factor": (4, 4.0)}, TypeError, r"folding_factor\[1\]"),
        ({"folding_factor": None}, TypeError, "folding_factor"),
        ({"log_inv_rate": -1}, ValueError, "log_inv_rate"),
        ({"log_inv_rate": None}, TypeError, "log_inv_rate"),
        ({"round_log_inv_rates": 4}, TypeError, "round_log_inv_rates"),
        ({"round_log_inv_rates": (4, -7)}, ValueError, r"round_log_inv_rates\[1\]"),
        ({"security_level": -1}, ValueError, "security_level"),
        ({"security_level": True}, TypeError, "security_level"),
        ({"pow_bits": 31}, ValueError, r"pow_bits must be in 0\.\.30, got 31"),
        ({"pow_bits": -1}, ValueError, "pow_bits"),
        ({"soundness": "list"}, ValueError, "unique, johnson, capacity"),
        ({"soundness": None}, ValueError, "soundness"),
    ],
)
def test_arguments_of_the_wrong_kind_or_range(choice, error, words):
    with pytest.raises(error, match=words) as caught:
        derive_config(**({"num_variables": 20} | choice))
    assert not isinstance(caught.value, ParameterError)


def test_numpy_integers_and_arrays_are_integers():
    config = derive_config(np.int64(20), folding_factor=np.array([4, 4, 4, 4]), security_level=np.uint8(100))
    assert config.folding == PerRound((4, 4, 4, 4))
    assert type(config.num_variables) is int and type(config.folding_schedule[0]) is int


@pytest.mark.parametrize(
    ("rule", "num_variables", "schedule", "label"),
    [
        (Constant(8), 15, (8, 7), (0, 8)),
        (Constant(4), 6, (4,), (0, 4)),
        (Constant(4), 10, (4,), (0, 4)),
        (Constant(4), 11, (4, 4), (0, 4)),
        (Constant(4), 4, (4,), (0, 4)),
        (ConstantFromSecondRound(8, 8), 15, (8, 7), (1, 8, 8)),
        (ConstantFromSecondRound(2, 5), 4, (2,), (1, 2, 5)),
        (ConstantFromSecondRound(1, 5), 20, (1, 5, 5, 5), (1, 1, 5)),
        (PerRound((3, 2)), 10, (3, 2), (2, 2, 3, 2)),
        (PerRound((3, 2, 2)), 11, (3, 2), (2, 3, 3, 2, 2)),
    ],
)
def test_schedules(rule, num_variables, schedule, label):
    assert rule.schedule(num_variables) == schedule
    assert rule.label == label


def test_folding_rule_reads_integers_sequences_and_rules():
    assert folding_rule(4) == Constant(4)
    assert folding_rule([4, 2]) == PerRound((4, 2))
    rule = ConstantFromSecondRound(4, 2)
    assert folding_rule(rule) is rule


def test_soundness_names_and_labels():
    for label, (name, letter) in enumerate((("unique", "U"), ("johnson", "J"), ("capacity", "C"))):
        crate_name = REGIMES[letter]
        regime = Soundness(name)
        assert Soundness(crate_name) is regime and Soundness(regime) is regime
        assert (regime.label, regime.plonky3_name, str(regime), f"{regime}") == (label, crate_name, name, name)


def test_the_capacity_conjecture_takes_an_explicit_word_and_one_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert derive_config(16).soundness is Soundness.JOHNSON
        with pytest.raises(ParameterError, match="nearest accepted") as refusal:
            derive_config(23)
        with pytest.raises(ParameterError):
            derive_config(24, soundness="capacity", folding_factor=6)
        assert caught == []
        derive_config(16, soundness="capacity")
    assert "capacity" not in str(refusal.value)
    assert [w.category for w in caught] == [ConjecturedSoundnessWarning]
    assert "2025/2046" in str(caught[0].message)
    assert caught[0].filename == __file__


SUGGESTION = re.compile(r"(pow_bits|security_level|soundness|log_inv_rate|folding_factor)='?(\w+)'?")


def suggestions(message):
    for text in message.split("nearest accepted: ")[1].split("; "):
        pairs = SUGGESTION.findall(text)
        assert pairs, text
        yield {name: int(value) if value.isdigit() else value for name, value in pairs}


@pytest.mark.parametrize(
    ("choice", "short", "named"),
    [
        ({"num_variables": 23}, "needs 21 bits of grinding in the round 3 folding, 1 more", {"pow_bits": 21}),
        ({"num_variables": 27}, "needs 27 bits of grinding in the round 4 folding, 7 more", {"security_level": 93}),
        ({"num_variables": 20, "pow_bits": 10}, "6 more than the budget pow_bits=10", {"pow_bits": 16}),
        ({"num_variables": 20, "security_level": 128}, "24 more", {"security_level": 114, "pow_bits": 30}),
        ({"num_variables": 23, "round_log_inv_rates": (4, 7, 10, 13)}, "1 more", {"security_level": 99}),
    ],
)
def test_a_refusal_says_by_how_much_and_names_choices_that_are_accepted(choice, short, named):
    with pytest.raises(ParameterError) as caught:
        derive_config(**choice)
    message = str(caught.value)
    assert short in message
    found = list(suggestions(message))
    assert named in found
    for changes in found:
        derive_config(**(choice | changes)).check_claims(1)
        # Nearest: one step back towards the asked-for number is refused.
        for name, step in (("pow_bits", -1), ("security_level", 1)):
            if list(changes) == [name]:
                assert kind_of(**(choice | {name: changes[name] + step})) == "PowBitsExceedBudget"


def test_a_refusal_costs_a_bounded_number_of_derivations(monkeypatch):
    """Counted, not timed: the defaults, the longest schedule (20 rounds), and targets far out of reach."""
    calls = []
    derive = parameters._derive
    monkeypatch.setattr(parameters, "_derive", lambda choice: calls.append(choice) or derive(choice))
    for level in (100, 128, 1000):
        for soundness in Soundness:
            for factor in (1, 4, 8):
                calls.clear()
                choice = {"folding_factor": factor, "security_level": level, "soundness": soundness}
                assert kind_of(num_variables=26, pow_bits=0, **choice) == "PowBitsExceedBudget"
                assert 1 < len(calls) < 60, choice


def test_the_defaults_end_at_22_variables():
    assert derive_config(22).max_pow_bits <= 20
    assert [kind_of(num_variables=n) for n in range(23, 31)] == ["PowBitsExceedBudget"] * 8


def test_claims_budget():
    # Johnson: 1 / (2 eta sqrt(rho)) = 10 / rho words in the list, so (N - 1) * 20 <= 2^(123 - 100).
    config = derive_config(20)
    list_size = 20
    most = int(2 ** (123 - 100) / list_size) + 1 - config.commitment_ood_samples
    derive_config(4).check_claims(0)
    config.check_claims(1)
    config.check_claims(most - most // 1000)
    with pytest.raises(ParameterError, match=r"0\.00 below the target of 100") as caught:
        config.check_claims(most + most // 1000)
    assert caught.value.kind == "InitialClaimsBelowTarget"


def test_claims_budget_refuses_capacity_at_100_bits():
    config = derive_quietly(num_variables=20, soundness="capacity")
    assert config.commitment_ood_samples == 2
    with pytest.raises(ParameterError, match=r"keeps 95\.68 bits .*, 4\.32 below the target of 100"):
        config.check_claims(1)
    for bad, error in ((-1, ValueError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="num_claims"):
            config.check_claims(bad)


KINDS = {
    "NonRedundantStartingRate",
    "ZeroFactor",
    "TooLarge",
    "EmptySchedule",
    "InsufficientFolding",
    "InitialDomainExceedsUsize",
    "FoldedDomainExceedsCapacity",
    "RoundRateCountMismatch",
    "NonRedundantRoundRate",
    "FoldingFactorCountMismatch",
    "RateGrowsDomain",
    "ZeroQueries",
    "PowBitsExceedBudget",
}

rules = st.one_of(
    st.integers(0, 9),
    st.builds(ConstantFromSecondRound, st.integers(0, 9), st.integers(0, 9)),
    st.lists(st.integers(0, 9), max_size=6),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    num_variables=st.integers(0, 40),
    folding_factor=rules,
    log_inv_rate=st.integers(0, 5),
    round_log_inv_rates=st.none() | st.lists(st.integers(0, 12), max_size=4),
    security_level=st.integers(0, 130),
    pow_bits=st.integers(0, 30),
    soundness=st.sampled_from(Soundness),
)
def test_any_choice_is_refused_by_name_or_gives_a_consistent_schedule(**choice):
    try:
        config = derive_quietly(**choice)
    except ParameterError as error:
        assert error.kind in KINDS
        return
    schedule = config.folding_schedule
    assert sum(schedule) + config.final_sumcheck_rounds == config.num_variables
    assert config.final_sumcheck_rounds <= 6
    assert len(config.rounds) == len(schedule) - 1 == len(config.round_log_inv_rates)
    assert 0 <= config.max_pow_bits <= config.pow_bits
    variables, log_domain, rate = config.num_variables, config.num_variables + config.log_inv_rate, config.log_inv_rate
    for i, record in enumerate(config.rounds):
        assert record.log_domain_size == log_domain == variables + rate
        variables -= schedule[i]
        assert record.num_variables == variables
        assert (record.folding_factor, record.next_folding_factor) == schedule[i : i + 2]
        assert record.log_folded_domain_size == log_domain - schedule[i] == variables + rate
        assert record.num_opened == (record.num_draws or 2**record.log_folded_domain_size)
        assert variables + record.log_inv_rate <= log_domain, "a domain never grows"
        rate = record.log_inv_rate
        log_domain = variables + rate
    assert config.final_log_domain_size == log_domain
    assert config.final_log_folded_domain_size == log_domain - schedule[-1]
    assert (config.soundness is Soundness.UNIQUE) == (config.commitment_ood_samples == 0)
    assert config.final_queries > 0
