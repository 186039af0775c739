"""The stacked layout: where every column of every table lies inside one multilinear polynomial of n variables.

A column of a table of 2^a rows takes one slot of 2^a cells. Slots are handed out by a cursor, largest tables first and,
among tables of equal arity, the higher index first. In the suffix order slot s of arity a is the contiguous run
s*2^a .. (s+1)*2^a; in the prefix order slots are interleaved: row r of slot s is cell r*2^(n-a) + reverse_bits(s).
Cells that no slot covers are zero.

Source: p3-sumcheck 0.8.0 `layout/plan.rs`, `layout/witness.rs`, `layout/verifier.rs`, `layout/transcript.rs`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whir_mlx.protocol.folding import index_in_range

__all__ = ["MAX_VARIABLES", "ORDERS", "Layout", "Placement", "TableShape"]

ORDERS = ("suffix", "prefix")

MAX_VARIABLES = 30
"""The stacked polynomial has at most 2^30 cells, so that every cell index fits a signed 32-bit integer."""


@dataclass(frozen=True)
class TableShape:
    """One table: `columns` columns of 2^log_rows rows each, before padding.

    Raises TypeError for non-integers and ValueError unless 0 <= log_rows <= 30 and 1 <= columns <= 2^30.
    """

    log_rows: int
    columns: int

    def __post_init__(self):
        object.__setattr__(self, "log_rows", index_in_range("log_rows", self.log_rows, high=MAX_VARIABLES))
        object.__setattr__(self, "columns", index_in_range("columns", self.columns, 1, 1 << MAX_VARIABLES))


@dataclass(frozen=True)
class Placement:
    """The slot of one column inside the stacked polynomial of n variables.

    table, column: which column. log_rows: a, its padded arity. slot: s, in 0..2^(n-a)-1. offset: s * 2^a, the cursor.
    interleave_slot: s with its n-a bits reversed. selector_bits: the n-a bits that a claim's point gains when it is
    lifted (most significant first): those of `slot` in the suffix order, of `interleave_slot` in the prefix order.
    """

    table: int
    column: int
    slot: int
    interleave_slot: int
    selector_bits: tuple[int, ...]
    log_rows: int
    offset: int


@dataclass(frozen=True)
class Layout:
    """Tables stacked into one polynomial; `folding_factor` is k_0, the arity every shorter table is padded up to.

    order: "suffix" or "prefix", the variable order. tables: TableShape objects or (log_rows, columns) pairs, at least
    one. Raises TypeError for non-integers, ValueError for an unknown order, no table, a folding factor outside
    0..30, or more than 2^30 cells.
    """

    order: str
    tables: tuple[TableShape, ...]
    folding_factor: int

    def __post_init__(self):
        if self.order not in ORDERS:
            raise ValueError(f"order must be 'suffix' or 'prefix', got {self.order!r}")
        tables = tuple(shape if isinstance(shape, TableShape) else TableShape(*shape) for shape in self.tables)
        if not tables:
            raise ValueError("a layout needs at least one table, got none")
        folding_factor = index_in_range("folding_factor", self.folding_factor, high=MAX_VARIABLES)
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "folding_factor", folding_factor)
        if self.num_variables > MAX_VARIABLES:
            raise ValueError(
                f"the stacked polynomial would have 2^{self.num_variables} cells ({self.num_cells} used), "
                f"at most 2^{MAX_VARIABLES} are supported"
            )

    @cached_property
    def padded_log_rows(self) -> tuple[int, ...]:
        """Per table, the committed arity max(log_rows, folding_factor)."""
        return tuple(max(shape.log_rows, self.folding_factor) for shape in self.tables)

    @cached_property
    def num_cells(self) -> int:
        """Cells covered by columns, padding rows included."""
        return sum(shape.columns << arity for shape, arity in zip(self.tables, self.padded_log_rows))

    @cached_property
    def num_variables(self) -> int:
        """n: the number of variables of the stacked polynomial, the base-2 logarithm of `num_cells` rounded up."""
        return (self.num_cells - 1).bit_length()

    @property
    def num_columns(self) -> int:
        """Columns of all tables together."""
        return sum(shape.columns for shape in self.tables)

    @property
    def selector_first(self) -> bool:
        """Whether a lifted point starts with the selector bits (suffix) or ends with them (prefix)."""
        return self.order == "suffix"

    @cached_property
    def table_order(self) -> tuple[int, ...]:
        """Table indices in cursor order: arity descending, ties with the higher index first."""
        return tuple(sorted(range(len(self.tables)), key=lambda table: (-self.padded_log_rows[table], -table)))

    @cached_property
    def table_offsets(self) -> tuple[int, ...]:
        """Per table, the cursor at its column 0."""
        offsets = [0] * len(self.tables)
        cursor = 0
        for table in self.table_order:
            offsets[table] = cursor
            cursor += self.tables[table].columns << self.padded_log_rows[table]
        return tuple(offsets)

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """One Placement per column, in cursor order."""
        return tuple(
            self.placement(table, column) for table in self.table_order for column in range(self.tables[table].columns)
        )

    def placement(self, table: int, column: int) -> Placement:
        """The Placement of one column. Raises IndexError for a table or column that does not exist."""
        if not 0 <= table < len(self.tables):
            raise IndexError(f"table must be in 0..{len(self.tables) - 1}, got {table}")
        if not 0 <= column < self.tables[table].columns:
            raise IndexError(f"column of table {table} must be in 0..{self.tables[table].columns - 1}, got {column}")
        arity = self.padded_log_rows[table]
        offset = self.table_offsets[table] + (column << arity)
        slot = offset >> arity
        width = self.num_variables - arity
        bits = tuple((slot >> i) & 1 for i in range(width))  # least significant first
        return Placement(
            table=table,
            column=column,
            slot=slot,
            interleave_slot=sum(bit << (width - 1 - i) for i, bit in enumerate(bits)),
            selector_bits=bits[::-1] if self.selector_first else bits,
            log_rows=arity,
            offset=offset,
        )

    def binding(self) -> bytes:
        """The label prefix of the layout protocols: arity, order, and the padded shape of every table."""
        prefix = self.order == "prefix"
        parts = [chunk_u64(self.num_variables), chunk_byte(prefix), chunk_byte(not prefix), chunk_u64(len(self.tables))]
        for shape, arity in zip(self.tables, self.padded_log_rows):
            parts += [chunk_u64(arity), chunk_u64(shape.columns)]
        return b"".join(parts)

    def lift(self, placement: Placement, point: np.ndarray, *, one: int = 1) -> np.ndarray:
        """The point of the stacked polynomial at which a column's claim at `point` holds.

        point: (log_rows, 4) uint32; one: the word of 1 in the point's representation (1 canonical). Returns (n, 4)
        uint32: the selector bits before the point (suffix) or after it (prefix). Raises ValueError for another arity.
        """
        if point.shape != (placement.log_rows, 4):
            raise ValueError(f"point must have shape ({placement.log_rows}, 4), got {point.shape}")
        selector = np.zeros((len(placement.selector_bits), 4), dtype=np.uint32)
        selector[:, 0] = np.array(placement.selector_bits, dtype=np.uint32) * np.uint32(one)
        return np.concatenate([selector, point] if self.selector_first else [point, selector])

    def split(self, placement: Placement, point):
        """Splits a point of the stacked polynomial into (selector coordinates, local coordinates) of a placement.

        point: any sequence of n coordinates that can be sliced. The inverse of `lift`: a claim's weight at `point` is
        eq(selector_bits, selector coordinates) times the weight of its local point at the local coordinates.
        """
        if len(point) != self.num_variables:
            raise ValueError(f"point must have {self.num_variables} coordinates, got {len(point)}")
        if self.selector_first:
            cut = len(placement.selector_bits)
            return point[:cut], point[cut:]
        return point[placement.log_rows :], point[: placement.log_rows]

    def stack(self, columns, xp=np):
        """The stacked polynomial, (2^n,), from one (columns, 2^log_rows) matrix per table, in table order.

        xp: the array module of the matrices, numpy or mlx.core; elements and dtype pass through unread. Where one
        column covers the whole polynomial the result is a reshape of the input, not a copy. Raises ValueError for a
        wrong number of matrices or a wrong shape.
        """
        if len(columns) != len(self.tables):
            raise ValueError(f"expected one matrix for each of {len(self.tables)} tables, got {len(columns)}")
        for table, (matrix, shape) in enumerate(zip(columns, self.tables)):
            expected = (shape.columns, 1 << shape.log_rows)
            if tuple(matrix.shape) != expected:
                raise ValueError(f"table {table} must have shape {expected}, got {tuple(matrix.shape)}")
        # From the smallest arity up: the rows of `cells` are slots of 2^arity cells. Before larger tables are put in
        # front, the slots so far are merged into slots of the larger size; the region they occupy starts at a multiple
        # of that size, because everything placed before it is larger.
        cells, arity = None, 0
        for next_arity, tables in self._tables_by_arity():
            slots = [self._pad(columns[table], next_arity, xp) for table in tables]
            if cells is not None:
                slots.append(self._merge(cells, arity, next_arity, xp))
            cells, arity = slots[0] if len(slots) == 1 else xp.concatenate(slots, axis=0), next_arity
        return self._merge(cells, arity, self.num_variables, xp).reshape(-1)

    def _tables_by_arity(self) -> list[tuple[int, list[int]]]:
        """(padded arity ascending, its tables in cursor order)."""
        arities = sorted(set(self.padded_log_rows))
        return [(arity, [t for t in self.table_order if self.padded_log_rows[t] == arity]) for arity in arities]

    @staticmethod
    def _pad(matrix, arity: int, xp):
        """Zero rows (of the table, so trailing cells of each column) up to 2^arity."""
        missing = (1 << arity) - matrix.shape[1]
        if missing == 0:
            return matrix
        return xp.concatenate([matrix, xp.zeros((matrix.shape[0], missing), dtype=matrix.dtype)], axis=1)

    def _merge(self, cells, arity: int, new_arity: int, xp):
        """(slots, 2^arity) -> (blocks, 2^new_arity): neighbouring slots become one, in this layout's order."""
        if arity == new_arity:
            return cells
        per_block = 1 << (new_arity - arity)
        missing = -cells.shape[0] % per_block
        if missing:
            cells = xp.concatenate([cells, xp.zeros((missing, 1 << arity), dtype=cells.dtype)], axis=0)
        blocks = cells.shape[0] // per_block
        if self.order == "prefix":
            # Within a block the slot number, bit-reversed, is the low part of the cell index.
            cells = cells.reshape(blocks, per_block, 1 << arity)
            cells = xp.take(cells, xp.array(reverse_bits(new_arity - arity)), axis=1)
            cells = xp.transpose(cells, (0, 2, 1))
        return cells.reshape(blocks, 1 << new_arity)


def reverse_bits(bits: int) -> np.ndarray:
    """(2^bits,) uint32: entry i is i with its `bits` bits reversed."""
    reversed_ = np.zeros(1, dtype=np.uint32)
    for _ in range(bits):
        reversed_ = np.concatenate([reversed_ * 2, reversed_ * 2 + 1])
    return reversed_


def chunk_u64(value: int) -> bytes:
    """One label chunk: u32 big-endian length 8, then the value as u64 big-endian."""
    return b"\x00\x00\x00\x08" + int(value).to_bytes(8, "big")


def chunk_byte(value: int) -> bytes:
    """One label chunk: u32 big-endian length 1, then one byte."""
    return b"\x00\x00\x00\x01" + int(value).to_bytes(1, "big")
