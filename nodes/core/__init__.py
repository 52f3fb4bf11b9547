"""What the nodes of several methods share: the method graph, model calls, the budget, events, reviews by people."""
