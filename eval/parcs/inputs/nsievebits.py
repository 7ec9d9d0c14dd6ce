# Counts primes with the bits of one large number per thousand.
def primes(limit):
    words = [(1 << 1000) - 1] * (limit // 1000 + 1)
    count = 0
    for number in range(2, limit + 1):
        if words[number // 1000] >> number % 1000 & 1:
            count += 1
            for multiple in range(2 * number, limit + 1, number):
                words[multiple // 1000] &= ~(1 << multiple % 1000)
    return count


for limit in (1000, 2000, 4000):
    print("%d primes up to %d" % (primes(limit), limit))
