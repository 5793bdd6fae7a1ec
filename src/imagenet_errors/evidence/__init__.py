"""What the stages look things up in, one source a file."""
