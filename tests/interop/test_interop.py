"""The published crate beside this package: each verifies the other's proofs, and they make the same ones."""

import json
import random

import numpy as np
import pytest

from tests.proving import FULL_ARGS, config_of, prove_here, verify_here
from whir_mlx.errors import ParameterError
from whir_mlx.field.constants import P
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json, to_plonky3_json

pytestmark = pytest.mark.interop


def read(made: dict):
    """(commitment, proof) of the crate's answer."""
    return from_plonky3_json(json.dumps({"format": FORMAT, "commitment": made["commitment"], "proof": made["proof"]}))


def written(commitment, proof) -> tuple:
    """The crate's JSON objects of a commitment and a proof."""
    document = json.loads(to_plonky3_json(commitment, proof))
    return document["commitment"], document["proof"]


def refusal(answer: dict) -> str:
    """The innermost class of the crate's refusal: `FoldingFactor(ZeroFactor { .. })` is ZeroFactor."""
    assert not answer["ok"] and "panic" not in answer, answer
    return answer["error"].split("(")[-1].rstrip(")")


def check_both_ways(crate, changes: dict, tables=None) -> None:
    """One statement: the same configuration, commitment, proof and transcript, and each verifier takes the other's."""
    case = prove_here(changes, tables=tables)
    request = {**case.args, "data": None if tables is None else [table.tolist() for table in tables]}
    made = crate.prove(request)
    assert made["ok"], made
    assert configuration(case.arguments["config"]) == made["config"]
    commitment, proof = read(made)
    assert commitment == case.commitment
    assert proof == case.proof
    assert case.tail == made["tail"]

    accepted = crate.verify(request, *written(case.commitment, case.proof))
    assert accepted["ok"], accepted
    assert accepted["tail"] == case.tail
    assert accepted["evals"] == made["proof"]["evals"]

    # Several threads grind at once, so the crate may take other witnesses than the smallest.
    parallel = crate.prove(request, threads=4)
    commitment, proof = read(parallel)
    assert commitment == case.commitment
    verified = verify_here(case.arguments, commitment, proof)
    assert verified.evaluations == proof.evaluations
    assert verified.tail == parallel["tail"]


def configuration(config) -> dict:
    """A WhirConfig under the crate's names."""
    rounds = [
        {
            "pow_bits": record.pow_bits,
            "folding_pow_bits": record.folding_pow_bits,
            "num_queries": record.num_queries,
            "ood_samples": record.ood_samples,
            "num_variables": record.num_variables,
            "folding_factor": record.folding_factor,
            "log_inv_rate": record.log_inv_rate,
            "domain_size": 1 << record.log_domain_size,
            "log_folded_domain_size": record.log_folded_domain_size,
        }
        for record in config.rounds
    ]
    return {
        "num_variables": config.num_variables,
        "commitment_ood_samples": config.commitment_ood_samples,
        "starting_folding_pow_bits": config.starting_folding_pow_bits,
        "folding_schedule": list(config.folding_schedule),
        "round_log_inv_rates": list(config.round_log_inv_rates),
        "rounds": rounds,
        "final_queries": config.final_queries,
        "final_pow_bits": config.final_pow_bits,
        "final_sumcheck_rounds": config.final_sumcheck_rounds,
        "final_folding_pow_bits": config.final_folding_pow_bits,
        "max_pow_bits": config.max_pow_bits,
        "within_pow_budget": True,
    }


# ---- a spread of statements ------------------------------------------------------------------------------------------

# One column of 2^n rows, n from 1 to 18: layouts alternate, trees, caps, folds and soundness take turns.
SIZES = {
    f"n {n}": {
        "tables": [[n, 1]],
        "layout": ("suffix", "prefix")[n % 2],
        "tree": ("w16", "ary4", "w24")[n % 3],
        "cap": n % 4,
        "fold": min(n, 1 + n % 5),
        "soundness": ("JohnsonBound", "UniqueDecoding")[n % 4 == 1],
        "security": 40 if n > 9 else 24,
        "pow": 10,
        "next": n % 5 == 2,
        "seed": n,
    }
    for n in range(1, 19)
}

