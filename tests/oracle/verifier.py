"""The verifier (spec of p3-whir 0.8.0 `pcs/verifier`): the checks in the crate's order, one claim carried through."""

from . import merkle, seeds
from .field import ZERO, add, dot, ext, mul, powers
from .multilinear import eq, evaluate, expand, horner, power_at
from .parameters import SOUNDNESS, Refused, check_initial_claims
from .prover import draw_indices, flatten, observe_cap, query_point
from .sumcheck import next_claim


class Rejected(Exception):
    """`check` is the crate's error name."""

    def __init__(self, check: str):
        super().__init__(check)
        self.check = check


def require(condition: bool, check: str) -> None:
    if not condition:
        raise Rejected(check)


class Verifier:
    def __init__(self, statement, challenger):
        self.statement, self.challenger = statement, challenger
        self.prefix = statement.layout.prefix
        self.claim = None
        self.challenges = []  # of all sumchecks, in draw order
        self.constraints = []  # (variables, factors, functions of a point)

    def oriented(self, challenges: list) -> list:
        """Suffix order binds the last variable first."""
        return list(challenges) if self.prefix else list(reversed(challenges))

    def sumcheck(self, proof: dict, rounds: int, bits: int) -> list:
        require(len(proof["polynomial_evaluations"]) == rounds, "Sumcheck(RoundCountMismatch)")
        witnesses = proof["pow_witnesses"]
        require(len(witnesses) == (rounds if bits else 0), "Sumcheck(PowWitnessCountMismatch)")
        if rounds:
            self.challenger.observe(seeds.sumcheck_seed(rounds, bits))
        drawn = []
        for i, (c0, c2) in enumerate(proof["polynomial_evaluations"]):
            self.challenger.observe(c0 + c2)
            require(not bits or self.challenger.check(bits, witnesses[i]), "Sumcheck(InvalidPowWitness)")
            drawn.append(self.challenger.sample_ext())
            self.claim = next_claim(self.claim, c0, c2, drawn[-1])
        self.challenges += drawn
        return drawn

    def constrain(self, variables: int, factors: list, values: list, functions: list) -> None:
        self.claim = add(self.claim, dot(factors, values))
        self.constraints.append((variables, factors, functions))

    def queries(self, codeword: dict, openings: dict, count: int, challenges: list) -> tuple:
        """(query points, folds) of rows opened in `codeword`; `challenges` folded that codeword."""
        indices = draw_indices(count, codeword["log_rows"], self.challenger)
        variant = "Base" if codeword["base"] else "Extension"
        require(list(openings) == [variant], "MerkleProofInvalid")
        rows = openings[variant]["rows"]
        require(len(rows) == len(indices), "StirQueryCountMismatch")
        words = [flatten(row) for row in rows]
        width = (1 if codeword["base"] else 4) << len(challenges)
        siblings = [tuple(digest) for digest in openings[variant]["proof"]["sibling_hashes"]]
        tree = (self.statement.arity, self.statement.leaf_rate, self.statement.cap_height)
        try:
            merkle.verify(codeword["cap"], 2 ** codeword["log_rows"], width, indices, words, siblings, *tree)
        except merkle.MerkleError as error:
            raise Rejected("MerkleProofInvalid") from error
        entries = [[ext(x) for x in row] if codeword["base"] else row for row in rows]
        folds = [evaluate(row, self.oriented(challenges)) for row in entries]
        return [query_point(index, codeword["log_rows"]) for index in indices], folds

    def initial_claims(self, proof: dict) -> None:
        layout, batches = self.statement.layout, self.statement.batches
        answers, evals = proof["whir"]["initial_ood_answers"], proof["evals"]
        samples = self.statement.config["commitment_ood_samples"]
        require(len(answers) == samples, "InitialOodAnswerCountMismatch")
        require(len(evals) == len(batches), "OpeningBatchCountMismatch")
        ood_points, points = [], []
        for answer in answers:
            self.challenger.observe(seeds.ood_seed(layout))
            ood_points.append(expand(self.challenger.sample_ext(), layout.num_variables))
            self.challenger.observe(answer)
        for batch, both in zip(batches, evals, strict=True):
            lengths = (len(both["current"]), len(both["next"]))
            require(lengths == (len(batch.current), len(batch.next)), "OpeningBatchSizeMismatch")
            self.challenger.observe(seeds.opening_seed(layout, batch))
            points.append(layout.draw_point(batch, self.challenger))
            self.challenger.observe(flatten(both["current"] + both["next"]))
        order = layout.claim_order(batches)
        try:
            check_initial_claims(self.statement.params, layout.num_variables, len(order) + samples)
        except Refused as error:
            raise Rejected(f"Config({error.kind})") from error
        self.check_counts(proof["whir"])
        params = self.statement.params
        code = SOUNDNESS.index(params.soundness)
        self.challenger.observe(seeds.whir_seed(params, self.statement.config, len(batches), code))
        self.challenger.observe(seeds.batching_seed(layout, len(order), samples))
        alphas = powers(self.challenger.sample_ext(), len(order) + samples)
        values, functions = [], []
        for b, column, is_next in order:
            side = batches[b].next if is_next else batches[b].current
            values.append(evals[b]["next" if is_next else "current"][side.index(column)])
            where = (batches[b].table, column, is_next, points[b])
            functions.append(lambda x, where=where: layout.weight_at(*where, x))
        functions += [lambda x, point=point: eq(point, x) for point in ood_points]
        self.claim = ZERO
        self.constrain(layout.num_variables, alphas, values + answers, functions)

    def check_counts(self, whir: dict) -> None:
        config = self.statement.config
        require(len(whir["rounds"]) == len(config["rounds"]), "RoundCountMismatch")
        witnesses = [(r["pow_witness"], c["pow_bits"]) for r, c in zip(whir["rounds"], config["rounds"], strict=True)]
        for witness, bits in [*witnesses, (whir["final_pow_witness"], config["final_pow_bits"])]:
            require(bits > 0 or witness == 0, "NonCanonicalPowWitness")

    def round(self, part: dict, record: dict, codeword: dict, folded: list, k_next: int) -> tuple:
        """(the next codeword, the challenges of this round's sumcheck)."""
        require(part["commitment"] is not None, "MissingRoundCommitment")
        require(len(part["ood_answers"]) == record["ood_samples"], "RoundOodAnswerCountMismatch")
        cap, v = part["commitment"]["cap"], record["num_variables"]
        observe_cap(cap, self.challenger)
        points = []
        for answer in part["ood_answers"]:
            points.append(expand(self.challenger.sample_ext(), v))
            self.challenger.observe(answer)
        require(self.challenger.check(record["pow_bits"], part["pow_witness"]), "InvalidPowWitness")
        zs, folds = self.queries(codeword, part["openings"], record["num_queries"], folded)
        gamma = self.challenger.sample_ext()
        functions = [lambda x, point=point: eq(point, x) for point in points]
        functions += [lambda x, z=z: power_at(z, x) for z in zs]
        self.constrain(v, powers(gamma, len(functions), gamma), part["ood_answers"] + folds, functions)
        drawn = self.sumcheck(part["sumcheck"], k_next, record["folding_pow_bits"])
        return {"cap": cap, "log_rows": v - k_next + record["log_inv_rate"], "base": False}, drawn

    def final(self, whir: dict, codeword: dict, folded: list) -> None:
        config = self.statement.config
        m = config["final_sumcheck_rounds"]
        require(whir["final_poly"] is not None, "MissingFinalPoly")
        final_poly = whir["final_poly"][0]
        require(len(final_poly) == 2**m, "FinalPolyLengthMismatch")
        self.challenger.observe(flatten(final_poly))
        require(self.challenger.check(config["final_pow_bits"], whir["final_pow_witness"]), "InvalidPowWitness")
        zs, folds = self.queries(codeword, whir["final_openings"], config["final_queries"], folded)
        for z, value in zip(zs, folds, strict=True):
            require(horner(final_poly, z) == value, "StirChallengeFailed")
        drawn = []
        if m:
            require(whir["final_sumcheck"] is not None, "Sumcheck(MissingSumcheckData)")
            drawn = self.sumcheck(whir["final_sumcheck"], m, config["final_folding_pow_bits"])
        weight = ZERO
        for variables, factors, functions in self.constraints:
            x = self.oriented(self.challenges[len(self.challenges) - variables :])
            weight = add(weight, dot(factors, [function(x) for function in functions]))
        require(self.claim == mul(weight, evaluate(final_poly, self.oriented(drawn))), "SumcheckFailed")


def verify_all(statement, cap: list, proof: dict, challenger) -> list:
    """The opened values, one {"current", "next"} a batch; raises Rejected. The commitment is observed here."""
    config, run = statement.config, Verifier(statement, challenger)
    ks, whir = config["folding_schedule"], proof["whir"]
    challenger.observe(seeds.commitment_seed())
    observe_cap(cap, challenger)
    run.initial_claims(proof)
    codeword = {"cap": cap, "log_rows": config["num_variables"] - ks[0] + statement.params.rate, "base": True}
    folded = run.sumcheck(whir["initial_sumcheck"], ks[0], config["starting_folding_pow_bits"])
    for part, record, k_next in zip(whir["rounds"], config["rounds"], ks[1:], strict=True):
        codeword, folded = run.round(part, record, codeword, folded, k_next)
    run.final(whir, codeword, folded)
    return proof["evals"]
