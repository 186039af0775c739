"""A transcript's trace as plain lists (`Transcript.steps`)."""

from __future__ import annotations

from whir_mlx.field.constants import MONTY_ONE, P

__all__ = ["rendered"]

_MONTY_INV = pow(MONTY_ONE, -1, P)


def rendered(device, trace: list[tuple]) -> list[list]:
    """The steps of `trace`, each (name, arguments..., array of `device`), with canonical numbers.

    Neighbouring observed runs are one step, of samples each word is one.
    """
    steps = []
    for name, *arguments, array in trace:
        words = [int(word) for word in device.numpy(array)]
        if name in ("observe", "sample"):
            words = [word * _MONTY_INV % P for word in words]
        if name == "observe" and steps and steps[-1][0] == "observe":
            steps[-1][1].extend(words)
        elif name == "observe":
            steps.append([name, words])
        elif name == "sample":
            steps.extend([name, [word]] for word in words)
        else:
            steps.extend([name, *arguments, word] for word in words)
    return steps
