"""Rerankers and entailment checkers, and the models with weights that they run on."""
