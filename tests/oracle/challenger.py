"""Duplex challenger, Poseidon2 width 16, rate 8 (p3-challenger 0.8.0)."""

from .field import P
from .poseidon2 import permute


class Challenger:
    """`log` holds every operation: ["observe", values], ["sample", [x]], ["grind", bits, w], ["check", bits, w],
    ["sample_bits", bits, x], ["sample_uniform_bits", bits, x].
    """

    def __init__(self):
        self.state, self.inputs, self.outputs, self.log = [0] * 16, [], [], []

    def _duplex(self) -> None:
        if self.inputs:
            count = len(self.inputs)
            self.state[:8] = self.inputs + [0] * (8 - count)
            self.state[8] = (self.state[8] + count) % P
        self.state = permute(self.state)
        self.inputs, self.outputs = [], self.state[:8]

    def _absorb(self, x: int) -> None:
        self.outputs = []
        self.inputs.append(x)
        if len(self.inputs) == 8:
            self._duplex()

    def _draw(self) -> int:
        if self.inputs or not self.outputs:
            self._duplex()
        return self.outputs.pop()

    def observe(self, values) -> None:
        values = list(values)
        for x in values:
            self._absorb(x)
        if self.log and self.log[-1][0] == "observe":
            self.log[-1][1].extend(values)
        elif values:
            self.log.append(["observe", values])

    def sample(self) -> int:
        x = self._draw()
        self.log.append(["sample", [x]])
        return x

    def sample_ext(self) -> tuple:
        return tuple(self.sample() for _ in range(4))

    def sample_bits(self, bits: int) -> int:
        x = self._draw() % 2**bits
        self.log.append(["sample_bits", bits, x])
        return x

    def sample_uniform_bits(self, bits: int) -> int:
        x = self._uniform(bits)
        self.log.append(["sample_uniform_bits", bits, x])
        return x

    def _uniform(self, bits: int) -> int:
        if bits == 0:
            return 0
        if bits > 27:  # more than the two-adicity: two draws, low half first
            low = bits // 2
            first = self._uniform(low)
            return first | self._uniform(bits - low) << low
        while True:
            x = self._draw()
            if x < P - P % 2**bits:
                return x % 2**bits

    def _accepts(self, bits: int, witness: int) -> bool:
        self._absorb(witness)
        return self._draw() % 2**bits == 0

    def grind(self, bits: int) -> int:
        """The smallest witness; 0 and an untouched transcript for 0 bits."""
        if bits == 0:
            return 0
        witness = 0
        while not self._copy()._accepts(bits, witness):
            witness += 1
        self._accepts(bits, witness)
        self.log.append(["grind", bits, witness])
        return witness

    def _copy(self) -> "Challenger":
        """Without the log."""
        other = Challenger()
        other.state, other.inputs, other.outputs = list(self.state), list(self.inputs), list(self.outputs)
        return other

    def check(self, bits: int, witness: int) -> bool:
        if bits == 0:
            return True
        self.log.append(["check", bits, witness])
        return self._accepts(bits, witness)
