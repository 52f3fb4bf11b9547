"""Shared by the steps that go hop by hop (GenGround, ReAct, Self-Ask)."""
