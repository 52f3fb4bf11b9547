"""Presentation of a comparison: tables as plain data, and files made from them."""
