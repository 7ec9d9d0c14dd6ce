# How many points of a grid stay near.
def stays(point):
    value = 0j
    for _ in range(50):
        value = value * value + point
        if abs(value) > 2:
            return False
    return True


size = 40
print(sum(stays(complex(3.0 * x / size - 2, 2.0 * y / size - 1)) for y in range(size) for x in range(size)))
