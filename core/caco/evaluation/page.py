"""An evaluation as an HTML page of its own."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence

from caco.evaluation.report import Table

__all__ = ["render_page"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
caption, h1, h2 { text-align: left; font-weight: 600; }
h2 { font-size: 1.05rem; margin-top: 2rem; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8886; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.note { max-width: 50rem; opacity: .8; }
img { max-width: 100%; background: white; }
"""


def render_page(
    title: str, tables: Iterable[Table], images: Sequence[tuple[str, bytes]] = ()
) -> str:
    """Return a page that needs nothing from outside.

    Args:
        title: Its heading.
        tables: What it shows.
        images: What each shows, and the PNG.

    Returns:
        HTML; every text in it is escaped.
    """
    parts = [_table(table) for table in tables]
    parts += [
        f'<h2>{html.escape(name)}</h2><img alt="{html.escape(f"Plots of {name}")}" '
        f'src="data:image/png;base64,{base64.b64encode(image).decode("ascii")}">'
        for name, image in images
    ]
    heading = html.escape(title)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{heading}</title><style>{_STYLE}</style></head><body><h1>{heading}</h1>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    return (
        f'<h2>{html.escape(table.title)}</h2><div class="wide"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
    )
