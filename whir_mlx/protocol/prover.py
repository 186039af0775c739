"""The prover: commit to tables, then open them.

Mirror of `verifier.verify_proof` and `verifier_whir.WhirReplay`: same order, same names. Nothing here reads a value
back from the device before the end, so on a lazy device commit and open are one graph.

Source: p3-whir 0.8.0 (`pcs/adapter.rs`, `pcs/prover/mod.rs`, `pcs/committer/writer.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whir_mlx.kernels.concatenate import stack
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.dot import dot_shares
from whir_mlx.kernels.eq_table import eq_tables
from whir_mlx.kernels.montgomery import to_montgomery
from whir_mlx.kernels.query_weights import query_weights
from whir_mlx.protocol.encode import encode
from whir_mlx.protocol.kernel_list import proof_kernels
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle import MerkleTree, commit_rows, open_rows
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.opening import open_claims, start_sumcheck
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.proof import Commitment, Proof
from whir_mlx.protocol.proof_words import ProofWords
from whir_mlx.protocol.readback import Readback
from whir_mlx.protocol.seeds import commitment_seed, whir_seed
from whir_mlx.protocol.statement import Schedule, check_points
from whir_mlx.protocol.sumcheck import run_sumcheck
from whir_mlx.protocol.transcript import Transcript

__all__ = ["ProverData", "commit_tables", "open_proof"]


@dataclass(frozen=True)
class ProverData:
    """What the prover keeps between commit and open; all arrays on the device, Montgomery words.

    tables: per table (columns, 2^a), padded; f: (2^n,), the stacked polynomial; tree: over the initial codeword's rows;
    transcript: as it stood after the commitment (opening works on a copy, so one commitment can be opened many times).
    """

    device: Device
    layout: Layout
    config: WhirConfig
    tables: tuple
    f: object
    tree: MerkleTree
    transcript: Transcript


def commit_tables(
    device: Device,
    layout: Layout,
    config: WhirConfig,
    tree: TreeConfig,
    tables,
    *,
    transcript: Transcript | None = None,
) -> ProverData:
    """Commits to the tables: stacks, encodes and hashes them, and absorbs the commitment.

    tables: per table of the layout, (columns, 2^log_rows) canonical words on the device. Builds the graph only; read
    `data.tree.cap` or call `read_commitment` to have it. transcript: one shared with an outer protocol, which absorbs
    the commitment here, or None for a fresh one. Raises ValueError where tables or config do not fit the layout.
    """
    _check_arguments(layout, config, tables)
    device.prepare(proof_kernels(device, config, tree))
    words, f, rows, stores, state = _commit_program(device, layout, config, tree)(list(tables))
    committed = MerkleTree(tree, rows, tuple(stores))
    if transcript is None:
        transcript = Transcript(device, state=state)
    else:
        _observe_commitment(transcript, committed)
    return ProverData(device, layout, config, tuple(words), f, committed, transcript)


def _observe_commitment(transcript: Transcript, tree: MerkleTree) -> None:
    transcript.observe_seed(commitment_seed())
    transcript.observe(tree.cap)


def _check_arguments(layout: Layout, config: WhirConfig, tables) -> None:
    if config.num_variables != layout.num_variables:
        raise ValueError(f"config is for {config.num_variables} variables, the layout has {layout.num_variables}")
    if config.folding_schedule[0] != layout.folding_factor:
        raise ValueError(
            f"config folds {config.folding_schedule[0]} variables first, the layout pads for {layout.folding_factor}"
        )
    if len(tables) != len(layout.tables):
        raise ValueError(f"expected one matrix for each of {len(layout.tables)} tables, got {len(tables)}")
    for number, (table, shape) in enumerate(zip(tables, layout.tables)):
        expected = (shape.columns, 1 << shape.log_rows)
        if tuple(table.shape) != expected:
            raise ValueError(f"table {number} must have shape {expected}, got {tuple(table.shape)}")


@lru_cache(maxsize=32)
def _commit_program(device: Device, layout: Layout, config: WhirConfig, tree: TreeConfig):
    """Tables to (Montgomery tables, stacked polynomial, codeword rows, tree stores, state of a fresh transcript that
    absorbed the commitment), traced once on a lazy device and on the CPU."""
    padded = Layout(
        layout.order, tuple((arity, s.columns) for s, arity in zip(layout.tables, layout.padded_log_rows)), 0
    )

    fresh = Transcript(device)  # made outside the trace, which would take its state for one of its own arrays

    def commit(tables: list):
        words = [_pad_rows(device, to_montgomery(device, x), arity) for x, arity in zip(tables, layout.padded_log_rows)]
        f = padded.stack(words, device.array_module)
        k, rate = layout.folding_factor, config.log_inv_rate
        codeword = encode(device, f, order=layout.order, folding_factor=k, log_inv_rate=rate)
        committed = commit_rows(device, tree, codeword)
        transcript = fresh.fork()
        _observe_commitment(transcript, committed)
        return words, f, committed.rows, list(committed.stores), transcript.state()

    return device.compile(commit)


def _pad_rows(device: Device, table, arity: int):
    columns, rows = table.shape
    if rows == 1 << arity:
        return table
    padding = device.asarray(np.zeros((columns, (1 << arity) - rows), np.uint32))
    return device.array_module.concatenate([table, padding], axis=1)


def read_commitment(data: ProverData) -> Commitment:
    """The commitment, read from the device."""
    readback = Readback(data.device)
    slot = readback.add(data.tree.cap)
    return Commitment(readback.read()[slot])


def open_proof(data: ProverData, schedule: Schedule, *, points=None, transcript: Transcript | None = None) -> Proof:
    """Opens the committed tables.

    points: None to draw them from the transcript, or one canonical (log_rows, 4) array per batch (`open_at` of the
    crate).
    transcript: one shared with an outer protocol, which goes on after the proof; None for a copy of `data.transcript`.
    Raises ParameterError (InitialClaimsBelowTarget) where the claims are too many for the security target, and
    ValueError or IndexError where schedule or points do not fit the layout.
    """
    device, layout, config = data.device, data.layout, data.config
    schedule.check(layout)
    config.check_claims(schedule.num_claims)
    if points is not None:
        points = [device.asarray(x) for x in check_points(layout, schedule, points)]
    if transcript is not None:
        # It goes on after the proof (and may keep a trace), so this run is played on it, not on a kept program's own.
        points = None if points is None else [to_montgomery(device, x) for x in points]
        words = _open(device, layout, config, schedule, transcript, data.tree, data.tables, data.f, points)
        return words.assemble(words.flat())
    program = _OpeningProgram.of(device, layout, config, data.tree.config, schedule, points is not None)
    return program.run(data, points or [])


class _OpeningProgram:
    """One statement's opening as a function of arrays alone, traced and compiled at its first run (not on NumPy)."""

    def __init__(self, device, layout, config, tree, schedule, prescribed: bool):
        self.words: ProofWords | None = None  # where each part of the proof lies in the words read back
        self._statement = (device, layout, config, schedule)
        self._tree, self._prescribed = tree, prescribed
        self._compiled = device.compile(self._trace)

    @staticmethod
    @lru_cache(maxsize=32)
    def of(*statement) -> _OpeningProgram:
        """The kept program of a statement."""
        return _OpeningProgram(*statement)

    def run(self, data: ProverData, points: list) -> Proof:
        """Runs the program on committed tables and assembles the proof."""
        words = self._compiled(
            list(data.tables), data.f, data.tree.rows, list(data.tree.stores), data.transcript.fork().state(), points
        )
        return self.words.assemble(words)

    def _trace(self, tables, f, rows, stores, state, points):
        device, layout, config, schedule = self._statement
        transcript = Transcript(device, state=state)
        tree = MerkleTree(self._tree, rows, tuple(stores))
        points = [to_montgomery(device, x) for x in points] if self._prescribed else None
        words = _open(device, layout, config, schedule, transcript, tree, tables, f, points)
        self.words = words  # another thread's is the same, but for arrays that `flat` takes out
        return words.flat()


