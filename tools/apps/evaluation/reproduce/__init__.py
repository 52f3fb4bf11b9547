"""The papers' tables: their rows as settings of our methods, and our scores next to theirs."""
