"""Renders reStructuredText."""
import sys

from docutils.core import publish_string

with open(sys.argv[1]) as file:
    text = file.read()
print(sum(len(publish_string(text, writer_name="html")) for _ in range(int(sys.argv[2]))))
