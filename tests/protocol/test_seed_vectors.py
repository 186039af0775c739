"""Seeds at their places in every recorded transcript and every recorded proof (see vectors/README.md).

A proof shows no seed, but one wrong element in a seed changes all that is drawn after it. Replayed with the right
seeds, each grinding witness is the smallest one that passes, two drawn query indices are equal exactly where the opened
rows are, and as many digests are needed to reach the cap as the proof holds.
"""

import gzip
import json
import warnings
from pathlib import Path

import pytest

from tests.oracle.challenger import Challenger
from whir_mlx.protocol import seeds
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning, derive_config
from whir_mlx.protocol.statement import Schedule

P = 2013265921
MONTY_INV = pow(2**32, -1, P)
VECTORS = Path(__file__).parents[1] / "vectors"
SOUNDNESS = {"UniqueDecoding": "unique", "JohnsonBound": "johnson", "CapacityBound": "capacity"}
TRANSCRIPTS = ["prefix_n10_k4_johnson", "suffix_n10_k4_johnson", "suffix_n8_k2_unique"]
PROOFS = [
    "prefix_n10_k4_johnson",
    "prefix_tables",
    "suffix_n10_k4_johnson",
    "suffix_n10_w4_p2",
    "suffix_n11_ary4",
    "suffix_n11_cap2",
    "suffix_n11_w24leaf",
    "suffix_n12_k3_pow0",
    "suffix_n12_k4_capacity",
    "suffix_n12_prescribed",
    "suffix_n14_folds",
    "suffix_n8_k2_unique",
    "suffix_tables_next",
]


def load(folder, name):
    packed = VECTORS / folder / f"{name}.json.gz"
    if packed.exists():
        return json.loads(gzip.decompress(packed.read_bytes()))
    return json.loads((VECTORS / folder / f"{name}.json").read_text())


def statement_of(args):
    """(layout, schedule, config) of a vector's `args`."""
    tables = args.get("tables", [[args.get("n"), 1]])
    folding = args.get("folds") or args["fold"]
    k0 = folding[0] if isinstance(folding, list) else folding
    layout = Layout(args["layout"], tuple(map(tuple, tables)), k0)
    schedule = Schedule.all_columns(layout, args.get("points", 1), args.get("next", False))
    options = {
        "folding_factor": folding,
        "log_inv_rate": args["rate"],
        "security_level": args["security"],
        "pow_bits": args["pow"],
        "soundness": SOUNDNESS[args["soundness"]],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConjecturedSoundnessWarning)
        config = derive_config(layout.num_variables, **options)
        if args.get("reduction") is not None:
            rates, rate = [], args["rate"]
            for i, fold in enumerate(config.folding_schedule[:-1]):
                rate += fold - (args["reduction"] if i == 0 else 1)
                rates.append(rate)
            config = derive_config(layout.num_variables, round_log_inv_rates=rates, **options)
        elif args.get("rates"):
            config = derive_config(layout.num_variables, round_log_inv_rates=args["rates"], **options)
    return layout, schedule, config


class Script:
    """What a run is expected to do: seeds in full, `None` for each element of proof data, and the draws."""

    def __init__(self):
        self.steps = []

    def observe(self, elements):
        if not self.steps or self.steps[-1][0] != "observe":
            self.steps.append(("observe", []))
        self.steps[-1][1].extend(elements)

    def data(self, extension_elements):
        self.observe([None] * (4 * extension_elements))

    def draw(self):
        self.steps += [("sample", None)] * 4

    def sumcheck(self, rounds, pow_bits):
        self.observe(seeds.sumcheck_seed(rounds, pow_bits).tolist())
        for _ in range(rounds):
            self.data(2)
            self.steps += [("grind", pow_bits)] * (pow_bits > 0)
            self.draw()


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_recorded_transcript(name):
    """Every seed of every recorded run, at its place. (These runs have no rounds; `test_proof_replay` has.)"""
    recorded = load("transcripts", name)
    layout, schedule, config = statement_of(recorded["args"])
    assert not config.rounds
    run = Script()
    run.observe(seeds.commitment_seed().tolist() + [None] * 8)
    assert compare(run.steps, recorded["commit"])

    run = Script()
    for _ in range(config.commitment_ood_samples):
        run.observe(seeds.ood_seed(layout).tolist())
        run.draw()
        run.data(1)
    for table, batch in schedule.flat:
        run.observe(seeds.opening_seed(layout, table, batch, prescribed=False).tolist())
        run.draw()
        run.data(len(batch))
    run.observe(seeds.whir_seed(config, schedule.num_batches).tolist())
    run.observe(seeds.batching_seed(layout, schedule.num_claims, config.commitment_ood_samples).tolist())
    run.draw()
    run.sumcheck(config.folding_schedule[0], config.starting_folding_pow_bits)
    run.data(2**config.final_sumcheck_rounds)
    run.steps.append(("grind", config.final_pow_bits))
    run.steps += [("sample_uniform_bits", config.final_log_folded_domain_size)] * config.final_num_draws
    run.sumcheck(config.final_sumcheck_rounds, config.final_folding_pow_bits)
    assert compare(run.steps, recorded["open"])


