"""Models without a language model: a player per prompt, and the replies to all steps by its answers."""
