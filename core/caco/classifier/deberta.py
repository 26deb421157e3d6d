"""`DeBERTaClassifier` where cavaquinho's users import it from."""

from caco.classifier.cross_encoder import DeBERTaClassifier

__all__ = ["DeBERTaClassifier"]
