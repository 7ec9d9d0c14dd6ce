"""Renders a page with everything that pages have."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "src"))
import mistune  # noqa: E402

SECTION = """
Heading {n}
===========

A paragraph with *emphasis*, **strong words**, `code`, a [link](/to/{n} "title"), an ![image](a.png)
and <b>raw</b> html & entities; an escaped \\*star\\* and <http://example.org/{n}>.
It has a second line with [a reference][ref{n}] and ends  
after a hard break.

## List {n}

- one
- two with `code {n}`
    - nested *item*
    - another one

      with a paragraph
- three

1. first
2. second

> A quote with **strong** text
> > and another one within

```python
def f(x):
    return x < {n}
```

    indented code {n}

<div class="raw">
block {n}
</div>

***

[ref{n}]: https://example.org/page?q={n}&r=1 'Reference {n}'
"""

TABLE = """
| name | value |
|------|------:|
| a {n} | *1* |
| b | ~~2~~ |

A note[^{n}] and a https://example.org/{n} bare address.

[^{n}]: What the note says.

- [x] done
- [ ] open
"""

plain = mistune.create_markdown(escape=False)
rich = mistune.create_markdown(plugins=["table", "footnotes", "strikethrough", "task_lists", "url"])
digest = hashlib.md5()
for round in range(14):
    text = "\n".join(SECTION.format(n=n + round) for n in range(24))
    digest.update(plain(text).encode())
    digest.update(rich(text + "\n".join(TABLE.format(n=n) for n in range(24))).encode())
print(digest.hexdigest())