STATEMENTS = {
    **SIZES,
    "defaults of the crate at 2^14": {"tables": [[14, 1]], "fold": 4, "security": 100, "pow": 15},
    "capacity": {"tables": [[12, 1]], "fold": 3, "soundness": "CapacityBound", "security": 60, "pow": 10},
    "unique, prefix, arity 4": {
        "tables": [[11, 2]],
        "fold": 3,
        "soundness": "UniqueDecoding",
        "layout": "prefix",
        "tree": "ary4",
        "cap": 2,
        "security": 50,
        "pow": 10,
    },
    "64 columns": {"tables": [[5, 64]], "fold": 4, "next": True, "security": 40, "pow": 8},
    "100 columns, prefix": {"tables": [[3, 100]], "fold": 3, "layout": "prefix", "points": 2, "tree": "w24", "cap": 1},
    "tables of all sizes": {"tables": [[0, 2], [7, 3], [10, 1], [7, 1], [3, 5]], "fold": 3, "next": True},
    "tables of all sizes, prefix": {
        "tables": [[10, 1], [0, 2], [7, 3], [3, 5], [7, 1]],
        "fold": 4,
        "layout": "prefix",
        "points": 2,
        "tree": "ary4",
    },
    "successors and subsets": {
        "tables": [[8, 4], [6, 3]],
        "fold": 3,
        "schedule": [
            [{"current": [3, 1], "next": [0]}, {"next": [2, 3]}],
            [{"current": [1]}, {"current": [2, 0], "next": [1]}],
        ],
    },
    "successors and subsets, prefix": {
        "tables": [[6, 3], [8, 2]],
        "fold": 2,
        "layout": "prefix",
        "schedule": [[{"next": [2]}], [{"current": [1, 0], "next": [1]}, {"current": [0]}]],
    },
    "a table that is not opened": {"tables": [[8, 1], [7, 2]], "schedule": [[], [{"current": [0]}]]},
    "nothing opened": {"tables": [[9, 1]], "schedule": [[]], "soundness": "UniqueDecoding"},
    "prescribed": {"tables": [[10, 2], [4, 1]], "fold": 3, "prescribed": True, "points": 2, "next": True},
    "prescribed, prefix": {"tables": [[10, 2], [1, 1]], "fold": 3, "prescribed": True, "layout": "prefix"},
    "per round": {"tables": [[15, 1]], "folds": [5, 3, 2], "security": 50, "pow": 10},
    "per round, prefix, all folded": {"tables": [[12, 1]], "folds": [2, 3, 7], "layout": "prefix", "tree": "w24"},
    "second fold": {"tables": [[14, 1]], "fold": 2, "second_fold": 5, "security": 40, "pow": 10},
    "second fold, prefix": {"tables": [[13, 1]], "fold": 5, "second_fold": 1, "layout": "prefix", "cap": 3},
    "rates": {"tables": [[13, 1]], "fold": 3, "rate": 2, "rates": [3, 6], "security": 50, "pow": 8},
    "domain halved less often": {"tables": [[12, 1]], "fold": 3, "reduction": 0, "security": 30, "pow": 8},
    "domain falls fast": {"tables": [[14, 1]], "fold": 4, "reduction": 3, "layout": "prefix", "pow": 12},
    "low rate": {"tables": [[8, 1]], "fold": 2, "rate": 5, "layout": "prefix", "security": 60, "pow": 10},
    "everything saturated": {
        "tables": [[8, 1]],
        "fold": 1,
        "security": 108,
        "pow": 0,
        "soundness": "UniqueDecoding",
        "tree": "ary4",
    },
    "ground before every challenge": {"tables": [[10, 1]], "fold": 2, "security": 110, "pow": 14, "layout": "prefix"},
    "no grinding": {"tables": [[10, 1]], "fold": 4, "pow": 0, "security": 20},
    "fold 8": {"tables": [[14, 1]], "fold": 8, "security": 30, "pow": 8},
    "fold beyond the rows": {"tables": [[2, 1], [1, 1]], "fold": 6, "layout": "prefix", "next": True},
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_same_proofs_and_both_verify(crate, name):
    check_both_ways(crate, STATEMENTS[name])


def test_statements_reach_what_they_say():
    def config(name):
        case = {**FULL_ARGS, **STATEMENTS[name]}
        return config_of(case, case["tables"][0][0])

    saturated = config("everything saturated")
    assert saturated.final_num_draws == saturated.rounds[0].num_draws == 0 < saturated.rounds[0].num_opened
    ground = config("ground before every challenge")
    assert ground.starting_folding_pow_bits > 0 and all(record.folding_pow_bits > 0 for record in ground.rounds)
    assert config("no grinding").max_pow_bits == 0
    assert config("per round, prefix, all folded").final_sumcheck_rounds == 0
    assert config("capacity").commitment_ood_samples > 0
    assert max(len(config(name).rounds) for name in SIZES) >= 5


EXTREMES = {"zeros": 0, "ones": 1, "p - 1": P - 1}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("layout", ["suffix", "prefix"])
def test_constant_data(crate, name, layout):
    # All-zero partial sums and codewords, and the largest words through every sum.
    changes = {"tables": [[9, 2], [4, 1]], "fold": 3, "layout": layout, "next": True}
    tables = [np.full((2, 2**9), EXTREMES[name], np.uint32), np.full((1, 2**4), EXTREMES[name], np.uint32)]
    check_both_ways(crate, changes, tables)


# ---- random statements -----------------------------------------------------------------------------------------------


def random_statement(rng: random.Random) -> dict:
    """Up to 4 tables of at most 2^11 cells together, any schedule and parameters; they may be refused."""
    fold = rng.randint(1, 5)
    tables, cells = [], 0
    for _ in range(rng.randint(1, 4)):
        log_rows, columns = rng.randint(0, 9), rng.randint(1, 5)
        cells += columns << max(log_rows, fold)
        if cells <= 2**11:
            tables.append([log_rows, columns])
    tables = tables or [[rng.randint(6, 11), 1]]

    def batch(columns):
        current = rng.sample(range(columns), rng.randint(0, columns))
        least = 0 if current else 1
        following = rng.sample(range(columns), rng.choice([least, rng.randint(least, columns)]))
        return {"current": current, "next": following}

    args = {
        "tables": tables,
        "schedule": [[batch(columns) for _ in range(rng.choice([0, 1, 1, 2]))] for _, columns in tables],
        "prescribed": rng.random() < 0.3,
        "fold": fold,
        "layout": rng.choice(["suffix", "prefix"]),
        "tree": rng.choice(["w16", "w24", "ary4"]),
        "cap": rng.choice([0, 0, 1, 2, 5]),
        "rate": rng.randint(1, 4),
        "soundness": rng.choice(["JohnsonBound", "UniqueDecoding", "CapacityBound"]),
        "security": rng.choice([8, 20, 40, 60, 90, 106]),
        "pow": rng.randint(4, 14),
        "seed": rng.randrange(2**40),
    }
    kind = rng.choice(["constant", "second", "per round"])
    if kind == "second":
        args["second_fold"] = rng.randint(1, 6)
    elif kind == "per round":
        args["folds"] = [fold, *(rng.randint(1, 4) for _ in range(rng.randint(0, 2)))]
    if rng.random() < 0.3:
        args["reduction"] = rng.randint(0, 2)
    return args


@pytest.mark.parametrize("seed", range(10))
def test_random_statements(crate, seed):
    rng, proved = random.Random(seed), 0
    while proved < 8:
        changes = random_statement(rng)
        answer = crate.prove({**FULL_ARGS, **changes})
        if answer["ok"]:
            check_both_ways(crate, changes)
            proved += 1
        else:
            with pytest.raises(ParameterError) as caught:
                prove_here(changes)
            assert caught.value.kind == refusal(answer), changes
