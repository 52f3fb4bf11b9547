"""The steps of the graphs that make training data."""
