"""Questions with known answers, and measurements on them."""
