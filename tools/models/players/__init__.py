"""Models without a language model: how prompts are read, and the reply to every step, over a player."""
