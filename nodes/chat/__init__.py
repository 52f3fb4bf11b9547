"""The nodes of a chat: read a message, make it standalone, route it, look it up, reply."""
