"""The prover: commit, open (spec of p3-whir 0.8.0 `pcs/prover`). Proofs have the crate's JSON shape, see serde.py."""

from . import seeds
from .field import ZERO, P, add, ext, mul, powers, two_adic_generator
from .layout import message_matrix
from .merkle import Tree
from .multilinear import eq_table, evaluate, expand, power_table, successor
from .ntt import encode_rows
from .parameters import SOUNDNESS, check_initial_claims
from .sumcheck import fold, round_values


def flatten(row: list) -> list:
    return [c for entry in row for c in (entry if isinstance(entry, tuple) else (entry,))]


def encode(f: list, k: int, rate: int, statement) -> Tree:
    """Codeword of f folded k ways, as a Merkle tree over its rows (words of F)."""
    message = [flatten(row) for row in message_matrix(f, k, statement.layout.prefix)]
    log_rows = (len(f) >> k).bit_length() - 1 + rate
    return Tree(encode_rows(message, log_rows), statement.arity, statement.leaf_rate, statement.cap_height)


def observe_cap(cap: list, challenger) -> None:
    challenger.observe(word for digest in cap for word in digest)


def commit(statement, data: list, challenger) -> tuple:
    """(stacked polynomial, its tree); the commitment is the tree's cap."""
    f = statement.layout.stack(data)
    tree = encode(f, statement.config["folding_schedule"][0], statement.params.rate, statement)
    challenger.observe(seeds.commitment_seed())
    observe_cap(tree.cap, challenger)
    return f, tree


def run_sumcheck(f, w, rounds, bits, prefix, challenger) -> tuple:
    """(f, w, challenges, proof part)."""
    proof = {"polynomial_evaluations": [], "pow_witnesses": []}
    challenges = []
    if rounds:
        challenger.observe(seeds.sumcheck_seed(rounds, bits))
    for _ in range(rounds):
        c0, c2 = round_values(f, w, prefix)
        challenger.observe(c0 + c2)
        proof["polynomial_evaluations"].append((c0, c2))
        if bits:
            proof["pow_witnesses"].append(challenger.grind(bits))
        r = challenger.sample_ext()
        challenges.append(r)
        f, w = fold(f, r, prefix), fold(w, r, prefix)
    return f, w, challenges, proof


def draw_indices(queries: int, log_folded: int, challenger) -> list:
    if queries >= 2**log_folded:
        return list(range(2**log_folded))
    return [challenger.sample_uniform_bits(log_folded) for _ in range(queries)]


def query_point(index: int, log_folded: int) -> tuple:
    return ext(pow(two_adic_generator(log_folded), index, P))


def openings(tree: Tree, indices: list, is_base: bool) -> dict:
    rows, siblings = tree.open(indices)
    if not is_base:
        rows = [[tuple(row[i : i + 4]) for i in range(0, len(row), 4)] for row in rows]
    return {"Base" if is_base else "Extension": {"rows": rows, "proof": {"sibling_hashes": siblings}}}


def add_weights(w: list, factor: tuple, table: list) -> list:
    return [x if t == ZERO else add(x, mul(factor, t)) for x, t in zip(w, table, strict=True)]


def ood_answers(f: list, samples: int, challenger, seed=()) -> tuple:
    """(points, answers): draw, answer, draw, answer."""
    points, answers = [], []
    for _ in range(samples):
        challenger.observe(seed)
        points.append(expand(challenger.sample_ext(), len(f).bit_length() - 1))
        answers.append(evaluate(f, points[-1]))
        challenger.observe(answers[-1])
    return points, answers


def open_batches(statement, data: list, challenger) -> tuple:
    """(points, evals) of the schedule."""
    points, evals = [], []
    for batch in statement.batches:
        challenger.observe(seeds.opening_seed(statement.layout, batch))
        points.append(statement.layout.draw_point(batch, challenger))
        size = 2 ** statement.layout.tables[batch.table][0]
        columns = [list(column) + [0] * (size - len(column)) for column in data[batch.table]]
        both = {
            "current": [evaluate([ext(x) for x in columns[c]], points[-1]) for c in batch.current],
            "next": [evaluate([ext(x) for x in successor(columns[c])], points[-1]) for c in batch.next],
        }
        challenger.observe(word for side in both.values() for value in side for word in value)
        evals.append(both)
    return points, evals


def open_all(statement, data: list, f: list, tree: Tree, challenger) -> dict:
    layout, config, params = statement.layout, statement.config, statement.params
    ks, prefix = config["folding_schedule"], layout.prefix
    order = layout.claim_order(statement.batches)
    samples = config["commitment_ood_samples"]
    check_initial_claims(params, layout.num_variables, len(order) + samples)
    f = [ext(x) for x in f]
    whir = {}

    # Claims on the stacked polynomial.
    ood_points, whir["initial_ood_answers"] = ood_answers(f, samples, challenger, seeds.ood_seed(layout))
    points, evals = open_batches(statement, data, challenger)
    challenger.observe(seeds.whir_seed(params, config, len(statement.batches), SOUNDNESS.index(params.soundness)))
    challenger.observe(seeds.batching_seed(layout, len(order), samples))
    alphas = powers(challenger.sample_ext(), len(order) + samples)
    w = [ZERO] * len(f)
    for factor, (b, column, is_next) in zip(alphas, order, strict=False):
        w = add_weights(w, factor, layout.weights(statement.batches[b].table, column, is_next, points[b]))
    for factor, point in zip(alphas[len(order) :], ood_points, strict=True):
        w = add_weights(w, factor, eq_table(point))
    bits = config["starting_folding_pow_bits"]
    f, w, _, whir["initial_sumcheck"] = run_sumcheck(f, w, ks[0], bits, prefix, challenger)

    # Rounds: commit to the folded f, open the codeword before it.
    whir["rounds"] = []
    for i, record in enumerate(config["rounds"]):
        previous, tree = tree, encode(f, ks[i + 1], record["log_inv_rate"], statement)
        observe_cap(tree.cap, challenger)
        ood_points, answers = ood_answers(f, record["ood_samples"], challenger)
        witness = challenger.grind(record["pow_bits"])
        log_folded = record["log_folded_domain_size"]
        indices = draw_indices(record["num_queries"], log_folded, challenger)
        gamma = challenger.sample_ext()
        tables = [eq_table(point) for point in ood_points]
        tables += [power_table(query_point(index, log_folded), record["num_variables"]) for index in indices]
        for factor, table in zip(powers(gamma, len(tables), gamma), tables, strict=True):
            w = add_weights(w, factor, table)
        f, w, _, sumcheck = run_sumcheck(f, w, ks[i + 1], record["folding_pow_bits"], prefix, challenger)
        whir["rounds"].append(
            {
                "commitment": {"_marker": None, "cap": tree.cap},
                "ood_answers": answers,
                "pow_witness": witness,
                "openings": openings(previous, indices, i == 0),
                "sumcheck": sumcheck,
            }
        )

    # Final: f in clear, the last codeword opened, the sumcheck closed.
    challenger.observe(flatten(f))
    whir["final_poly"] = [f, None]
    whir["final_pow_witness"] = challenger.grind(config["final_pow_bits"])
    indices = draw_indices(config["final_queries"], seeds.final_log_folded(params, config), challenger)
    whir["final_openings"] = openings(tree, indices, not config["rounds"])
    m, bits = config["final_sumcheck_rounds"], config["final_folding_pow_bits"]
    closing = run_sumcheck(f, w, m, bits, prefix, challenger)[3]
    whir["final_sumcheck"] = closing if m else None
    return {"whir": whir, "evals": evals}
