-- Counts, sorts and rewrites words; with a third argument it writes and reads files, too.
local file, rounds, files = arg[1], tonumber(arg[2]), arg[3]
local lines = {}
for line in io.lines(file) do lines[#lines + 1] = line end

local function words(line, count)
  for word in line:gmatch("%a+") do count[word] = (count[word] or 0) + 1 end
end

local function rewrite(line)
  return (line:gsub("(%a)(%a+)", "%2%1"):gsub("%d+", function(n) return tonumber(n) > 400 and "many" or "few" end))
end

local function sorted(count)
  local keys = {}
  for word in pairs(count) do keys[#keys + 1] = word end
  table.sort(keys, function(a, b)
    if count[a] ~= count[b] then return count[a] > count[b] end
    return a < b
  end)
  return keys
end

local length = 0
for round = 1, rounds do
  local count = {}
  for number, line in ipairs(lines) do
    words(line, count)
    local text = rewrite(line)
    length = length + #text
    if files and number % 4 == 0 then
      local name = files .. "/" .. number % 9
      local out = io.open(name, "w")
      out:write(text, "\n")
      out:close()
      for back in io.lines(name) do length = length + #back end
    end
  end
  length = length + #sorted(count)[1]
end
print(length)
