"""Stand-ins for GPUs: the emulated CUDA device as one that copies to the host, and as one that shares its memory."""

from dataclasses import replace

from tests.kernels.cuda_emulator import EmulatedCuda


class EmulatedGpu(EmulatedCuda):
    """The emulated device under the name of a target, with `facts` of a test's choosing, counting what is done to it.

    As "metal" the host reads its arrays in place. Launches are CUDA's in either case, but for groups with barriers over
    many rows, whose threads take the host a thousand times longer than independent ones.
    """

    def __init__(self, name: str = "cuda", **facts):
        super().__init__()
        self.name = name
        self.tuning = replace(self.tuning, cooperative_rows=16)
        self.known = facts
        self.launched: list[str] = []
        self.evaluations = self.reads = 0

    def facts(self) -> dict:
        return self.known

    def launch(self, name, *arguments, **keywords):
        self.launched.append(name)
        return super().launch(name, *arguments, **keywords)

    def evaluate(self, *arrays) -> None:
        self.evaluations += 1
        super().evaluate(*arrays)

    def numpy(self, x, *, words=None):
        self.reads += 1
        return super().numpy(x, words=words)
