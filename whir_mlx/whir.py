"""The interface: `Whir` commits to field elements, opens them and verifies openings.

Letters: n variables of the stacked polynomial, a variables of one table (padded to the first fold), c opened columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whir_mlx.choices import Choices, make_choices
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.field.numpy_field import from_montgomery
from whir_mlx.inputs import canonical_array
from whir_mlx.kernels.device import Device, get_device
from whir_mlx.memory import place
from whir_mlx.protocol.folding import FoldingRule
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.multilinear import expand
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.proof import Commitment, Proof
from whir_mlx.protocol.prover import ProverData, commit_tables, open_proof, read_commitment
from whir_mlx.protocol.security import SecurityReport
from whir_mlx.protocol.security_bounds import Soundness
from whir_mlx.protocol.statement import Schedule
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier import verify_proof
from whir_mlx.sumcheck_mode import check_mode, on_device, opening_data, opening_device
from whir_mlx.tables import make_schedule, padded_points, shape_of, table_matrices

__all__ = ["Opened", "Whir"]


@dataclass(frozen=True, eq=False)
class Opened:
    """What a verified proof says about one table at one point; canonical words.

    table: its index; name: its name, or None. point: (a, 4) uint32, the most significant variable first. columns and
    next_columns: what was opened directly and through the successor view (row i reads row min(i + 1, last));
    values, next_values: (c, 4) uint32, one extension element for each of them.
    """

    table: int
    name: str | None
    point: np.ndarray
    columns: tuple[int, ...]
    values: np.ndarray
    next_columns: tuple[int, ...]
    next_values: np.ndarray


class Whir:
    """One statement shape and its parameters, on one device: `commit`, `open`, `verify`.

    num_variables, columns: one table of 2^num_variables rows; or tables: (log_rows, columns) pairs, or a dict of them
    by name. folding_factor: variables folded a phase, an integer, a sequence (one a phase) or a FoldingRule; tables
    with fewer variables than the first fold are padded with zeros. log_inv_rate: -log2 of the code's rate.
    round_log_inv_rates: of the later codewords, None for the default. security_level: bits that *each* error term must
    reach (`security` says what they come to together). pow_bits: the most grinding a step may take, 0..30. soundness:
    johnson, unique, or capacity, which is a refuted conjecture and warns. layout: suffix or prefix variable order.
    tree: w16, w24 (wide leaf sponge) or ary4 (4-ary), or a TreeConfig; cap_height: layers cut off below the root.
    device: auto, cpu, metal, cuda or numpy. sumcheck: where openings run when a GPU commits: device (there), host (on
    the CPU, reading the GPU's arrays), or auto (what was faster here, timed at the first opening of a size and
    remembered); the proofs are the same. fallback: a statement too large for the GPU's memory (`whir_mlx.memory`) is
    proved in smaller steps or on the CPU, with a warning; False: MemoryError instead.

    Raises TypeError or ValueError naming the argument, ParameterError where the parameter set is refused (the message
    says by how much and what would be accepted), DeviceError where the device is missing. Source: p3-whir 0.8.0.

        >>> pcs = Whir(num_variables=10, security_level=60, pow_bits=10)
        >>> commitment, data = pcs.commit(np.arange(1024))
        >>> opened = pcs.verify(commitment, pcs.open(data))
        >>> opened[0].values.shape
        (1, 4)
    """

    def __init__(
        self,
        num_variables: int | None = None,
        *,
        columns: int | None = None,
        tables: Sequence | Mapping | None = None,
        folding_factor: int | Sequence[int] | FoldingRule = 4,
        log_inv_rate: int = 1,
        round_log_inv_rates: Sequence[int] | None = None,
        security_level: int = 100,
        pow_bits: int = 20,
        soundness: str | Soundness = "johnson",
        layout: str = "suffix",
        tree: str | TreeConfig = "w16",
        cap_height: int = 0,
        device: str | Device = "auto",
        sumcheck: str = "device",
        fallback: bool = True,
    ):
        self.choices: Choices = make_choices(
            num_variables,
            columns=columns,
            tables=tables,
            folding_factor=folding_factor,
            log_inv_rate=log_inv_rate,
            round_log_inv_rates=round_log_inv_rates,
            security_level=security_level,
            pow_bits=pow_bits,
            soundness=soundness,
            layout=layout,
            tree=tree,
            cap_height=cap_height,
        )
        self._set_device(device, sumcheck, fallback)

    @classmethod
    def from_choices(
        cls, choices: Choices, *, device: str | Device = "auto", sumcheck: str = "device", fallback: bool = True
    ) -> Whir:
        """For choices that `make_choices` made or that a proof file holds."""
        pcs = cls.__new__(cls)
        pcs.choices = choices
        pcs._set_device(device, sumcheck, fallback)
        return pcs

    def _set_device(self, device: str | Device, sumcheck: str, fallback: bool) -> None:
        self.sumcheck = check_mode(sumcheck)
        self.fallback = fallback
        self.device: Device = get_device(device)

    @classmethod
    def for_arrays(cls, arrays: Mapping, *, pad: bool = False, **keywords) -> Whir:
        """For a dict of named arrays, (rows,) or (columns, rows) each: one table an array; other arguments as `Whir`.

        pad: rows that are no power of two are rounded up (`commit` takes the same argument and appends zeros).
        """
        if not isinstance(arrays, Mapping):
            raise TypeError(f"arrays must be a dict of arrays by name, got {type(arrays).__name__}")
        shapes = {name: shape_of(repr(name), np.shape(array), pad=pad) for name, array in arrays.items()}
        return cls(tables=shapes, **keywords)

    def __repr__(self) -> str:
        shapes = [(shape.log_rows, shape.columns) for shape in self.choices.tables]
        return f"Whir(tables={shapes}, num_variables={self.layout.num_variables}, device={self.device.name!r})"

    @property
    def layout(self) -> Layout:
        """Where every column lies in the stacked polynomial."""
        return self.choices.layout

    @property
    def config(self) -> WhirConfig:
        """The derived schedule of rounds, queries and grinding."""
        return self.choices.config

    @property
    def tree(self) -> TreeConfig:
        """The shape of the Merkle trees."""
        return self.choices.tree

    @property
    def security(self) -> SecurityReport:
        """Every error term for opening each column once, the weakest of them, and their union."""
        return self.choices.security()

    @cached_property
    def prover_device(self) -> Device:
        """Where `commit` runs: `device`, or what stands in for it where the statement is too large for a GPU's memory
        (then the first use warns, or raises MemoryError without `fallback`)."""
        return place(self.device, self.choices, fallback=self.fallback)

    def opening_device(self, data: ProverData) -> Device:
        """Where `open` runs on `data`; under sumcheck="auto" known once it was opened."""
        return opening_device(self.sumcheck, data)

    def commit(self, evals, *, pad: bool = False) -> tuple[Commitment, ProverData]:
        """Commits to the tables' values; returns the commitment, and the data that `open` needs.

        evals: for one table (2^n,) or (columns, 2^n); for several a list in table order, or a dict by name. Integers in
        0..p-1 of any integer dtype, NumPy or MLX, any strides. The data is a copy: later writes to `evals` change
        nothing. pad: append zeros where rows are missing. Raises TypeError for floats, bools and other kinds,
        ValueError for a value out of range (with its index), an empty array or another shape, MemoryError without
        `fallback` where a GPU's memory is too small.
        """
        device = self.prover_device
        tables = [device.asarray(matrix) for matrix in table_matrices(self.choices, evals, pad=pad)]
        data = commit_tables(device, self.layout, self.config, self.tree, tables)
        # Reading the commitment computes the data too, so nothing of `evals` is looked at later on a lazy device.
        return read_commitment(data), data

    def open(
        self,
        data: ProverData,
        points=None,
        *,
        schedule: Schedule | Mapping | None = None,
        num_points: int = 1,
        next: bool = False,
    ) -> Proof:
        """Opens committed data, at points drawn from the transcript or at chosen ones.

        points: None, or one point an opening in schedule order (a dict: a list by table name): (log_rows, 4) canonical,
        or (log_rows,) for coordinates in the base field, the most significant variable first. schedule: which columns
        at how many points (a Schedule, or a dict of lists of OpeningBatch by table name); by default every column of
        every table at `num_points` points, or at those given, with `next` also through the successor view.

        Raises ParameterError (InitialClaimsBelowTarget) where so many claims miss the security target, and
        ValueError, TypeError or IndexError for data, schedule or points of another statement.
        """
        if not isinstance(data, ProverData):
            raise TypeError(f"data must come from commit, got {type(data).__name__}")
        if data.layout != self.layout or data.config != self.config or data.tree.config != self.tree:
            raise ValueError("data was committed under other parameters")
        schedule = self.schedule(points, schedule=schedule, num_points=num_points, next=next)
        points = padded_points(self.choices, schedule, points)
        schedule.check(self.layout)
        # Many openings take more memory than the one that the commitment was placed for.
        data = on_device(data, place(data.device, self.choices, schedule, fallback=self.fallback))
        return open_proof(opening_data(self.sumcheck, data, schedule, points), schedule, points=points)

    def verify(
        self,
        commitment: Commitment,
        proof: Proof,
        points=None,
        *,
        expected: Sequence | None = None,
        schedule: Schedule | Mapping | None = None,
        num_points: int = 1,
        next: bool = False,
    ) -> tuple[Opened, ...]:
        """Verifies a proof against a commitment; returns what it opened, in schedule order.

        points, schedule, num_points, next: the statement that *you* want shown, as for `open`; none of it is taken from
        the proof. With `points`, they must not depend on anything the prover chose after seeing them. expected: None,
        or one entry an opening: the (c, 4) canonical values that must have been opened (current columns, then next
        ones; (4,) for a single one), or None for any.

        Raises VerificationError, whose `check` names the first check that failed, and TypeError or ValueError where
        arguments do not fit this statement.
        """
        schedule = self.schedule(points, schedule=schedule, num_points=num_points, next=next)
        points = padded_points(self.choices, schedule, points)
        wanted = _expected_values(schedule, expected)
        trace: list = []
        transcript = None if points is not None else Transcript(self.device, trace=trace)
        evaluations = verify_proof(
            self.device,
            self.layout,
            schedule,
            self.config,
            self.tree,
            commitment,
            proof,
            points=points,
            transcript=transcript,
        )
        if points is None:
            points = self._drawn_points(schedule, trace)
        for k, (values, batch) in enumerate(zip(wanted, evaluations, strict=True)):
            got = np.concatenate([batch.current, batch.next])
            if values is not None and not np.array_equal(values, got):
                raise VerificationError(
                    "OpenedValueMismatch", where=f"opening {k}", expected=values.tolist(), got=got.tolist()
                )
        names = self.choices.names
        return tuple(
            Opened(table, names[table] if names else None, point, batch.current, v.current, batch.next, v.next)
            for (table, batch), point, v in zip(schedule.flat, points, evaluations, strict=True)
        )

    def schedule(self, points=None, *, schedule=None, num_points: int = 1, next: bool = False) -> Schedule:
        """The opening schedule that these arguments of `open` and `verify` stand for."""
        return make_schedule(self.choices, schedule, points, num_points, next)

    def _drawn_points(self, schedule: Schedule, trace: list) -> list[np.ndarray]:
        """The points that the verifier's transcript drew: its samples after the out-of-domain ones, one a batch."""
        samples = [entry[-1] for entry in trace if entry[0] == "sample"][self.config.commitment_ood_samples :]
        points = []
        for (table, _), sample in zip(schedule.flat, samples):
            seed = tuple(int(word) for word in from_montgomery(self.device.numpy(sample)))
            point = np.array(expand(seed, self.layout.padded_log_rows[table]), dtype=np.uint32).reshape(-1, EXT_DEGREE)
            point.setflags(write=False)
            points.append(point)
        return points


def _expected_values(schedule: Schedule, expected: Sequence | None) -> list[np.ndarray | None]:
    if expected is None:
        return [None] * schedule.num_batches
    expected = list(expected)
    if len(expected) != schedule.num_batches:
        raise ValueError(f"expected must hold {schedule.num_batches} entries, one an opening, got {len(expected)}")
    wanted: list[np.ndarray | None] = []
    for k, ((_, batch), values) in enumerate(zip(schedule.flat, expected)):
        if values is not None:
            values = canonical_array(f"expected[{k}]", values)
            if len(batch) == 1 and values.shape == (EXT_DEGREE,):
                values = values[None]
            if values.shape != (len(batch), EXT_DEGREE):
                raise ValueError(f"expected[{k}] must have shape ({len(batch)}, {EXT_DEGREE}), got {values.shape}")
        wanted.append(values)
    return wanted
