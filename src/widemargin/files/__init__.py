"""Files: readers and writers by format, each of which keeps what it does not replace."""
