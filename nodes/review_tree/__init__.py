"""Shared by the steps that grow a tree of passages (Tree of Reviews, Chain of Reviews)."""
