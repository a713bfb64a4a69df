"""Readers and writers of files, by format. Each keeps everything that it does not replace."""
