"""The applications above the graphs: command line, server, evaluation. Nothing below imports them."""
