"""Files, locks, background work, HTTP and keys: what every tool may use."""
