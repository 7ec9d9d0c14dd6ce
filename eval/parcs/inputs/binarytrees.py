# Makes many small trees and counts their nodes.
def tree(depth):
    if depth == 0:
        return (None, None)
    return (tree(depth - 1), tree(depth - 1))


def nodes(node):
    left, right = node
    return 1 if left is None else 1 + nodes(left) + nodes(right)


for depth in range(4, 9, 2):
    count = 2 ** (10 - depth)
    print("%d trees of depth %d: %d" % (count, depth, sum(nodes(tree(depth)) for _ in range(count))))
