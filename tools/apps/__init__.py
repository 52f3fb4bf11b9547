"""What people use, above the graphs: the command line, the server, the evaluation. Nothing below imports it."""
