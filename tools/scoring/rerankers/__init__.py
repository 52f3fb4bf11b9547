"""What scores passages and sentences against a query in this process."""