def _open(device, layout, config, schedule, transcript, tree, tables, stacked, points) -> ProofWords:
    words = ProofWords(device)
    transcript.keep_grinds()
    opening = open_claims(device, transcript, layout, schedule, config, tables, stacked, points)
    transcript.observe_seed(whir_seed(config, schedule.num_batches))
    f, w, run = start_sumcheck(device, transcript, layout, schedule, config, opening, stacked)
    words.opening(opening)  # the last out-of-domain answer is known once a challenge was drawn
    words.initial_sumcheck(run)

    for record in config.rounds:
        f, w, tree = _round(device, transcript, layout.order, record, tree, f, w, words)

    transcript.observe(f)
    words.final_poly(f)
    transcript.grind(config.final_pow_bits)
    words.final_pow_bits(config.final_pow_bits)
    if config.final_num_draws == config.final_num_opened:
        indices = transcript.sample_indices(config.final_log_folded_domain_size, config.final_num_draws)
    else:
        indices = _all_positions(device, config.final_num_opened)
    words.final_opening(tree, indices, open_rows(device, tree, indices))
    if config.final_sumcheck_rounds:
        _, _, run = run_sumcheck(
            device,
            transcript,
            f,
            w,
            rounds=config.final_sumcheck_rounds,
            pow_bits=config.final_folding_pow_bits,
            order=layout.order,
            log_block=config.final_sumcheck_rounds,
        )
        words.final_sumcheck(run)
    words.grinds(transcript.take_grinds())
    return words


def _round(device, transcript, order, record, tree, f, w, words):
    """One WHIR round: commit to f, answer out of domain, query the previous codeword, fold."""
    codeword = encode(
        device, f, order=order, folding_factor=record.next_folding_factor, log_inv_rate=record.log_inv_rate
    )
    committed = commit_rows(device, tree.config, codeword)
    transcript.observe(committed.cap)
    answers, ood_tables = [], []
    for _ in range(record.ood_samples):
        ood_tables += eq_tables(device, transcript.sample_ext(), lengths=(record.num_variables,))
        answers.append(transcript.observe_shares(dot_shares(device, f, ood_tables[-1])))
    transcript.grind(record.pow_bits)
    if record.num_draws == record.num_opened:
        indices, gamma = transcript.sample_indices_and_ext(record.log_folded_domain_size, record.num_draws)
    else:
        indices, gamma = _all_positions(device, record.num_opened), transcript.sample_ext()
    opened = open_rows(device, tree, indices)
    ood = stack(device, ood_tables) if ood_tables else device.asarray(np.zeros((0, *f.shape), np.uint32))
    w = query_weights(device, w, ood, gamma, indices, log_domain=record.log_folded_domain_size)
    f, w, run = run_sumcheck(
        device,
        transcript,
        f,
        w,
        rounds=record.next_folding_factor,
        pow_bits=record.folding_pow_bits,
        order=order,
        log_block=record.num_variables,
    )
    words.round(committed, answers, record.pow_bits, tree, indices, opened, run)
    return f, w, committed


def _all_positions(device, num_opened: int):
    """The query indices where the queries cover the domain: every position in order, none drawn."""
    return device.asarray(np.arange(num_opened, dtype=np.uint32))
