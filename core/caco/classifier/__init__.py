"""Classifiers: what the documents say about a claim."""

from caco.classifier.base import ClassifierContract
from caco.classifier.cross_encoder import CrossEncoderClassifier, DeBERTaClassifier
from caco.classifier.nli import NLIClassifier

__all__ = ["ClassifierContract", "CrossEncoderClassifier", "DeBERTaClassifier", "NLIClassifier"]
