"""What checks in this process that passages entail a statement."""
