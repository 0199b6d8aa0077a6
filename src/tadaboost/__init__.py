"""Boosting with tempered exponential measures: t-AdaBoost as a scikit-learn classifier."""

__version__ = "0.1.0"
