"""Measuring the engine on labelled data, with baselines and intervals (extra ``eval``)."""

from __future__ import annotations

from caco.evaluation.baselines import BASELINES, Baseline, measure_baselines
from caco.evaluation.evaluate import DatasetReport, Evaluation, evaluate
from caco.evaluation.gating import GateReport, gate_report, gate_table
from caco.evaluation.judging import Judgement, Validators
from caco.evaluation.measures import Bin, Estimate, wilson_interval
from caco.evaluation.mutation import Mutant, mutants
from caco.evaluation.mutation_report import MutationReport, mutation_report, read_corpus
from caco.evaluation.page import render_page
from caco.evaluation.plots import plot, save_plots
from caco.evaluation.report import Table, evaluation_tables
from caco.evaluation.rows import Dataset, Row, read_dataset, take
from caco.evaluation.threshold import ThresholdTuning, tune_threshold

__all__ = [
    "BASELINES",
    "Baseline",
    "Bin",
    "Dataset",
    "DatasetReport",
    "Estimate",
    "Evaluation",
    "GateReport",
    "Judgement",
    "Mutant",
    "MutationReport",
    "Row",
    "Table",
    "ThresholdTuning",
    "Validators",
    "evaluate",
    "evaluation_tables",
    "gate_report",
    "gate_table",
    "measure_baselines",
    "mutants",
    "mutation_report",
    "plot",
    "read_corpus",
    "read_dataset",
    "render_page",
    "save_plots",
    "take",
    "tune_threshold",
    "wilson_interval",
]
