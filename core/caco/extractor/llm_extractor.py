"""`LLMExtractor` where cavaquinho's users import it from."""

from caco.extractor.llm import LLMExtractor

__all__ = ["LLMExtractor"]
