"""The nodes of a chat: read a message, make it stand alone, route it, look it up, reply."""
