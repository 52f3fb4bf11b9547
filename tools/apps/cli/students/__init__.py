"""The commands that train small models for a method's roles, and measure them."""
