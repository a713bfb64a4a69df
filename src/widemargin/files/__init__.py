"""Readers and writers of files, one module per format. Writers keep everything that they do not replace."""
