"""The choices of a user, and what follows from them for prover and verifier alike: layout, configuration and tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from whir_mlx.protocol.folding import (
    Constant,
    ConstantFromSecondRound,
    FoldingRule,
    PerRound,
    folding_rule,
    index_in_range,
    indices_in_range,
)
from whir_mlx.protocol.layout import Layout, TableShape
from whir_mlx.protocol.merkle_config import TreeConfig, tree_config
from whir_mlx.protocol.parameters import MAX_POW_BITS, WhirConfig, derive_config
from whir_mlx.protocol.security import SecurityReport, security_report
from whir_mlx.protocol.security_bounds import Soundness

__all__ = ["MAX_LOG_WORDS", "Choices", "make_choices"]

MAX_LOG_WORDS = 30
"""No array of the prover has 2^31 words or more: larger ones cannot be indexed by a GPU, and end MLX's process."""


@dataclass(frozen=True)
class Choices:
    """A statement's shape and its parameters; made by `make_choices`, which documents and checks them.

    tables: log rows and columns of each; names: of the tables, or None where they have none. Names are labels for
    people: the transcript binds the order and the shapes of tables, not their names.
    """

    tables: tuple[TableShape, ...]
    names: tuple[str, ...] | None
    folding: FoldingRule
    log_inv_rate: int
    round_log_inv_rates: tuple[int, ...] | None
    security_level: int
    pow_bits: int
    soundness: Soundness
    order: str
    tree: TreeConfig

    @cached_property
    def layout(self) -> Layout:
        """Where the tables' columns lie in the stacked polynomial."""
        return Layout(self.order, self.tables, first_factor(self.folding))

    @cached_property
    def config(self) -> WhirConfig:
        """The derived schedule of rounds."""
        return derive_config(
            self.layout.num_variables,
            folding_factor=self.folding,
            log_inv_rate=self.log_inv_rate,
            round_log_inv_rates=self.round_log_inv_rates,
            security_level=self.security_level,
            pow_bits=self.pow_bits,
            soundness=self.soundness,
        )

    def security(self, num_claims: int | None = None) -> SecurityReport:
        """What the configuration is worth for `num_claims` opened columns (by default every column once)."""
        return security_report(self.config, self.layout.num_columns if num_claims is None else num_claims)

    def table_name(self, table: int) -> str:
        """How messages call a table."""
        return repr(self.names[table]) if self.names else f"table {table}"


def make_choices(
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
) -> Choices:
    """Checked `Choices`, for `Whir` and the command line; arguments as for `Whir`.

    Raises TypeError or ValueError for an argument of the wrong kind or range, ParameterError where the parameter set as
    a whole is refused, and ValueError before anything is allocated where an array would have 2^31 words.
    """
    if (num_variables is None) == (tables is None):
        raise TypeError("give num_variables (and columns), or tables, and not both")
    if tables is not None and columns is not None:
        raise TypeError("columns goes with num_variables; tables name their own")
    names = None
    if tables is None:
        tables = ((num_variables, 1 if columns is None else columns),)
    elif isinstance(tables, Mapping):
        names = tuple(tables)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names of tables must be strings, got {name!r}")
        tables = tuple(tables.values())
    shapes = tuple(_shape(table, entry) for table, entry in enumerate(tables))
    if isinstance(tree, str):
        tree = tree_config(tree, cap_height)
    elif not isinstance(tree, TreeConfig):
        raise TypeError(f"tree must be a name or a TreeConfig, got {type(tree).__name__}")
    rates = None if round_log_inv_rates is None else indices_in_range("round_log_inv_rates", round_log_inv_rates)
    choices = Choices(
        tables=shapes,
        names=names,
        folding=folding_rule(folding_factor),
        log_inv_rate=index_in_range("log_inv_rate", log_inv_rate),
        round_log_inv_rates=rates,
        security_level=index_in_range("security_level", security_level),
        pow_bits=index_in_range("pow_bits", pow_bits, high=MAX_POW_BITS),
        soundness=Soundness(soundness),
        order=layout,
        tree=tree,
    )
    _check_sizes(choices.layout.num_variables, choices.config)
    return choices


def _shape(table: int, entry: object) -> TableShape:
    if isinstance(entry, TableShape):
        return entry
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise TypeError(f"tables[{table}] must be a pair (log_rows, columns), got {entry!r}")
    return TableShape(*entry)


def first_factor(rule: FoldingRule) -> int:
    """The rule's first factor before any clamping: smaller tables are padded up to that many variables."""
    if isinstance(rule, Constant):
        return rule.factor
    if isinstance(rule, ConstantFromSecondRound):
        return rule.first
    if isinstance(rule, PerRound):
        return rule.factors[0] if rule.factors else 0
    raise TypeError(f"folding_factor must be one of the three rules, got {type(rule).__name__}")


def _check_sizes(num_variables: int, config: WhirConfig) -> None:
    """Refuses arrays that 32-bit indices do not reach: codewords, and extension vectors as long as the polynomial."""
    sizes = {"the codeword": num_variables + config.log_inv_rate, "an extension vector": num_variables + 2}
    for i, record in enumerate(config.rounds):
        sizes[f"the codeword of round {i}"] = record.num_variables + record.log_inv_rate + 2
    for name, log_words in sizes.items():
        if log_words > MAX_LOG_WORDS:
            raise ValueError(
                f"{num_variables} variables at this rate are too many: {name} would have 2^{log_words} words, "
                f"at most 2^{MAX_LOG_WORDS} are supported"
            )
