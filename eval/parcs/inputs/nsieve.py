# Counts primes with a list of truth values.
def primes(limit):
    is_prime = [True] * (limit + 1)
    count = 0
    for number in range(2, limit + 1):
        if is_prime[number]:
            count += 1
            for multiple in range(2 * number, limit + 1, number):
                is_prime[multiple] = False
    return count


for limit in (2000, 4000, 8000):
    print("%d primes up to %d" % (primes(limit), limit))
