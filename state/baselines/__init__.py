"""State and settings of the baselines, by what they do with passages."""