def compare(steps, recorded):
    assert [step[0] for step in steps] == [step[0] for step in recorded]
    for expected, got in zip(steps, recorded):
        if expected[0] == "observe":
            assert len(expected[1]) == len(got[1])
            assert [x for x in expected[1] if x is not None] == [
                y for x, y in zip(expected[1], got[1]) if x is not None
            ]
        elif expected[1] is not None:
            assert expected[1] == got[1]
    return True


class Replay:
    """Plays a recorded proof through the oracle's challenger with the seeds under test."""

    def __init__(self, args):
        self.challenger = Challenger()
        self.arity, self.cap = 4 if args["tree"] == "ary4" else 2, args["cap"]

    def seed(self, elements):
        self.challenger.observe(elements.tolist())

    def words(self, words):
        self.challenger.observe(word * MONTY_INV % P for word in words)

    def ext(self, values):
        for value in values:
            self.words(value["value"])

    def draw(self):
        return self.challenger.sample_ext()

    def grind(self, bits, witness):
        """The prover takes the smallest witness; searching for it would pass, or fail, only by the transcript."""
        assert self.challenger.grind(bits) == witness * MONTY_INV % P

    def sumcheck(self, rounds, pow_bits, proof):
        self.seed(seeds.sumcheck_seed(rounds, pow_bits))
        assert len(proof["polynomial_evaluations"]) == rounds
        for k, pair in enumerate(proof["polynomial_evaluations"]):
            self.ext(pair)
            if pow_bits:
                self.grind(pow_bits, proof["pow_witnesses"][k])
            self.draw()

    def queries(self, bits, draws, openings):
        """Equal indices have equal rows; of random data, different ones differ."""
        (opened,) = openings.values()
        drawn = [self.challenger.sample_uniform_bits(bits) for _ in range(draws)] or list(range(2**bits))
        assert len(opened["proof"]["sibling_hashes"]) == self.digests_needed(drawn, 2**bits)
        rows = [json.dumps(row) for row in opened["rows"]]
        assert len(rows) == len(drawn)
        assert [drawn.index(index) for index in drawn] == [rows.index(row) for row in rows]

    def digests_needed(self, opened, height):
        nodes, count, levels = set(opened), 0, 0
        while self.arity**levels < height:
            levels += 1
        for _ in range(levels - min(self.cap, levels)):
            parents = {node // self.arity for node in nodes}
            count += self.arity * len(parents) - len(nodes)
            nodes = parents
        return count


@pytest.mark.parametrize("name", PROOFS)
def test_proof_replay(name):
    recorded = load("proofs", name)
    layout, schedule, config = statement_of(recorded["args"])
    proof, whir = recorded["proof"], recorded["proof"]["whir"]
    run = Replay(recorded["args"])
    run.seed(seeds.commitment_seed())
    for digest in recorded["commitment"]["cap"]:
        run.words(digest)
    assert len(whir["initial_ood_answers"]) == config.commitment_ood_samples
    for answer in whir["initial_ood_answers"]:
        run.seed(seeds.ood_seed(layout))
        run.draw()
        run.ext([answer])
    prescribed = recorded["args"]["prescribed"]
    for (table, batch), evals in zip(schedule.flat, proof["evals"], strict=True):
        run.seed(seeds.opening_seed(layout, table, batch, prescribed))
        if not prescribed:
            run.draw()
        run.ext(evals["current"] + evals["next"])
    run.seed(seeds.whir_seed(config, schedule.num_batches))
    run.seed(seeds.batching_seed(layout, schedule.num_claims, config.commitment_ood_samples))
    run.draw()
    folds = config.folding_schedule
    run.sumcheck(folds[0], config.starting_folding_pow_bits, whir["initial_sumcheck"])
    for i, (record, part) in enumerate(zip(config.rounds, whir["rounds"], strict=True)):
        for digest in part["commitment"]["cap"]:
            run.words(digest)
        for answer in part["ood_answers"]:
            run.draw()
            run.ext([answer])
        run.grind(record.pow_bits, part["pow_witness"])
        run.queries(record.log_folded_domain_size, record.num_draws, part["openings"])
        run.draw()
        run.sumcheck(folds[i + 1], record.folding_pow_bits, part["sumcheck"])
    run.ext(whir["final_poly"][0])
    run.grind(config.final_pow_bits, whir["final_pow_witness"])
    run.queries(config.final_log_folded_domain_size, config.final_num_draws, whir["final_openings"])
