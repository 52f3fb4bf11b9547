"""`rehearsal:DATASET`: a simulated model that plays every role from a data set's gold annotations."""

from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import RehearsalModel, make_rehearsal

__all__ = ["RehearsalModel", "make_rehearsal"]
