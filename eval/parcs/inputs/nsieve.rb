# Counts primes with a list of truth values.
def primes(limit)
  is_prime = Array.new(limit + 1, true)
  count = 0
  (2..limit).each do |number|
    next unless is_prime[number]
    count += 1
    (2 * number).step(limit, number) { |multiple| is_prime[multiple] = false }
  end
  count
end

[2000, 4000, 8000].each { |limit| puts "#{primes(limit)} primes up to #{limit}" }
