"""Shared by the hop-by-hop steps (GenGround, ReAct, Self-Ask)."""
