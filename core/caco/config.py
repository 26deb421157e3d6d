"""Defaults under the names that cavaquinho's users import them by."""

from caco.text import LANGUAGES

__all__ = ["DEFAULT_LANGUAGE", "DEFAULT_MODEL", "DEFAULT_THRESHOLD", "SUPPORTED_LANGUAGES"]

SUPPORTED_LANGUAGES: tuple[str, ...] = tuple(LANGUAGES)
DEFAULT_THRESHOLD: float = 0.5
DEFAULT_MODEL: str = "cross-encoder/nli-deberta-v3-base"
DEFAULT_LANGUAGE: str = "english"
