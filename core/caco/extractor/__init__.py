"""Extractors: an answer in, its claims out."""

from caco.extractor.base import ExtractorContract
from caco.extractor.llm import LLMExtractor
from caco.extractor.rule import RuleExtractor

__all__ = ["ExtractorContract", "LLMExtractor", "RuleExtractor"]
