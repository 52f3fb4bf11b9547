"""Embedding models: from texts to vectors."""
