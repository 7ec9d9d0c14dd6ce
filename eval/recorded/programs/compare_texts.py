"""Compares two texts line by line and word by word, as a page and as a patch."""
import difflib
import sys

with open(sys.argv[1]) as file:
    before = file.read().splitlines()[: int(sys.argv[2])]
after = [line.replace("an", "na") if number % 7 == 0 else line for number, line in enumerate(before) if number % 11]

length = sum(len(line) for line in difflib.unified_diff(before, after, "before", "after", lineterm=""))
length += len(difflib.HtmlDiff(wrapcolumn=60).make_table(before, after, context=True))
length += sum(len(difflib.get_close_matches(line, after[:40], n=2)) for line in before[:30])
print(length)
