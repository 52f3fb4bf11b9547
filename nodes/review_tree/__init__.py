"""What the steps that grow a tree of passages share (Tree of Reviews, Chain of Reviews)."""
