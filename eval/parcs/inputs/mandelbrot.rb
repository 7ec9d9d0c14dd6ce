# How many points of a grid stay near.
def stays(a, b)
  x = y = 0.0
  50.times do
    x, y = x * x - y * y + a, 2 * x * y + b
    return false if x * x + y * y > 4
  end
  true
end

size = 40
near = 0
size.times { |y| size.times { |x| near += 1 if stays(3.0 * x / size - 2, 2.0 * y / size - 1) } }
puts near
