# The longest row of prefix reversals over all permutations (Heap's way of making them).
def fannkuch(n):
    order = list(range(n))
    count = [0] * n
    longest = 0
    at = 0
    while True:
        row = order[:]
        flips = 0
        while row[0] != 0:
            first = row[0]
            row[:first + 1] = row[first::-1]
            flips += 1
        longest = max(longest, flips)
        while at < n and count[at] >= at:
            count[at] = 0
            at += 1
        if at == n:
            return longest
        other = 0 if at % 2 == 0 else count[at]
        order[other], order[at] = order[at], order[other]
        count[at] += 1
        at = 0


print(fannkuch(6))
