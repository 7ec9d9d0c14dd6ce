# The longest row of prefix reversals over all permutations.
def flips(row)
  count = 0
  while row[0] != 0
    first = row[0]
    row[0..first] = row[0..first].reverse
    count += 1
  end
  count
end

longest = 0
(0...6).to_a.permutation { |row| longest = [longest, flips(row.dup)].max }
puts longest
