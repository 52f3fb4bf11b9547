"""Questions with known answers, and what is measured on them."""
