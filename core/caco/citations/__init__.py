"""Citations of an answer: found, looked up among the documents, and verified against them."""

from caco.citations.check import CitationCheck, CitationReport, Support, check_citations
from caco.citations.markers import Citation, find_citations, resolve_key

__all__ = [
    "Citation",
    "CitationCheck",
    "CitationReport",
    "Support",
    "check_citations",
    "find_citations",
    "resolve_key",
]
