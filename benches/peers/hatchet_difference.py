# The seconds hatchet needs for the difference of two trees, without reading them: one line per turn.
# Input: a JSON file with two lists of [parent row or null, name, self value], parents first; then the number of turns.
import json
import sys
import time

import hatchet


def frame(rows):
    nodes, roots = [], []
    for parent, name, value in rows:
        node = {"frame": {"name": name, "type": "function"}, "metrics": {"time": float(value)}, "children": []}
        nodes.append(node)
        (roots if parent is None else nodes[parent]["children"]).append(node)
    return hatchet.GraphFrame.from_literal(roots)


with open(sys.argv[1]) as file:
    before, after = (frame(rows) for rows in json.load(file))
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    after - before
    print(time.perf_counter() - start)
