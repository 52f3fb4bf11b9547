"""Evaluation runs: many questions, several methods, one directory that can be resumed."""
