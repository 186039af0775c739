"""The verifier of opening proofs: the prover's transcript replayed, in the crate's order of checks.

Source: p3-whir 0.8.0 (`pcs/adapter.rs`), p3-sumcheck 0.8.0 (`layout/verifier.rs`, `layout/transcript.rs`).
"""

from __future__ import annotations

from whir_mlx.errors import ParameterError, VerificationError
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.multilinear import scalar
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.proof import BatchEvaluations, Commitment, Proof, validate
from whir_mlx.protocol.replay import Replay
from whir_mlx.protocol.statement import Schedule, check_points
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier_notes import Drawn, Notes, require
from whir_mlx.protocol.verifier_plan import VerifierPlan, verifier_plan
from whir_mlx.protocol.verifier_whir import WhirReplay
from whir_mlx.protocol.verifier_words import MontgomeryWords

__all__ = ["verify_proof"]


def verify_proof(
    device,
    layout: Layout,
    schedule: Schedule,
    config: WhirConfig,
    tree: TreeConfig,
    commitment: Commitment,
    proof: Proof,
    *,
    points=None,
    transcript: Transcript | None = None,
) -> tuple[BatchEvaluations, ...]:
    """Verifies `proof` against `commitment`; returns the opened values, canonical, per batch in flat order.

    `points`: None for points drawn from the transcript, or one canonical (log_rows, 4) integer array per batch, which
    the caller must have bound to the transcript or fixed beforehand (the crate's `verify_at`). `transcript`: one shared
    with an outer protocol, of no more use where verification fails, or None for a fresh one. The commitment is absorbed
    here, except where both `points` and `transcript` are given: then the caller has absorbed it, before drawing the
    points.

    Raises `VerificationError` (`check` is the crate's name of the failed check, or ``"MalformedProof"`` for an object
    that is not a proof at all), and `TypeError` or `ValueError` where layout, schedule, config or points do not fit
    each other.
    """
    schedule.check(layout)
    if config.num_variables != layout.num_variables:
        raise ValueError(f"config is for {config.num_variables} variables, the layout has {layout.num_variables}")
    if config.folding_schedule[0] != layout.folding_factor:
        raise ValueError(
            f"config folds {config.folding_schedule[0]} variables first, the layout pads for {layout.folding_factor}"
        )
    if points is not None:
        points = check_points(layout, schedule, points)
    plan = verifier_plan(layout, schedule, config, points is not None)
    words = MontgomeryWords(device, *validate(commitment, proof))
    cap = words.of(commitment.cap)
    replay = Replay()
    if points is None or transcript is None:
        replay.observe(plan.commitment)
        replay.observe(cap)
    claims = _replay_claims(replay, plan, layout, schedule, config, proof, words, points)
    run = WhirReplay(device, layout, tree, Notes(replay, plan, config, proof, words))
    run.check(Transcript(device) if transcript is None else transcript, cap, *claims)
    return proof.evaluations


def _replay_claims(
    replay: Replay,
    plan: VerifierPlan,
    layout: Layout,
    schedule: Schedule,
    config: WhirConfig,
    proof: Proof,
    words: MontgomeryWords,
    points,
) -> tuple[list[Drawn], list[Drawn | list]]:
    """The out-of-domain claims on the commitment, then the openings: their points, drawn or (as scalars) given."""
    require("InitialOodAnswerCountMismatch", "initial", config.commitment_ood_samples, proof.whir.initial_ood_answers)
    ood_points: list[Drawn] = []
    for answer in words.of(proof.whir.initial_ood_answers):
        replay.observe(plan.ood)
        ood_points.append(Drawn(replay.sample_ext(), layout.num_variables))
        replay.observe(answer)

    require("OpeningBatchCountMismatch", "initial", schedule.num_batches, proof.evaluations)
    batch_points: list[Drawn | list] = []
    for k, (table, batch) in enumerate(schedule.flat):
        values = proof.evaluations[k]
        require("OpeningBatchSizeMismatch", f"batch {k}, current", len(batch.current), values.current)
        require("OpeningBatchSizeMismatch", f"batch {k}, next", len(batch.next), values.next)
        replay.observe(plan.openings[k])
        if points is None:
            batch_points.append(Drawn(replay.sample_ext(), layout.padded_log_rows[table]))
        else:
            batch_points.append([scalar(coordinate) for coordinate in points[k]])
        replay.observe(words.of(values.current))
        replay.observe(words.of(values.next))

    try:
        config.check_claims(schedule.num_claims)
    except ParameterError as error:
        raise VerificationError(f"Config({error.kind})", where="initial", got=error) from error
    return ood_points, batch_points
