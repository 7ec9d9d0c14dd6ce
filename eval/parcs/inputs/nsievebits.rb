# Counts primes with the bits of one large number per thousand.
def primes(limit)
  words = Array.new(limit / 1000 + 1, (1 << 1000) - 1)
  count = 0
  (2..limit).each do |number|
    next if words[number / 1000][number % 1000].zero?
    count += 1
    (2 * number).step(limit, number) { |multiple| words[multiple / 1000] &= ~(1 << multiple % 1000) }
  end
  count
end

[1000, 2000, 4000].each { |limit| puts "#{primes(limit)} primes up to #{limit}" }
