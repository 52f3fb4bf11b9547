"""Shared by the nodes of several methods: the method graph, model calls, the budget, events, human reviews."""
