"""`RuleExtractor` where cavaquinho's users import it from."""

from caco.extractor.rule import RuleExtractor

__all__ = ["RuleExtractor"]
