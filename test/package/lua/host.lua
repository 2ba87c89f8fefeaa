-- One exchange of one pool on Redis, in one atomic step on the server's own clock.
-- KEYS[1] hash: "head", "b:<bucket>", "t:<target>" -> a row as JSON. KEYS[2] sorted set: the same names by version.
-- KEYS[1] also holds "run", the server's life that wrote last. ARGV[1] the request as JSON; ARGV[2] (tests) epoch ms.
-- Answers the reply as JSON.
-- The reducer is the one of src/ledger, translated; this file is the store around it.

local ROWS, VERSIONS = KEYS[1], KEYS[2]
local KEPT_MS = 45 * 86400000
local SWEEP_EVERY, SWEEP_MAX = 1000, 20
local DAY_MS = 86400000

-- Numbers in full: cjson writes 14 digits, which is 0.1 ms of an epoch. An empty table is an array under these names.
local ARRAYS = {}
for name in ("free used failed recent suspicions leases retryAt"):gmatch("%a+") do ARRAYS[name] = true end

local encode
local function encodeArray(value)
  local parts = {}
  for i = 1, #value do parts[i] = encode(value[i]) end
  return "[" .. table.concat(parts, ",") .. "]"
end

function encode(value, name)
  local kind = type(value)
  if kind == "number" then return string.format("%.17g", value) end
  if kind == "string" then return cjson.encode(value) end
  if kind ~= "table" then return tostring(value) end
  if #value > 0 or (ARRAYS[name] and next(value) == nil) then return encodeArray(value) end
  local parts = {}
  for key, item in pairs(value) do parts[#parts + 1] = cjson.encode(key) .. ":" .. encode(item, key) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Lua has no null: what may be null is absent in the reducer and written out in the row.
local NULLABLE = { "disabled", "lastError" }
local function encodeTarget(row)
  local text = encode(row)
  for _, name in ipairs(NULLABLE) do
    if row[name] == nil then text = text:sub(1, -2) .. ',"' .. name .. '":null}' end
  end
  return text
end

local function decode(text)
  local row = cjson.decode(text)
  for _, name in ipairs(NULLABLE) do
    if row[name] == cjson.null then row[name] = nil end
  end
  return row
end

local function clock()
  if ARGV[2] then return tonumber(ARGV[2]) end
  local time = redis.call("TIME")
  return tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
end

local request = cjson.decode(ARGV[1])
if request.terms.dailyStop == cjson.null then request.terms.dailyStop = nil end
local now = clock()

local stored = redis.call("HMGET", ROWS, "head", "run")
local head = stored[1] and cjson.decode(stored[1]) or reducer.EMPTY_HEAD
-- A server that was restarted, or a replica that took over, may have lost the last moments, and one whose keys were
-- flushed or evicted has lost all: what was granted then must lie behind before anything is granted again. (A server
-- that does not tell its run is trusted.)
local known, info = pcall(redis.call, "INFO", "server")
local run = known and type(info) == "string" and info:match("run_id:(%w+)") or ""
if (stored[1] and stored[2] ~= run) or (not stored[1] and request.since > 0) then
  head.restUntil = math.max(now, head.now) + reducer.HORIZON_MS + request.terms.windowMs + request.terms.jitterMs
end

local seen = {}
local function read(name)
  if seen[name] == nil then
    local text = redis.call("HGET", ROWS, name)
    seen[name] = text and decode(text) or false
  end
  return seen[name] or nil
end
local rows = {
  head = head,
  bucket = function(_, id) return read("b:" .. id) end,
  target = function(_, id) return read("t:" .. id) end,
}

local result = reducer.exchange(nil, rows, request, now)
local version = result.head.version

local written = {}
for id, row in pairs(result.buckets.items) do written["b:" .. id] = encode(row) end
for id, row in pairs(result.targets.items) do written["t:" .. id] = encodeTarget(row) end
redis.call("HSET", ROWS, "head", encode(result.head))
if stored[2] ~= run then redis.call("HSET", ROWS, "run", run) end
for name, text in pairs(written) do
  redis.call("HSET", ROWS, name, text)
  redis.call("ZADD", VERSIONS, version, name)
end

-- A client that knows more than there is comes from another life of this store: it knows nothing of this one.
local since = request.since < version and request.since or 0
local changed = { b = {}, t = {} }
local function tell(name, text)
  local kind = changed[name:sub(1, 1)]
  if text and name:sub(2, 2) == ":" then kind[#kind + 1] = cjson.encode(name:sub(3)) .. ":" .. text end
end
if since == 0 then
  -- Not by the set, which may have been evicted alone.
  local all = redis.call("HGETALL", ROWS)
  for i = 1, #all, 2 do tell(all[i], all[i + 1]) end
else
  for _, name in ipairs(redis.call("ZRANGEBYSCORE", VERSIONS, "(" .. string.format("%.17g", since), "+inf")) do
    tell(name, written[name] or redis.call("HGET", ROWS, name))
  end
end

-- Rows of keys that left the configuration go after a while, an operator's decision stays; an abandoned pool goes whole.
if not stored[1] or math.floor(now / DAY_MS) > math.floor(head.now / DAY_MS) then
  for _, key in ipairs(KEYS) do redis.call("PEXPIRE", key, KEPT_MS) end
end
if version % SWEEP_EVERY == 1 then
  for _, name in ipairs(redis.call("ZRANGE", VERSIONS, 0, SWEEP_MAX - 1)) do
    local row = not written[name] and read(name)
    if row and reducer.isUnused(nil, row, now) then
      redis.call("HDEL", ROWS, name)
      redis.call("ZREM", VERSIONS, name)
    end
  end
end

local parts = {}
for name, value in pairs(result.reply) do parts[#parts + 1] = '"' .. name .. '":' .. encode(value, name) end
parts[#parts + 1] = '"version":' .. string.format("%.17g", version)
parts[#parts + 1] = '"changes":{"buckets":{' .. table.concat(changed.b, ",") .. '},"targets":{' .. table.concat(changed.t, ",") .. "}}"
return "{" .. table.concat(parts, ",") .. "}"
