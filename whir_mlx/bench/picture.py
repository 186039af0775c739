"""A picture of a profile: a bar of stages, and the launches in time; an HTML page (no library) or PNG (matplotlib)."""

from __future__ import annotations

import html
import os

from whir_mlx.atomic import write_atomic
from whir_mlx.bench.stages import GLUE, WATCHING, Profile
from whir_mlx.bench.tables import milliseconds, percent
from whir_mlx.bench.work import STAGES, stage_of

__all__ = ["check_picture", "write_picture"]

# Colours that stay apart for the colour-blind (Okabe and Ito), then greys.
_PALETTE = "#0072b2 #d55e00 #e69f00 #009e73 #56b4e9 #cc79a7 #f0e442 #882255 #7f3b08 #8073ac #666666 #f0f0f0 #d0d0d0"
_COLOURS = dict(zip((*STAGES, WATCHING, GLUE), _PALETTE.split(), strict=True))
_WIDTH, _LANE, _BAR = 1100, 16, 34


def check_picture(path: str) -> None:
    """Refuses what cannot be drawn, before the work is done. Raises ValueError, and RuntimeError without matplotlib."""
    ending = os.path.splitext(path)[1]
    if ending not in (".html", ".png"):
        raise ValueError(f"a profile's picture must end in .html or .png, got {path!r}")
    if ending == ".png":
        _pyplot()


def write_picture(path: str, profiles: list[tuple[str, Profile]], heading: list[str]) -> None:
    """Draws every (title, profile) below `heading`, lines that say where it was measured."""
    check_picture(path)
    if path.endswith(".html"):
        write_atomic(path, _page(profiles, heading).encode())
    else:
        _draw(path, profiles, heading)


def _shares(profile: Profile) -> list[tuple[str, float, float]]:
    """(stage, ms, share) of every stage."""
    stages = profile.stages()
    total = sum(row["ms"] for row in stages.values()) or 1.0
    return [(name, row["ms"], row["ms"] / total) for name, row in stages.items()]


def _page(profiles: list[tuple[str, Profile]], heading: list[str]) -> str:
    parts = [
        "<!doctype html><meta charset='utf-8'><title>whir-mlx profile</title>",
        "<style>body{font:14px sans-serif;margin:24px;max-width:1150px}td,th{padding:2px 12px;text-align:right}"
        "td:first-child,th:first-child{text-align:left}i{display:inline-block;width:10px;height:10px;margin-right:6px}</style>",
        *(f"<div>{html.escape(line)}</div>" for line in heading),
    ]
    for title, profile in profiles:
        plain = f"{milliseconds(profile.plain_ms)} ms; {milliseconds(profile.instrumented_ms)} ms with instruments"
        parts += [f"<h2>{html.escape(title)}</h2><p>{plain}</p>", _svg(profile), _table(profile)]
    return "\n".join(parts) + "\n"


def _svg(profile: Profile) -> str:
    names = [name for name, *_ in _shares(profile) if name not in (WATCHING, GLUE)]
    shapes, x = [], 0.0
    for name, ms, share in _shares(profile):
        shapes.append(_rectangle(x, 0, share * _WIDTH, _BAR, name, f"{name}: {milliseconds(ms)} ms, {percent(share)}"))
        x += share * _WIDTH
    scale = _WIDTH / (profile.instrumented_ms or 1.0)
    for launch in profile.launches:
        stage = stage_of(launch.kernel)
        y = _BAR + 12 + _LANE * names.index(stage)
        label = f"{launch.kernel}: {milliseconds(launch.ms)} ms at {milliseconds(launch.start_ms)}"
        shapes.append(_rectangle(launch.start_ms * scale, y, max(0.5, launch.ms * scale), _LANE - 3, stage, label))
    height = _BAR + 12 + _LANE * len(names)
    return f"<svg width='{_WIDTH}' height='{height}' role='img'>{''.join(shapes)}</svg>"


def _rectangle(x: float, y: float, width: float, height: float, stage: str, label: str) -> str:
    return (
        f"<rect x='{x:.2f}' y='{y}' width='{width:.2f}' height='{height}' fill='{_COLOURS[stage]}'>"
        f"<title>{html.escape(label)}</title></rect>"
    )


def _table(profile: Profile) -> str:
    rows = "".join(
        f"<tr><td><i style='background:{_COLOURS[name]}'></i>{name}</td>"
        f"<td>{profile.stages()[name]['launches']}</td><td>{milliseconds(ms)}</td><td>{percent(share)}</td></tr>"
        for name, ms, share in _shares(profile)
    )
    return f"<table><tr><th>stage</th><th>launches</th><th>ms</th><th>share</th></tr>{rows}</table>"


def _pyplot():
    try:
        import matplotlib
    except ImportError:
        raise RuntimeError("a PNG needs matplotlib (pip install 'whir-mlx[bench]'); .html needs nothing") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


def _draw(path: str, profiles: list[tuple[str, Profile]], heading: list[str]) -> None:
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(2 * len(profiles), 1, figsize=(12, 4.5 * len(profiles)), squeeze=False)
    for number, (title, profile) in enumerate(profiles):
        bar, lanes = axes[2 * number][0], axes[2 * number + 1][0]
        names = [name for name, *_ in _shares(profile)]
        bar.barh(names, [ms for _, ms, _ in _shares(profile)], color=[_COLOURS[name] for name in names])
        bar.invert_yaxis()
        bar.set_xlabel("ms in all")
        bar.set_title(f"{title}: {milliseconds(profile.plain_ms)} ms ({milliseconds(profile.instrumented_ms)} watched)")
        names = [name for name in names if name not in (WATCHING, GLUE)]
        for launch in profile.launches:
            stage = stage_of(launch.kernel)
            span = [(launch.start_ms, max(launch.ms, profile.instrumented_ms / 2000))]
            lanes.broken_barh(span, (names.index(stage) - 0.4, 0.8), color=_COLOURS[stage])
        lanes.set_yticks(range(len(names)), names)
        lanes.invert_yaxis()
        lanes.set_xlabel("ms since the proof began")
    figure.suptitle("\n".join(heading), fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
