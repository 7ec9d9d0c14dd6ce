"""Makes a document with headings, lists, tables and code: Markdown, or reStructuredText."""
import random
import sys


def words(source, count):
    return " ".join("".join(source.choices("abcdefghijklmnoprstuw", k=source.randint(2, 9))) for _ in range(count))


def make(kind, sections):
    source = random.Random(11)
    lines = []
    for number in range(sections):
        title = words(source, 3)
        lines += [f"# {title}" if kind == "md" else f"{title}\n{'=' * len(title)}", ""]
        for _ in range(3):
            text = words(source, 40)
            strong = words(source, 2)
            lines += [f"{text} **{strong}** *{words(source, 1)}* `{words(source, 1)}`", ""]
        lines += [f"* {words(source, 6)}" for _ in range(4)] + [""]
        if kind == "md":
            lines += ["| a | b |", "|---|---|"] + [f"| {words(source, 1)} | {words(source, 2)} |" for _ in range(4)] + [""]
            lines += ["```", words(source, 6), "```", "", f"[{words(source, 1)}](http://example.invalid/{number})", ""]
        else:
            lines += ["::", "", "    " + words(source, 6), ""]
    return "\n".join(lines) + "\n"


sys.stdout.write(make(sys.argv[1], int(sys.argv[2])))
