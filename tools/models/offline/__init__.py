"""`offline:extractive`: the rule-based model without weights that lets everything run with nothing installed."""

from hopgraph.tools.models.offline.offline_model import RuleBasedModel

__all__ = ["RuleBasedModel"]
