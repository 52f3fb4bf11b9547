"""The baselines that the papers compare with, as small graphs on the same nodes."""
