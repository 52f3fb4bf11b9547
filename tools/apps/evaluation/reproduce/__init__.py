"""The papers' tables: their rows as settings of our methods, and our scores beside theirs."""
