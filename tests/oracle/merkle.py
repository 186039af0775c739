"""Merkle tree over one matrix: arity 2 or 4, zero padding, caps, multi-openings (p3-merkle-tree 0.8.0)."""

from .sponge import EMPTY, compress, hash_row


class MerkleError(Exception):
    pass


class Tree:
    """Rows of ints; `layers[0]` are the padded leaf digests; `cap` is the commitment."""

    def __init__(self, rows: list, arity: int = 2, rate: int = 8, cap_height: int = 0):
        self.rows, self.arity = rows, arity
        self.layers = [pad([hash_row(row, rate) for row in rows], arity)]
        while len(self.layers[-1]) > 1:
            nodes = self.layers[-1]
            parents = [compress(nodes[i : i + arity]) for i in range(0, len(nodes), arity)]
            self.layers.append(pad(parents, arity))
        levels = num_levels(len(rows), arity)
        cap_height = min(cap_height, levels)
        self.levels_below_cap = levels - cap_height
        self.cap = self.layers[self.levels_below_cap][: arity**cap_height]

    def open(self, indices: list) -> tuple:
        """(rows in query order, sibling digests from the leaves up, each once)."""
        siblings = []
        known = sorted(set(indices))
        for layer in self.layers[: self.levels_below_cap]:
            present = set(known)
            known = sorted({index // self.arity for index in known})
            for group in known:
                for node in range(group * self.arity, (group + 1) * self.arity):
                    if node not in present:
                        siblings.append(layer[node])
        return [self.rows[index] for index in indices], siblings


def pad(nodes: list, arity: int) -> list:
    """Zero digests up to a multiple of the arity, unless there is one node."""
    return nodes if len(nodes) == 1 else nodes + [EMPTY] * (-len(nodes) % arity)


def num_levels(height: int, arity: int) -> int:
    levels = 0
    while arity**levels < height:
        levels += 1
    return levels


def verify(cap, height, width, indices, rows, siblings, arity=2, rate=8, cap_height=0) -> None:
    """Raises MerkleError unless the rows are those of `indices` under the cap."""
    if len(rows) != len(indices):
        raise MerkleError(f"{len(rows)} rows for {len(indices)} indices")
    known = {}
    for index, row in zip(indices, rows, strict=True):
        if not 0 <= index < height:
            raise MerkleError(f"index {index} of {height}")
        if len(row) != width:
            raise MerkleError(f"row of {len(row)} words, not {width}")
        digest = hash_row(row, rate)
        if known.setdefault(index, digest) != digest:
            raise MerkleError(f"two rows for index {index}")
    supply = list(siblings)
    levels = num_levels(height, arity)
    for _ in range(levels - min(cap_height, levels)):
        parents = {}
        for group in sorted({index // arity for index in known}):
            children = []
            for node in range(group * arity, (group + 1) * arity):
                if node not in known and not supply:
                    raise MerkleError("too few sibling digests")
                children.append(known[node] if node in known else supply.pop(0))
            parents[group] = compress(children)
        known = parents
    if supply:
        raise MerkleError("too many sibling digests")
    for index, digest in known.items():
        if index >= len(cap) or tuple(cap[index]) != digest:
            raise MerkleError(f"cap entry {index} differs")
