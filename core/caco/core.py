"""The engine under the name that cavaquinho's users import it by."""

from caco.validator import Validator

__all__ = ["Caco", "Validator", "caco"]

Caco = caco = Validator
