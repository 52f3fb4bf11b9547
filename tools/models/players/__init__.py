"""What stands in for a language model: how prompts are read, and the replies to every step, over a player."""
