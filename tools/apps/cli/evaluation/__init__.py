"""The commands on data sets: many questions, several methods, tables; small models for roles."""
