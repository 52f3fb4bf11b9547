"""Rerankers of passages and sentences that run in this process."""
