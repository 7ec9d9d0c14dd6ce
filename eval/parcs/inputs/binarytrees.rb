# Makes many small trees and counts their nodes.
def tree(depth)
  depth == 0 ? [nil, nil] : [tree(depth - 1), tree(depth - 1)]
end

def nodes(node)
  left, right = node
  left ? 1 + nodes(left) + nodes(right) : 1
end

(4..8).step(2) do |depth|
  count = 2**(10 - depth)
  total = (0...count).sum { nodes(tree(depth)) }
  puts "#{count} trees of depth #{depth}: #{total}"
end
