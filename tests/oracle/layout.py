"""Stacked layout of tables into one polynomial (p3-sumcheck 0.8.0 `layout/`), weights of claims, message matrices."""

from dataclasses import dataclass

from .field import ZERO, mul
from .multilinear import bits_of, eq, eq_table, expand, next_at, next_table


@dataclass(frozen=True)
class Batch:
    """Openings of one table at one point; `point` None means drawn from the transcript."""

    table: int
    current: tuple
    next: tuple = ()
    point: tuple | None = None

    @property
    def claims(self) -> list:
        """(column, is next) in claim order."""
        return [(c, False) for c in self.current] + [(c, True) for c in self.next]


class Layout:
    """`tables` is a list of (log rows, columns), padded here to at least 2^min_arity rows."""

    def __init__(self, tables: list, min_arity: int, prefix: bool):
        self.prefix = prefix
        self.tables = [(max(log_rows, min_arity), columns) for log_rows, columns in tables]
        self.num_variables = (sum(columns << a for a, columns in self.tables) - 1).bit_length()
        # Descending arity; among equal arities the higher table index comes first.
        self.order = sorted(range(len(tables)), key=lambda t: (-self.tables[t][0], -t))
        self.slots, cursor = {}, 0
        for t in self.order:
            arity, columns = self.tables[t]
            for c in range(columns):
                self.slots[t, c] = cursor >> arity
                cursor += 1 << arity

    def selector(self, table: int, column: int) -> int:
        """Slot number as it stands in the index: bit-reversed in prefix order."""
        bits = self.num_variables - self.tables[table][0]
        slot = self.slots[table, column]
        return int(f"{slot:0{bits}b}"[::-1], 2) if self.prefix and bits else slot

    def place(self, table: int, column: int, values: list, into: list) -> None:
        """Write a column's values to its cells."""
        arity, selector = self.tables[table][0], self.selector(table, column)
        for row, value in enumerate(values):
            if self.prefix:
                into[row << (self.num_variables - arity) | selector] = value
            else:
                into[selector << arity | row] = value

    def stack(self, data: list) -> list:
        """data[table][column] = ints; short columns and the rest of the cube are zero."""
        out = [0] * 2**self.num_variables
        for t, columns in enumerate(data):
            for c, values in enumerate(columns):
                self.place(t, c, values, out)
        return out

    def claim_order(self, batches: list) -> list:
        """(batch index, column, is next) in the order of the powers of alpha."""
        out = []
        for t in self.order:
            for b, batch in enumerate(batches):
                if batch.table == t:
                    out += [(b, column, is_next) for column, is_next in batch.claims]
        return out

    def weights(self, table: int, column: int, is_next: bool, point: list) -> list:
        """The claim as weights over the cube."""
        out = [ZERO] * 2**self.num_variables
        self.place(table, column, next_table(point) if is_next else eq_table(point), out)
        return out

    def weight_at(self, table: int, column: int, is_next: bool, point: list, x: list) -> tuple:
        """The same weights as a multilinear polynomial at x, in closed form."""
        arity = self.tables[table][0]
        bits = self.num_variables - arity
        local, rest = (x[:arity], x[arity:]) if self.prefix else (x[bits:], x[:bits])
        chosen = eq(bits_of(self.selector(table, column), bits), rest)
        return mul(chosen, next_at(point, local) if is_next else eq(point, local))

    def draw_point(self, batch: Batch, challenger) -> list:
        if batch.point is not None:
            return list(batch.point)
        return expand(challenger.sample_ext(), self.tables[batch.table][0])


def message_matrix(f: list, k: int, prefix: bool) -> list:
    """2^(n-k) rows of 2^k entries: consecutive entries in suffix order, strided by the row count in prefix order."""
    rows = len(f) >> k
    if prefix:
        return [f[i::rows] for i in range(rows)]
    return [f[i << k : (i + 1) << k] for i in range(rows)]
