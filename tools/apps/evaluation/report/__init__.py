"""What a comparison looks like: tables as plain data, and files made of them."""
