"""The public sets the model is trained on: how many rows of each, how often, and their licences.

Sets whose publisher states no terms, and sets for non-commercial use only, are not in this table.
``python sources.py`` prints the licence list as Markdown.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One public set.

    Attributes:
        name: File name without ``.jsonl.gz``.
        rows: At most this many rows are drawn.
        copies: How often each drawn row is used; evidence sets are cut to other windows each time.
        licence: The licence its publisher states.
    """

    name: str
    rows: int
    copies: int
    licence: str


CC_BY_SA = "CC BY-SA 4.0"
APACHE = "Apache-2.0"
GLUE = "no licence of its own: distributed for research as in GLUE (RTE, SciTail)"

NLI: tuple[Source, ...] = (
    Source("nli_snli_train_subset", 7000, 1, f"{CC_BY_SA} (SNLI)"),
    Source("nli_snli_dev", 2500, 1, f"{CC_BY_SA} (SNLI)"),
    Source("nli_cad_snli_train", 8330, 1, f"{APACHE} (counterfactually augmented SNLI)"),
    Source("nli_cad_snli_test", 1998, 1, f"{APACHE} (counterfactually augmented SNLI)"),
    Source("nli_mnli_llmsknow_train", 9888, 2, "MIT repository (cut of MultiNLI, OANC licence)"),
    Source("nli_mnli_taxinli", 10071, 2, "C-UDA 1.0 (TaxiNLI, on MultiNLI)"),
    Source("nli_olora_mnli_train", 3000, 2, "MIT repository (cut of MultiNLI, OANC licence)"),
    Source("nli_infotabs_train", 9000, 1, f"{APACHE} (InfoTabS)"),
    Source("nli_conjnli_train_adv15k", 4000, 1, "MIT (ConjNLI)"),
    Source("nli_fm2_dev", 1169, 2, f"{APACHE} (Fool Me Twice)"),
    Source("nli_fm2_test", 1379, 2, f"{APACHE} (Fool Me Twice)"),
    Source("nli_fever_dev", 7500, 1, "CC BY-SA (FEVER)"),
    Source("nli_fever_test", 7500, 1, "CC BY-SA (FEVER)"),
    Source("nli_rte_glue_train", 2488, 2, GLUE),
    Source("nli_rte123_dev", 1767, 1, GLUE),
    Source("nli_rte123_test", 2400, 1, GLUE),
    Source("nli_scitail_test", 2126, 1, GLUE),
    Source("nli_tabfact_val", 9701, 1, "MIT (TabFact)"),
    Source("nli_breaking_nli", 1200, 1, f"{CC_BY_SA} (Breaking NLI)"),
    Source("nli_impli_silver_gold", 2500, 1, f"{APACHE} (IMPLI)"),
    Source("nli_med", 1000, 1, f"{CC_BY_SA} (MED)"),
    Source("nli_help_andor", 1000, 1, f"{CC_BY_SA} (HELP)"),
    Source("nli_pt_assin1_ptbr_train", 2500, 1, "MIT repository (ASSIN)"),
    Source("nli_pt_assin1_ptpt_train", 2500, 1, "MIT repository (ASSIN)"),
    Source("nli_pt_assin1_ptbr_test", 2000, 1, "MIT repository (ASSIN)"),
    Source("nli_pt_assin1_ptpt_test", 2000, 1, "MIT repository (ASSIN)"),
    Source("nli_pt_assin2_train", 6454, 2, "MIT repository (ASSIN 2)"),
    Source("nli_pt_inferbr_train", 8190, 2, "MIT (InferBR)"),
)

EVIDENCE: tuple[Source, ...] = (
    Source("faith_begin_wow_test", 3558, 2, "CC BY 4.0 (BEGIN)"),
    Source("faith_summedits", 4651, 2, f"{APACHE} (SummEdits)"),
    Source("faith_fib_human", 4559, 1, "CC BY 4.0 (FIB)"),
    Source("faith_fib_synthetic", 2915, 1, "CC BY 4.0 (FIB)"),
    Source("faith_bump_task1", 785, 2, "MIT (BUMP)"),
    Source("faith_dialfact_small", 260, 2, "BSD-3-Clause (DialFact)"),
    Source("faith_wice_nonsupported_tokens_train", 374, 2, "ODC-BY (WiCE)"),
)

MAX_PREMISE_WORDS = {"nli_tabfact_val": 130}
"""Rows with longer premises are left out (they would be cut while training)."""


def licence_table() -> str:
    """Markdown table of the sets, rows used and licences."""
    head = ["| set | rows at most | copies | licence |", "|---|---|---|---|"]
    rows = [f"| {s.name} | {s.rows} | {s.copies} | {s.licence} |" for s in NLI + EVIDENCE]
    return "\n".join(head + rows)


def licences() -> str:
    """Markdown list: each licence that is stated, with its sets."""
    named: dict[str, list[str]] = {}
    for source in NLI + EVIDENCE:
        licence, _, what = source.licence.rstrip(")").rpartition(" (")
        named.setdefault(licence, []).append(what)
    return "\n".join(
        f"- {licence}: {'; '.join(dict.fromkeys(what))}" for licence, what in named.items()
    )


if __name__ == "__main__":
    print(licence_table())
