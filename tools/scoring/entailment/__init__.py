"""Entailment checkers that run in this process."""
