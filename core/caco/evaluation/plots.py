"""Plots of an evaluation, as PNG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from caco.errors import MissingExtraError
from caco.evaluation.evaluate import DatasetReport, Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot", "save_plots"]

_GOOD, _BAD, _LINE = "#2b6cb0", "#c05621", "#444444"


def plot(report: DatasetReport, threshold: float) -> bytes:
    """Draw a set's reliability diagram, ROC curve and histogram of risks side by side.

    Args:
        report: The set, with at least one row that was judged.
        threshold: Where the engine flags; drawn as a line.

    Returns:
        A PNG image.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Plotting", "eval") from error
    # Without pyplot: no global state, no display, safe beside a user's own plots.
    figure = Figure(figsize=(13, 4), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    left, middle, right = figure.subplots(1, 3)
    title = f"{report.dataset.name}: {report.judged} of {len(report.dataset.rows)} rows"
    figure.suptitle(title, parse_math=False)  # a "$" in a file's name is no formula
    _draw_reliability(report, left)
    _draw_curve(report, middle)
    _draw_histogram(report, threshold, right)
    image = io.BytesIO()
    canvas.print_png(image)
    return image.getvalue()


def save_plots(evaluation: Evaluation, folder: str | Path) -> list[Path]:
    """Write a plot of every set that has verdicts into a folder, which is made if need be.

    Returns:
        The files, each named after its set.

    Raises:
        OSError: A file cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files = []
    for name, report in _named(evaluation):
        file = place / f"{name}.png"
        file.write_bytes(plot(report, evaluation.threshold))
        files.append(file)
    return files


def _named(evaluation: Evaluation) -> Iterator[tuple[str, DatasetReport]]:
    taken: set[str] = set()
    for report in evaluation.reports:
        if not report.judged:
            continue
        plain = re.sub(r"[^\w.-]+", "_", report.dataset.name).strip(".") or "data"
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain}_{number}", number + 1
        taken.add(name)
        yield name, report


def _draw_reliability(report: DatasetReport, axes: Axes) -> None:
    filled = [row for row in report.reliability if row.rows]
    most = max(row.rows for row in filled)
    axes.plot([0, 1], [0, 1], color=_LINE, linestyle=":", linewidth=1)
    axes.scatter(
        [row.mean_risk or 0.0 for row in filled],
        [row.bad_share or 0.0 for row in filled],
        s=[20 + 180 * row.rows / most for row in filled],
        color=_GOOD,
        alpha=0.8,
    )
    ece = report.estimate("ece").value
    axes.set(
        title=f"Reliability (ECE {ece:.3f})" if ece is not None else "Reliability",
        xlabel="mean risk",
        ylabel="share of label 1",
        xlim=(-0.02, 1.02),
        ylim=(-0.05, 1.05),
    )


def _draw_curve(report: DatasetReport, axes: Axes) -> None:
    from sklearn.metrics import roc_curve

    area = report.estimate("auroc").value
    axes.plot([0, 1], [0, 1], color=_LINE, linestyle=":", linewidth=1)
    if area is not None:
        false, true, _ = roc_curve(report.labels, report.risks)
        axes.plot(false, true, color=_GOOD)
    axes.set(
        title="ROC (one label only)" if area is None else f"ROC (area {area:.3f})",
        xlabel="share of label 0 flagged",
        ylabel="share of label 1 flagged",
    )


def _draw_histogram(report: DatasetReport, threshold: float, axes: Axes) -> None:
    pairs = list(zip(report.risks, report.labels, strict=True))
    groups = [[risk for risk, bad in pairs if bad is label] for label in (False, True)]
    axes.hist(
        groups,
        bins=20,
        range=(0, 1),
        stacked=True,
        color=[_GOOD, _BAD],
        label=["label 0", "label 1"],
    )
    axes.axvline(threshold, color=_LINE, linestyle="--", linewidth=1)
    axes.set(title="Risks, with the threshold", xlabel="risk", ylabel="rows")
    axes.legend()
