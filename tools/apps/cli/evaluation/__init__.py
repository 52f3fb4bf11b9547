"""The commands that measure: many questions, several methods, tables."""
