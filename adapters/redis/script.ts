// Made by `npm run lua` from src/ledger and test/package/lua/host.lua (a91c0498986ed818). Not to be edited.
/** The name by which Redis knows the script once it has seen it. */
export const SCRIPT_SHA = "96ce304c80130be1e79ecda8eab6d6c6e176c10c";
export const SCRIPT: string = `local reducer = (function(...)
local ____modules = {}
local ____moduleCache = {}
local ____originalRequire = nil
local function require(file, ...)
if ____moduleCache[file] then
return ____moduleCache[file].value
end
if ____modules[file] then
local module = ____modules[file]
local value = nil
if (select("#", ...) > 0) then value = module(...) else value = module(file) end
____moduleCache[file] = { value = value }
return value
else
if ____originalRequire then
return ____originalRequire(file)
else
error("module '" .. file .. "' not found")
end
end
end
____modules = {
["lualib_bundle"] = function(...)
local function __TS__ObjectAssign(target, ...)
local sources = {...}
for i = 1, #sources do
local source = sources[i]
if type(source) == "table" then
for key in pairs(source) do
target[key] = source[key]
end
end
end
return target
end
local function __TS__ArraySlice(self, first, last)
local len = #self
first = first or 0
if first < 0 then
first = len + first
if first < 0 then
first = 0
end
else
if first > len then
first = len
end
end
last = last or len
if last < 0 then
last = len + last
if last < 0 then
last = 0
end
else
if last > len then
last = len
end
end
local out = {}
first = first + 1
last = last + 1
local n = 1
while first < last do
out[n] = self[first]
first = first + 1
n = n + 1
end
return out
end
local function __TS__ArrayPushArray(self, items)
local len = #self
for i = 1, #items do
len = len + 1
self[len] = items[i]
end
return len
end
local function __TS__ArrayFilter(self, callbackfn, thisArg)
local result = {}
local len = 0
for i = 1, #self do
if callbackfn(thisArg, self[i], i - 1, self) then
len = len + 1
result[len] = self[i]
end
end
return result
end
local function __TS__ArrayIncludes(self, searchElement, fromIndex)
if fromIndex == nil then
fromIndex = 0
end
local len = #self
local k = fromIndex
if fromIndex < 0 then
k = len + fromIndex
end
if k < 0 then
k = 0
end
for i = k + 1, len do
if self[i] == searchElement then
return true
end
end
return false
end
local function __TS__CountVarargs(...)
return select("#", ...)
end
local function __TS__SparseArrayNew(...)
local sparseArray = {...}
sparseArray.sparseLength = __TS__CountVarargs(...)
return sparseArray
end
local function __TS__SparseArrayPush(sparseArray, ...)
local args = {...}
local argsLen = __TS__CountVarargs(...)
local listLen = sparseArray.sparseLength
for i = 1, argsLen do
sparseArray[listLen + i] = args[i]
end
sparseArray.sparseLength = listLen + argsLen
end
local function __TS__SparseArraySpread(sparseArray)
local _unpack = unpack or table.unpack
return _unpack(sparseArray, 1, sparseArray.sparseLength)
end
local function __TS__ArraySort(self, compareFn)
if compareFn ~= nil then
table.sort(
self,
function(a, b) return compareFn(nil, a, b) < 0 end
)
else
table.sort(self)
end
return self
end
local function __TS__ObjectKeys(obj)
local result = {}
local len = 0
for key in pairs(obj) do
len = len + 1
result[len] = key
end
return result
end
local function __TS__Class(self)
local c = {prototype = {}}
c.prototype.__index = c.prototype
c.prototype.constructor = c
return c
end
local __TS__Symbol, Symbol
do
local symbolMetatable = {__tostring = function(self)
return ("Symbol(" .. (self.description or "")) .. ")"
end}
function __TS__Symbol(description)
return setmetatable({description = description}, symbolMetatable)
end
Symbol = {
asyncDispose = __TS__Symbol("Symbol.asyncDispose"),
dispose = __TS__Symbol("Symbol.dispose"),
iterator = __TS__Symbol("Symbol.iterator"),
hasInstance = __TS__Symbol("Symbol.hasInstance"),
species = __TS__Symbol("Symbol.species"),
toStringTag = __TS__Symbol("Symbol.toStringTag")
}
end
local __TS__Iterator
do
local function iteratorGeneratorStep(self)
local co = self.____coroutine
local status, value = coroutine.resume(co)
if not status then
error(value, 0)
end
if coroutine.status(co) == "dead" then
return
end
return true, value
end
local function iteratorIteratorStep(self)
local result = self:next()
if result.done then
return
end
return true, result.value
end
local function iteratorStringStep(self, index)
index = index + 1
if index > #self then
return
end
return index, string.sub(self, index, index)
end
function __TS__Iterator(iterable)
if type(iterable) == "string" then
return iteratorStringStep, iterable, 0
elseif iterable.____coroutine ~= nil then
return iteratorGeneratorStep, iterable
elseif iterable[Symbol.iterator] then
local iterator = iterable[Symbol.iterator](iterable)
return iteratorIteratorStep, iterator
else
return ipairs(iterable)
end
end
end
local Map
do
Map = __TS__Class()
Map.name = "Map"
function Map.prototype.____constructor(self, entries)
self[Symbol.toStringTag] = "Map"
self.items = {}
self.size = 0
self.nextKey = {}
self.previousKey = {}
if entries == nil then
return
end
local iterable = entries
if iterable[Symbol.iterator] then
local iterator = iterable[Symbol.iterator](iterable)
while true do
local result = iterator:next()
if result.done then
break
end
local value = result.value
self:set(value[1], value[2])
end
else
local array = entries
for ____, kvp in ipairs(array) do
self:set(kvp[1], kvp[2])
end
end
end
function Map.prototype.clear(self)
self.items = {}
self.nextKey = {}
self.previousKey = {}
self.firstKey = nil
self.lastKey = nil
self.size = 0
end
function Map.prototype.delete(self, key)
local contains = self:has(key)
if contains then
self.size = self.size - 1
local next = self.nextKey[key]
local previous = self.previousKey[key]
if next ~= nil and previous ~= nil then
self.nextKey[previous] = next
self.previousKey[next] = previous
elseif next ~= nil then
self.firstKey = next
self.previousKey[next] = nil
elseif previous ~= nil then
self.lastKey = previous
self.nextKey[previous] = nil
else
self.firstKey = nil
self.lastKey = nil
end
self.nextKey[key] = nil
self.previousKey[key] = nil
end
self.items[key] = nil
return contains
end
function Map.prototype.forEach(self, callback)
for ____, key in __TS__Iterator(self:keys()) do
callback(nil, self.items[key], key, self)
end
end
function Map.prototype.get(self, key)
return self.items[key]
end
function Map.prototype.has(self, key)
return self.nextKey[key] ~= nil or self.lastKey == key
end
function Map.prototype.set(self, key, value)
local isNewValue = not self:has(key)
if isNewValue then
self.size = self.size + 1
end
self.items[key] = value
if self.firstKey == nil then
self.firstKey = key
self.lastKey = key
elseif isNewValue then
self.nextKey[self.lastKey] = key
self.previousKey[key] = self.lastKey
self.lastKey = key
end
return self
end
Map.prototype[Symbol.iterator] = function(self)
return self:entries()
end
function Map.prototype.entries(self)
local function getFirstKey()
return self.firstKey
end
local items = self.items
local nextKey = self.nextKey
local key
local started = false
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
if not started then
started = true
key = getFirstKey(nil)
else
key = nextKey[key]
end
return {done = not key, value = {key, items[key]}}
end
}
end
function Map.prototype.keys(self)
local function getFirstKey()
return self.firstKey
end
local nextKey = self.nextKey
local key
local started = false
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
if not started then
started = true
key = getFirstKey(nil)
else
key = nextKey[key]
end
return {done = not key, value = key}
end
}
end
function Map.prototype.values(self)
local function getFirstKey()
return self.firstKey
end
local items = self.items
local nextKey = self.nextKey
local key
local started = false
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
if not started then
started = true
key = getFirstKey(nil)
else
key = nextKey[key]
end
return {done = not key, value = items[key]}
end
}
end
Map[Symbol.species] = Map
end
local function __TS__New(target, ...)
local instance = setmetatable({}, target.prototype)
instance:____constructor(...)
return instance
end
local function __TS__ArrayMap(self, callbackfn, thisArg)
local result = {}
for i = 1, #self do
result[i] = callbackfn(thisArg, self[i], i - 1, self)
end
return result
end
local Set
do
Set = __TS__Class()
Set.name = "Set"
function Set.prototype.____constructor(self, values)
self[Symbol.toStringTag] = "Set"
self.size = 0
self.nextKey = {}
self.previousKey = {}
if values == nil then
return
end
local iterable = values
if iterable[Symbol.iterator] then
local iterator = iterable[Symbol.iterator](iterable)
while true do
local result = iterator:next()
if result.done then
break
end
self:add(result.value)
end
else
local array = values
for ____, value in ipairs(array) do
self:add(value)
end
end
end
function Set.prototype.add(self, value)
local isNewValue = not self:has(value)
if isNewValue then
self.size = self.size + 1
end
if self.firstKey == nil then
self.firstKey = value
self.lastKey = value
elseif isNewValue then
self.nextKey[self.lastKey] = value
self.previousKey[value] = self.lastKey
self.lastKey = value
end
return self
end
function Set.prototype.clear(self)
self.nextKey = {}
self.previousKey = {}
self.firstKey = nil
self.lastKey = nil
self.size = 0
end
function Set.prototype.delete(self, value)
local contains = self:has(value)
if contains then
self.size = self.size - 1
local next = self.nextKey[value]
local previous = self.previousKey[value]
if next ~= nil and previous ~= nil then
self.nextKey[previous] = next
self.previousKey[next] = previous
elseif next ~= nil then
self.firstKey = next
self.previousKey[next] = nil
elseif previous ~= nil then
self.lastKey = previous
self.nextKey[previous] = nil
else
self.firstKey = nil
self.lastKey = nil
end
self.nextKey[value] = nil
self.previousKey[value] = nil
end
return contains
end
function Set.prototype.forEach(self, callback)
for ____, key in __TS__Iterator(self:keys()) do
callback(nil, key, key, self)
end
end
function Set.prototype.has(self, value)
return self.nextKey[value] ~= nil or self.lastKey == value
end
Set.prototype[Symbol.iterator] = function(self)
return self:values()
end
function Set.prototype.entries(self)
local function getFirstKey()
return self.firstKey
end
local nextKey = self.nextKey
local key
local started = false
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
if not started then
started = true
key = getFirstKey(nil)
else
key = nextKey[key]
end
return {done = not key, value = {key, key}}
end
}
end
function Set.prototype.keys(self)
local function getFirstKey()
return self.firstKey
end
local nextKey = self.nextKey
local key
local started = false
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
if not started then
started = true
key = getFirstKey(nil)
else
key = nextKey[key]
end
return {done = not key, value = key}
end
}
end
function Set.prototype.values(self)
local function getFirstKey()
return self.firstKey
end
local nextKey = self.nextKey
local key
local started = false
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
if not started then
started = true
key = getFirstKey(nil)
else
key = nextKey[key]
end
return {done = not key, value = key}
end
}
end
function Set.prototype.union(self, other)
local result = __TS__New(Set, self)
for ____, item in __TS__Iterator(other) do
result:add(item)
end
return result
end
function Set.prototype.intersection(self, other)
local result = __TS__New(Set)
for ____, item in __TS__Iterator(self) do
if other:has(item) then
result:add(item)
end
end
return result
end
function Set.prototype.difference(self, other)
local result = __TS__New(Set, self)
for ____, item in __TS__Iterator(other) do
result:delete(item)
end
return result
end
function Set.prototype.symmetricDifference(self, other)
local result = __TS__New(Set, self)
for ____, item in __TS__Iterator(other) do
if self:has(item) then
result:delete(item)
else
result:add(item)
end
end
return result
end
function Set.prototype.isSubsetOf(self, other)
for ____, item in __TS__Iterator(self) do
if not other:has(item) then
return false
end
end
return true
end
function Set.prototype.isSupersetOf(self, other)
for ____, item in __TS__Iterator(other) do
if not self:has(item) then
return false
end
end
return true
end
function Set.prototype.isDisjointFrom(self, other)
for ____, item in __TS__Iterator(self) do
if other:has(item) then
return false
end
end
return true
end
Set[Symbol.species] = Set
end
local function __TS__StringAccess(self, index)
if index >= 0 and index < #self then
return string.sub(self, index + 1, index + 1)
end
end
local __TS__Unpack = table.unpack or unpack
local function __TS__Spread(iterable)
local arr = {}
if type(iterable) == "string" then
for i = 0, #iterable - 1 do
arr[i + 1] = __TS__StringAccess(iterable, i)
end
else
local len = 0
for ____, item in __TS__Iterator(iterable) do
len = len + 1
arr[len] = item
end
end
return __TS__Unpack(arr)
end
local function __TS__ArrayIsArray(value)
return type(value) == "table" and (value[1] ~= nil or next(value) == nil)
end
local function __TS__ArrayFlatMap(self, callback, thisArg)
local result = {}
local len = 0
for i = 1, #self do
local value = callback(thisArg, self[i], i - 1, self)
if __TS__ArrayIsArray(value) then
for j = 1, #value do
len = len + 1
result[len] = value[j]
end
else
len = len + 1
result[len] = value
end
end
return result
end
local function __TS__ArrayEntries(array)
local key = 0
return {
[Symbol.iterator] = function(self)
return self
end,
next = function(self)
local result = {done = array[key + 1] == nil, value = {key, array[key + 1]}}
key = key + 1
return result
end
}
end
local function __TS__ArrayFind(self, predicate, thisArg)
for i = 1, #self do
local elem = self[i]
if predicate(thisArg, elem, i - 1, self) then
return elem
end
end
return nil
end
local function __TS__ArrayReduce(self, callbackFn, ...)
local len = #self
local k = 0
local accumulator = nil
if __TS__CountVarargs(...) ~= 0 then
accumulator = ...
elseif len > 0 then
accumulator = self[1]
k = 1
else
error("Reduce of empty array with no initial value", 0)
end
for i = k + 1, len do
accumulator = callbackFn(
nil,
accumulator,
self[i],
i - 1,
self
)
end
return accumulator
end
local function __TS__ObjectEntries(obj)
local result = {}
local len = 0
for key in pairs(obj) do
len = len + 1
result[len] = {key, obj[key]}
end
return result
end
local function __TS__ObjectFromEntries(entries)
local obj = {}
local iterable = entries
if iterable[Symbol.iterator] then
local iterator = iterable[Symbol.iterator](iterable)
while true do
local result = iterator:next()
if result.done then
break
end
local value = result.value
obj[value[1]] = value[2]
end
else
for ____, entry in ipairs(entries) do
obj[entry[1]] = entry[2]
end
end
return obj
end
local __TS__StringSplit
do
local sub = string.sub
local find = string.find
function __TS__StringSplit(source, separator, limit)
if limit == nil then
limit = 4294967295
end
if limit == 0 then
return {}
end
local result = {}
local resultIndex = 1
if separator == nil or separator == "" then
for i = 1, #source do
result[resultIndex] = sub(source, i, i)
resultIndex = resultIndex + 1
end
else
local currentPos = 1
while resultIndex <= limit do
local startPos, endPos = find(source, separator, currentPos, true)
if not startPos then
break
end
result[resultIndex] = sub(source, currentPos, startPos - 1)
resultIndex = resultIndex + 1
currentPos = endPos + 1
end
if resultIndex <= limit then
result[resultIndex] = sub(source, currentPos)
end
end
return result
end
end
local function __TS__StringSlice(self, start, ____end)
if start == nil or start ~= start then
start = 0
end
if ____end ~= ____end then
____end = 0
end
if start >= 0 then
start = start + 1
end
if ____end ~= nil and ____end < 0 then
____end = ____end - 1
end
return string.sub(self, start, ____end)
end
local function __TS__Number(value)
local valueType = type(value)
if valueType == "number" then
return value
elseif valueType == "string" then
local numberValue = tonumber(value)
if numberValue then
return numberValue
end
if value == "Infinity" then
return math.huge
end
if value == "-Infinity" then
return -math.huge
end
local stringWithoutSpaces = string.gsub(value, "%s", "")
if stringWithoutSpaces == "" then
return 0
end
return 0 / 0
elseif valueType == "boolean" then
return value and 1 or 0
else
return 0 / 0
end
end
local function __TS__ObjectValues(obj)
local result = {}
local len = 0
for key in pairs(obj) do
len = len + 1
result[len] = obj[key]
end
return result
end
return {
__TS__ObjectAssign = __TS__ObjectAssign,
__TS__ArraySlice = __TS__ArraySlice,
__TS__ArrayPushArray = __TS__ArrayPushArray,
__TS__ArrayFilter = __TS__ArrayFilter,
__TS__ArrayIncludes = __TS__ArrayIncludes,
__TS__SparseArrayNew = __TS__SparseArrayNew,
__TS__SparseArrayPush = __TS__SparseArrayPush,
__TS__SparseArraySpread = __TS__SparseArraySpread,
__TS__ArraySort = __TS__ArraySort,
__TS__ObjectKeys = __TS__ObjectKeys,
Map = Map,
__TS__New = __TS__New,
__TS__Iterator = __TS__Iterator,
__TS__ArrayMap = __TS__ArrayMap,
Set = Set,
__TS__Spread = __TS__Spread,
__TS__ArrayFlatMap = __TS__ArrayFlatMap,
__TS__ArrayEntries = __TS__ArrayEntries,
__TS__ArrayFind = __TS__ArrayFind,
__TS__ArrayReduce = __TS__ArrayReduce,
__TS__ObjectEntries = __TS__ObjectEntries,
__TS__ObjectFromEntries = __TS__ObjectFromEntries,
__TS__Class = __TS__Class,
__TS__StringSplit = __TS__StringSplit,
__TS__StringSlice = __TS__StringSlice,
__TS__Number = __TS__Number,
__TS__ObjectValues = __TS__ObjectValues
}
end,
["lib.fade"] = function(...)
local ____exports = {}
local STEPS = 2 ^ 30
function ____exports.fade(self, elapsed, halfLife)
return math.floor(2 ^ (-elapsed / halfLife) * STEPS + 0.5) / STEPS
end
return ____exports
end,
["ports.state"] = function(...)
local ____exports = {}
return ____exports
end,
["ports.ledger"] = function(...)
local ____exports = {}
return ____exports
end,
["ledger.gate"] = function(...)
local ____lualib = require("lualib_bundle")
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local ____exports = {}
____exports.PROBE_TTL_MS = 10000
function ____exports.opensAt(self, gate)
return (gate.kind == "cooling" or gate.kind == "probing") and gate["until"] or 0
end
local function probedAt(self, gate)
return gate["until"] - ____exports.PROBE_TTL_MS
end
function ____exports.cool(self, gate, ____until, reason, ramp)
repeat
local ____switch5 = gate.kind
local ____cond5 = ____switch5 == "open"
if ____cond5 then
return {kind = "cooling", ["until"] = ____until, reason = reason, ramp = ramp}
end
____cond5 = ____cond5 or ____switch5 == "ramping"
if ____cond5 then
return {kind = "cooling", ["until"] = ____until, reason = reason, ramp = true}
end
____cond5 = ____cond5 or ____switch5 == "probing"
if ____cond5 then
return ____until <= probedAt(nil, gate) and gate or ({kind = "cooling", ["until"] = ____until, reason = reason, ramp = true})
end
____cond5 = ____cond5 or ____switch5 == "cooling"
if ____cond5 then
if ____until <= gate["until"] then
return ramp and not gate.ramp and __TS__ObjectAssign({}, gate, {ramp = ramp}) or gate
end
return {kind = "cooling", ["until"] = ____until, reason = reason, ramp = ramp or gate.ramp}
end
until true
end
function ____exports.closedAfter(self, gate, at)
if gate.kind == "cooling" then
return at < gate["until"]
end
return gate.kind == "probing" and at < probedAt(nil, gate)
end
function ____exports.pass(self, gate, at, client)
if at < ____exports.opensAt(nil, gate) then
return gate
end
if gate.kind == "cooling" and gate.ramp then
return {kind = "probing", owner = client, ["until"] = at + ____exports.PROBE_TTL_MS, reason = gate.reason}
end
if gate.kind == "probing" then
return __TS__ObjectAssign({}, gate, {owner = client, ["until"] = at + ____exports.PROBE_TTL_MS})
end
if gate.kind == "ramping" and at >= gate["until"] then
return {kind = "open"}
end
return gate
end
function ____exports.succeed(self, gate, at, now, rampMs)
if gate.kind == "probing" and at >= probedAt(nil, gate) then
return {kind = "ramping", ["until"] = now + rampMs}
end
return gate
end
function ____exports.abandon(self, gate, at, now)
if gate.kind == "probing" and at >= probedAt(nil, gate) then
return {
kind = "cooling",
["until"] = math.max(
now,
probedAt(nil, gate)
),
reason = gate.reason,
ramp = true
}
end
return gate
end
function ____exports.rateAt(self, gate, at)
return (gate.kind == "probing" or gate.kind == "ramping" and at < gate["until"]) and 0.5 or 1
end
return ____exports
end,
["ledger.window"] = function(...)
local ____lualib = require("lualib_bundle")
local __TS__ArraySlice = ____lualib.__TS__ArraySlice
local __TS__ArrayPushArray = ____lualib.__TS__ArrayPushArray
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local ____exports = {}
local SLICE_MS = 30000
local SLICES = 30
____exports.DAY_MS = 86400000
____exports.EMPTY_WINDOW = {slice = 0, used = {}, failed = {}}
local function shift(self, counts, by)
if by >= SLICES then
return {0}
end
local shifted = {}
do
local i = 0
while i < by do
shifted[#shifted + 1] = 0
i = i + 1
end
end
__TS__ArrayPushArray(
shifted,
__TS__ArraySlice(counts, 0, SLICES - by)
)
return shifted
end
function ____exports.count(self, window, now, used, failed)
local slice = math.max(
math.floor(now / SLICE_MS),
window.slice
)
local by = slice - window.slice
local next = {
slice = slice,
used = by == 0 and __TS__ArraySlice(window.used) or shift(nil, window.used, by),
failed = by == 0 and __TS__ArraySlice(window.failed) or shift(nil, window.failed, by)
}
next.used[1] = math.max(0, (next.used[1] or 0) + used)
next.failed[1] = math.max(0, (next.failed[1] or 0) + failed)
return next
end
function ____exports.sum(self, window, counts, now, minutes)
local old = math.floor(now / SLICE_MS) - window.slice
local ____until = minutes * 2 - old
local values = window[counts]
local total = 0
do
local i = 0
while i < ____until and i < #values do
total = total + (values[i + 1] or 0)
i = i + 1
end
end
return total
end
function ____exports.dayOf(self, at)
return math.floor(at / ____exports.DAY_MS)
end
function ____exports.usedToday(self, today, now)
return today.day == ____exports.dayOf(nil, now) and today.used or 0
end
function ____exports.countDay(self, today, at, calls)
local day = ____exports.dayOf(nil, at)
if day < today.day then
return today
end
return day == today.day and __TS__ObjectAssign(
{},
today,
{used = math.max(0, today.used + calls)}
) or ({
day = day,
used = math.max(0, calls)
})
end
function ____exports.spendDay(self, today, at)
return ____exports.dayOf(nil, at) < today.day and today or __TS__ObjectAssign(
{},
____exports.countDay(nil, today, at, 0),
{spent = true}
)
end
function ____exports.isSpent(self, today, at, stop)
if today.spent == true and today.day == ____exports.dayOf(nil, at) then
return true
end
return stop ~= nil and ____exports.usedToday(nil, today, at) >= stop
end
return ____exports
end,
["ledger.bucket"] = function(...)
local ____lualib = require("lualib_bundle")
local __TS__ArrayFilter = ____lualib.__TS__ArrayFilter
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local __TS__ArrayIncludes = ____lualib.__TS__ArrayIncludes
local __TS__SparseArrayNew = ____lualib.__TS__SparseArrayNew
local __TS__SparseArrayPush = ____lualib.__TS__SparseArrayPush
local __TS__SparseArraySpread = ____lualib.__TS__SparseArraySpread
local __TS__ArraySort = ____lualib.__TS__ArraySort
local __TS__ArraySlice = ____lualib.__TS__ArraySlice
local ____exports = {}
local ____gate = require("ledger.gate")
local rateAt = ____gate.rateAt
local ____window = require("ledger.window")
local DAY_MS = ____window.DAY_MS
local SHARE_SHRINK = 0.7
local SHARE_FLOOR = 0.2
local SHARE_REGAIN_PER_S = 0.05
local FOREIGN_USE_MS = 600000
local RAISE_AFTER_MS = 600000
local RAISE_FACTOR = 1.05
local FREE_MAX = 16
local DAY_BURST = 1000
function ____exports.newBucket(self, terms)
return {
version = 0,
tat = 0,
last = 0,
epoch = 0,
gate = {kind = "open"},
limit = terms.limit,
limitSource = "configured",
raiseAt = 0,
share = 1,
shareAt = 0,
today = {day = 0, used = 0},
dayTat = 0,
holder = "",
free = {}
}
end
function ____exports.ceiling(self, bucket, terms)
return bucket.limitSource == "configured" and terms.limit or bucket.limit
end
function ____exports.shareAt(self, bucket, now)
return math.min(
1,
bucket.share + SHARE_REGAIN_PER_S * math.max(0, now - bucket.shareAt) / 1000
)
end
function ____exports.hasForeignUse(self, bucket, now)
return bucket.share < 1 and now < bucket.shareAt + FOREIGN_USE_MS
end
function ____exports.gapAt(self, bucket, terms, at)
local window = terms.windowMs + terms.jitterMs
local perWindow = ____exports.ceiling(nil, bucket, terms) * terms.windowMs / 1000
return window / (perWindow * ____exports.shareAt(nil, bucket, at) * rateAt(nil, bucket.gate, at))
end
function ____exports.dayGap(self, terms)
return terms.dailyPacing and terms.dailyStop ~= nil and terms.dailyStop > 0 and DAY_MS / terms.dailyStop or 0
end
function ____exports.dayReadyAt(self, bucket, terms)
local gap = ____exports.dayGap(nil, terms)
return gap == 0 and 0 or bucket.dayTat - gap * math.min(DAY_BURST, (terms.dailyStop or 0) / 10)
end
function ____exports.take(self, bucket, terms, slot)
local ____slot_0 = slot
local at = ____slot_0.at
local cost = ____slot_0.cost
local client = ____slot_0.client
local reissued = ____slot_0.reissued
local gate = ____slot_0.gate
local slowed = math.min(
1,
rateAt(nil, gate, at) / rateAt(nil, bucket.gate, at)
)
return __TS__ObjectAssign(
{},
bucket,
{
limit = ____exports.ceiling(nil, bucket, terms),
tat = reissued and bucket.tat or at + cost * ____exports.gapAt(nil, bucket, terms, at) / slowed,
last = math.max(bucket.last, at),
dayTat = ____exports.dayGap(nil, terms) == 0 and bucket.dayTat or math.max(bucket.dayTat, at) + cost * ____exports.dayGap(nil, terms),
holder = reissued and bucket.holder or client,
free = __TS__ArrayFilter(
bucket.free,
function(____, free) return free > at end
)
}
)
end
function ____exports.giveBack(self, bucket, slot, now)
if slot.epoch ~= bucket.epoch or slot.at <= now or __TS__ArrayIncludes(bucket.free, slot.at) then
return bucket
end
local ahead = __TS__ArrayFilter(
bucket.free,
function(____, at) return at > now end
)
local ____bucket_2 = bucket
local ____array_1 = __TS__SparseArrayNew(unpack(ahead))
__TS__SparseArrayPush(____array_1, slot.at)
return __TS__ObjectAssign(
{},
____bucket_2,
{free = __TS__ArraySlice(
__TS__ArraySort(
{__TS__SparseArraySpread(____array_1)},
function(____, a, b) return a - b end
),
0,
FREE_MAX
)}
)
end
function ____exports.adjustCost(self, bucket, terms, slot, now)
local gap = ____exports.gapAt(nil, bucket, terms, now)
if slot.units >= 0 then
return __TS__ObjectAssign(
{},
bucket,
{tat = math.max(bucket.tat, now) + slot.units * gap}
)
end
if slot.epoch ~= bucket.epoch or slot.at ~= bucket.last then
return bucket
end
local floor = math.min(
bucket.tat,
math.max(now, bucket.last + gap)
)
return __TS__ObjectAssign(
{},
bucket,
{tat = math.max(floor, bucket.tat + slot.units * gap)}
)
end
function ____exports.recalibrate(self, bucket, terms, refusal, now)
local limit = ____exports.ceiling(nil, bucket, terms)
local raiseAt = now + RAISE_AFTER_MS
local anew = __TS__ObjectAssign({}, bucket, {limit = limit, raiseAt = raiseAt, epoch = bucket.epoch + 1, free = {}})
local ____refusal_3 = refusal
local stated = ____refusal_3.stated
if stated > 0 and stated < limit then
return __TS__ObjectAssign(
{},
anew,
{
limit = stated,
limitSource = "observed",
tat = math.max(bucket.tat, now) + terms.windowMs
}
)
end
local current = refusal.epoch == bucket.epoch
local share = current and math.max(
SHARE_FLOOR,
____exports.shareAt(nil, bucket, now) * SHARE_SHRINK
) or bucket.share
local shrunk = current and ({share = share, shareAt = now}) or ({})
if stated > limit then
return __TS__ObjectAssign({}, anew, shrunk, {limit = stated, limitSource = "observed"})
end
return current and __TS__ObjectAssign({}, anew, shrunk) or __TS__ObjectAssign({}, bucket, {limit = limit, raiseAt = raiseAt})
end
function ____exports.raise(self, bucket, terms, now)
if bucket.limitSource == "configured" or bucket.limit >= terms.limit or now < bucket.raiseAt then
return bucket
end
return __TS__ObjectAssign(
{},
bucket,
{
limit = math.min(terms.limit, bucket.limit * RAISE_FACTOR),
limitSource = "probe",
raiseAt = now + RAISE_AFTER_MS
}
)
end
return ____exports
end,
["ledger.coincidence"] = function(...)
local ____lualib = require("lualib_bundle")
local __TS__SparseArrayNew = ____lualib.__TS__SparseArrayNew
local __TS__SparseArrayPush = ____lualib.__TS__SparseArrayPush
local __TS__SparseArraySpread = ____lualib.__TS__SparseArraySpread
local __TS__ArraySlice = ____lualib.__TS__ArraySlice
local __TS__ObjectKeys = ____lualib.__TS__ObjectKeys
local Map = ____lualib.Map
local __TS__New = ____lualib.__TS__New
local __TS__Iterator = ____lualib.__TS__Iterator
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local __TS__ArrayFilter = ____lualib.__TS__ArrayFilter
local __TS__ArraySort = ____lualib.__TS__ArraySort
local __TS__ArrayMap = ____lualib.__TS__ArrayMap
local Set = ____lualib.Set
local __TS__ArrayIncludes = ____lualib.__TS__ArrayIncludes
local __TS__Spread = ____lualib.__TS__Spread
local __TS__ArrayFlatMap = ____lualib.__TS__ArrayFlatMap
local __TS__ArrayEntries = ____lualib.__TS__ArrayEntries
local __TS__ArrayFind = ____lualib.__TS__ArrayFind
local __TS__ArrayReduce = ____lualib.__TS__ArrayReduce
local ____exports = {}
local rounded, deviationOf, loadOf, meansOf, sumOf, REFUSED_MIN, NOTHING_KNOWN, VARIANCE_MIN
function rounded(self, value)
return math.floor(value * 1000 + 0.5) / 1000
end
function deviationOf(self, entry, other)
local ____, ____, excess, variance = unpack(entry and entry.with[other] or ({0, 0, 0, 0}), 1, 4)
return variance < 1 and 0 or excess / math.sqrt(variance)
end
function loadOf(self, coincidences, id)
local entry = coincidences[id]
local others = __TS__ArraySort(__TS__ArrayFilter(
__TS__ObjectKeys(entry and entry.with or ({})),
function(____, other)
local ____opt_9 = coincidences[other]
return (____opt_9 and ____opt_9.refused or 0) < REFUSED_MIN
end
))
return #others < 2 and 0 or math.max(
0,
sumOf(
nil,
others,
function(____, other) return deviationOf(nil, entry, other) end
) / #others
)
end
function meansOf(self, coincidences, buckets)
local entries = __TS__ArrayMap(
buckets,
function(____, id) return coincidences[id] or NOTHING_KNOWN end
)
local refused = sumOf(
nil,
entries,
function(____, entry) return entry.refused end
)
local function of(____, entry, part)
return sumOf(
nil,
buckets,
function(____, other)
local ____opt_13 = entry.with[other]
return ____opt_13 and ____opt_13[part + 1] or 0
end
)
end
local usual = sumOf(
nil,
entries,
function(____, entry) return of(nil, entry, 0) end
) / #entries
return {
before = usual + sumOf(
nil,
entries,
function(____, entry) return of(nil, entry, 2) end
) / refused,
usual = usual,
refused = math.floor(refused + 0.5)
}
end
function sumOf(self, items, value)
return __TS__ArrayReduce(
items,
function(____, total, item) return total + value(nil, item) end,
0
)
end
local FOLLOWED_MAX = 12
local RECENT_MAX = 64
local REFUSED_MAX = 100
local USUAL_OVER = 10
local CALLS_MIN = 8
REFUSED_MIN = 4
local EACH_MIN = 2.4
local BOTH_MIN = 4.8
local JOIN_EACH_MIN = 0.8
local JOIN_BOTH_MIN = 1.5
local STANDING_MS = 180000
function ____exports.remember(self, recent, used)
local ____temp_1
if #used == 0 then
____temp_1 = recent
else
local ____array_0 = __TS__SparseArrayNew(unpack(recent))
__TS__SparseArrayPush(
____array_0,
unpack(used)
)
____temp_1 = __TS__ArraySlice(
{__TS__SparseArraySpread(____array_0)},
-RECENT_MAX
)
end
return ____temp_1
end
function ____exports.follow(self, head, call, windowMs)
local known = head.coincidences[call.bucket]
if known == nil and (not call.refused or #__TS__ObjectKeys(head.coincidences) >= FOLLOWED_MAX) then
return head.coincidences
end
local ____temp_2 = known or NOTHING_KNOWN
local calls = ____temp_2.calls
local refused = ____temp_2.refused
local before = ____temp_2.with
local uses = __TS__New(Map)
for ____, other in ipairs(__TS__ObjectKeys(before)) do
uses:set(other, 0)
end
for ____, ____value in ipairs(head.recent) do
local other = ____value[1]
local at = ____value[2]
do
local __continue7
repeat
if other == call.bucket or at <= call.at - windowMs or at > call.at then
__continue7 = true
break
end
if uses:has(other) or uses.size < FOLLOWED_MAX then
uses:set(
other,
(uses:get(other) or 0) + 1
)
end
__continue7 = true
until true
if not __continue7 then
break
end
end
end
local counts = call.refused and calls >= CALLS_MIN
local fade = refused >= REFUSED_MAX and 0.5 or 1
local weight = 1 / math.min(calls + 1, USUAL_OVER)
local partners = {}
for ____, ____value in __TS__Iterator(uses) do
local other = ____value[1]
local used = ____value[2]
local usual, square, excess, variance = unpack(before[other] or ({0, 0, 0, 0}), 1, 4)
partners[other] = {
rounded(nil, usual + (used - usual) * weight),
rounded(nil, square + (used * used - square) * weight),
rounded(nil, (excess + (counts and used - usual or 0)) * fade),
rounded(
nil,
(variance + (counts and math.max(VARIANCE_MIN, square - usual * usual) or 0)) * fade
)
}
end
local entry = {calls = calls + 1, refused = refused * fade + (counts and 1 or 0), with = partners}
return __TS__ObjectAssign({}, head.coincidences, {[call.bucket] = entry})
end
NOTHING_KNOWN = {calls = 0, refused = 0, with = {}}
VARIANCE_MIN = 0.02
function ____exports.suspect(self, coincidences, before, now)
local ids = __TS__ArraySort(__TS__ArrayFilter(
__TS__ObjectKeys(coincidences),
function(____, id)
local ____opt_3 = coincidences[id]
return (____opt_3 and ____opt_3.refused or 0) >= REFUSED_MIN
end
))
local loads = __TS__New(
Map,
__TS__ArrayMap(
ids,
function(____, id) return {
id,
loadOf(nil, coincidences, id)
} end
)
)
local function deviation(____, of, by)
return deviationOf(nil, coincidences[of], by) - (loads:get(of) or 0)
end
local groups = {}
for ____, ____value in __TS__Iterator(__TS__ArrayEntries(ids)) do
local i = ____value[1]
local a = ____value[2]
for ____, b in ipairs(__TS__ArraySlice(ids, i + 1)) do
do
local __continue19
repeat
local there, back = deviation(nil, a, b), deviation(nil, b, a)
if math.min(there, back) < EACH_MIN or (there + back) / 1.4142135623730951 < BOTH_MIN then
__continue19 = true
break
end
local joined = __TS__ArrayFilter(
groups,
function(____, group) return group:has(a) or group:has(b) end
)
groups = __TS__ArrayFilter(
groups,
function(____, group) return not __TS__ArrayIncludes(joined, group) end
)
groups[#groups + 1] = __TS__New(
Set,
{
a,
b,
unpack(__TS__ArrayFlatMap(
joined,
function(____, group) return {__TS__Spread(group)} end
))
}
)
__continue19 = true
until true
if not __continue19 then
break
end
end
end
end
for ____, group in ipairs(groups) do
for ____, id in ipairs(ids) do
do
local __continue27
repeat
if group:has(id) then
__continue27 = true
break
end
local there = sumOf(
nil,
__TS__ArraySort({__TS__Spread(group)}),
function(____, member) return deviation(nil, member, id) end
) / math.sqrt(group.size)
local back = sumOf(
nil,
__TS__ArraySort({__TS__Spread(group)}),
function(____, member) return deviation(nil, id, member) end
) / math.sqrt(group.size)
if math.min(there, back) >= JOIN_EACH_MIN and (there + back) / 1.4142135623730951 >= JOIN_BOTH_MIN then
group:add(id)
end
__continue27 = true
until true
if not __continue27 then
break
end
end
end
end
return __TS__ArrayMap(
groups,
function(____, group)
local buckets = __TS__ArraySort({__TS__Spread(group)})
local stood = __TS__ArrayFind(
before,
function(____, suspicion) return table.concat(suspicion.buckets, ",") == table.concat(buckets, ",") end
)
return __TS__ObjectAssign(
{buckets = buckets, since = stood and stood.since or now},
meansOf(nil, coincidences, buckets)
)
end
)
end
function ____exports.standing(self, suspicions, now)
return __TS__ArrayFilter(
suspicions,
function(____, ____bindingPattern0)
local since
since = ____bindingPattern0.since
return now - since >= STANDING_MS
end
)
end
return ____exports
end,
["ledger.health"] = function(...)
local ____exports = {}
local ____fade = require("lib.fade")
local fade = ____fade.fade
local HALF_LIFE_MS = 120000
local TRIES_MAX = 20
local PRIOR_TRIES = 2
local PRIOR_FAILS = 0.04
local STILL_SICK_ODDS = 9
____exports.SICK_ABOVE = 0.05
local PROBE_AFTER_FAILURE_MS = 30000
local PROBE_AFTER_SUCCESS_MS = 1000
____exports.UNKNOWN_HEALTH = {
tries = 0,
fails = 0,
at = 0,
streak = 0,
probeAt = 0
}
function ____exports.observe(self, health, good, now)
local kept = math.min(
fade(nil, now - health.at, HALF_LIFE_MS),
(TRIES_MAX - 1) / math.max(1, health.tries)
)
return {
tries = health.tries * kept + 1,
fails = health.fails * kept + (good and 0 or 1),
at = now,
streak = good and health.streak + 1 or 0,
probeAt = now + (good and PROBE_AFTER_SUCCESS_MS or PROBE_AFTER_FAILURE_MS)
}
end
function ____exports.sickness(self, health, now)
local kept = fade(nil, now - health.at, HALF_LIFE_MS)
local rate = (health.fails * kept + PRIOR_FAILS) / (health.tries * kept + PRIOR_TRIES)
local odds = STILL_SICK_ODDS * (1 - rate) ^ health.streak
return rate * odds / (1 + odds)
end
function ____exports.isSick(self, health, now)
return ____exports.sickness(nil, health, now) > ____exports.SICK_ABOVE
end
return ____exports
end,
["ledger.settle"] = function(...)
local ____lualib = require("lualib_bundle")
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local __TS__ObjectEntries = ____lualib.__TS__ObjectEntries
local __TS__ArrayFilter = ____lualib.__TS__ArrayFilter
local __TS__ArraySort = ____lualib.__TS__ArraySort
local __TS__ArraySlice = ____lualib.__TS__ArraySlice
local __TS__ObjectFromEntries = ____lualib.__TS__ObjectFromEntries
local ____exports = {}
local counted, returned, unsent, settleBucket, settleTarget, backOff, isLong, withCannot, UNPARK_FROM_MS, UNPARK_SPREAD_MS, PLAIN_COOLDOWN_WINDOWS, CANNOT_MAX
local ____bucket = require("ledger.bucket")
local adjustCost = ____bucket.adjustCost
local giveBack = ____bucket.giveBack
local raise = ____bucket.raise
local recalibrate = ____bucket.recalibrate
local ____gate = require("ledger.gate")
local abandon = ____gate.abandon
local closedAfter = ____gate.closedAfter
local cool = ____gate.cool
local PROBE_TTL_MS = ____gate.PROBE_TTL_MS
local succeed = ____gate.succeed
local ____health = require("ledger.health")
local observe = ____health.observe
local UNKNOWN_HEALTH = ____health.UNKNOWN_HEALTH
local ____window = require("ledger.window")
local count = ____window.count
local countDay = ____window.countDay
local DAY_MS = ____window.DAY_MS
local dayOf = ____window.dayOf
local EMPTY_WINDOW = ____window.EMPTY_WINDOW
local spendDay = ____window.spendDay
function ____exports.dayEnds(self, at, dice)
return (dayOf(nil, at) + 1) * DAY_MS + UNPARK_FROM_MS + dice * UNPARK_SPREAD_MS
end
function counted(self, ____bindingPattern0, ____bindingPattern1, now)
local target
local bucket
bucket = ____bindingPattern0.bucket
target = ____bindingPattern0.target
local at
at = ____bindingPattern1.at
return {
bucket = __TS__ObjectAssign(
{},
bucket,
{today = countDay(nil, bucket.today, at, 1)}
),
target = __TS__ObjectAssign(
{},
target,
{
window = count(
nil,
target.window,
now,
1,
0
),
today = countDay(nil, target.today, at, 1)
}
)
}
end
function returned(self, bucket, item, now)
local given = giveBack(nil, bucket, item, now)
return __TS__ObjectAssign(
{},
given,
{
gate = abandon(nil, bucket.gate, item.at, now),
today = countDay(nil, bucket.today, item.at, -1)
}
)
end
function unsent(self, target, item, now)
local ____target_1 = target
local health = ____target_1.health
return __TS__ObjectAssign(
{},
target,
{
health = health.probeAt == item.at + PROBE_TTL_MS and __TS__ObjectAssign({}, health, {probeAt = now}) or health,
gate = abandon(nil, target.gate, item.at, now),
window = count(
nil,
target.window,
now,
-1,
0
),
today = countDay(nil, target.today, item.at, -1)
}
)
end
function settleBucket(self, bucket, item, moment)
local ____moment_2 = moment
local terms = ____moment_2.terms
local now = ____moment_2.now
local dice = ____moment_2.dice
local next = bucket
if item.costDelta ~= nil then
next = adjustCost(
nil,
next,
terms,
__TS__ObjectAssign({}, item, {units = item.costDelta}),
now
)
end
if item.observedLimit ~= nil then
local epoch = item.standIn == true and -1 or item.epoch
next = recalibrate(
nil,
next,
terms,
{stated = item.observedLimit, epoch = epoch},
now
)
end
if item.outcome == "ok" or item.outcome == "neutral" then
next = raise(
nil,
__TS__ObjectAssign(
{},
next,
{gate = succeed(
nil,
next.gate,
item.at,
now,
2 * terms.windowMs
)}
),
terms,
now
)
end
local ____opt_3 = item.cool
if (____opt_3 and ____opt_3.what) == "bucket" then
next = __TS__ObjectAssign(
{},
next,
{
gate = cool(
nil,
next.gate,
now + item.cool.ms,
item.cool.reason,
isLong(nil, item.cool.ms, terms)
),
free = {}
}
)
end
if item.parkDay and ____exports.dayEnds(nil, item.at, dice) > now then
local gate = cool(
nil,
next.gate,
____exports.dayEnds(nil, item.at, dice),
item.error or "day",
true
)
next = __TS__ObjectAssign(
{},
next,
{
gate = gate,
free = {},
today = spendDay(nil, next.today, item.at)
}
)
end
return next
end
function settleTarget(self, target, item, moment)
local ____moment_5 = moment
local terms = ____moment_5.terms
local now = ____moment_5.now
local good = item.outcome == "ok" or item.outcome == "neutral"
local bad = item.outcome == "refused" or item.outcome == "failed"
local next = __TS__ObjectAssign(
{},
target,
{
health = (item.outcome == "ok" or bad) and observe(nil, target.health, good, now) or target.health,
window = bad and count(
nil,
target.window,
now,
0,
1
) or target.window,
ok = target.ok + (good and 1 or 0),
failed = target.failed + (bad and 1 or 0),
lastError = item.error or target.lastError
}
)
if good then
local strikes = closedAfter(nil, next.gate, item.at) and next.strikes or 0
next = __TS__ObjectAssign(
{},
next,
{
strikes = strikes,
gate = succeed(
nil,
next.gate,
item.at,
now,
2 * terms.windowMs
)
}
)
end
if item.backoff ~= nil and not closedAfter(nil, next.gate, item.at) then
next = backOff(nil, next, item.backoff, moment)
end
local ____opt_6 = item.cool
if (____opt_6 and ____opt_6.what) == "target" then
next = __TS__ObjectAssign(
{},
next,
{gate = cool(
nil,
next.gate,
now + item.cool.ms,
item.cool.reason,
isLong(nil, item.cool.ms, terms)
)}
)
end
if item.disable ~= nil then
next = __TS__ObjectAssign({}, next, {disabled = item.disable})
end
if item.cannot ~= nil then
next = __TS__ObjectAssign(
{},
next,
{cannot = withCannot(nil, next.cannot, item.cannot, now)}
)
end
return next
end
function backOff(self, target, backoff, moment)
local ms = math.min(backoff.capMs, backoff.baseMs * 2 ^ target.strikes * (1 + moment.dice / 4))
local gate = cool(
nil,
target.gate,
moment.now + ms,
backoff.reason,
isLong(nil, ms, moment.terms)
)
return __TS__ObjectAssign(
{},
target,
{
gate = gate,
strikes = math.min(target.strikes + 1, 30)
}
)
end
function isLong(self, ms, terms)
return ms > PLAIN_COOLDOWN_WINDOWS * terms.windowMs
end
function withCannot(self, cannot, added, now)
local ____until = math.max(cannot[added.need] or 0, now + added.ms)
local live = __TS__ArraySort(
__TS__ArrayFilter(
__TS__ObjectEntries(__TS__ObjectAssign({}, cannot, {[added.need] = ____until})),
function(____, ____bindingPattern0)
local ____until
____until = ____bindingPattern0[2]
return ____until > now
end
),
function(____, ____bindingPattern0, ____bindingPattern1)
local a
local needA
needA = ____bindingPattern0[1]
a = ____bindingPattern0[2]
local b
local needB
needB = ____bindingPattern1[1]
b = ____bindingPattern1[2]
return a - b or (needA < needB and -1 or 1)
end
)
return __TS__ObjectFromEntries(__TS__ArraySlice(live, -CANNOT_MAX))
end
UNPARK_FROM_MS = 5000
UNPARK_SPREAD_MS = 55000
PLAIN_COOLDOWN_WINDOWS = 2
CANNOT_MAX = 16
function ____exports.newTarget(self)
return {
version = 0,
disabled = nil,
gate = {kind = "open"},
strikes = 0,
health = UNKNOWN_HEALTH,
window = EMPTY_WINDOW,
lastAt = 0,
today = {day = 0, used = 0},
ok = 0,
failed = 0,
lastError = nil,
cannot = {}
}
end
function ____exports.settle(self, rows, item, moment)
if item.standIn == true and item.outcome == "unused" then
return rows
end
local ____temp_0 = item.standIn == true and counted(nil, rows, item, moment.now) or rows
local bucket = ____temp_0.bucket
local target = ____temp_0.target
return item.outcome == "unused" and ({
bucket = returned(nil, bucket, item, moment.now),
target = unsent(nil, target, item, moment.now)
}) or ({
bucket = settleBucket(nil, bucket, item, moment),
target = settleTarget(nil, target, item, moment)
})
end
return ____exports
end,
["ledger.time"] = function(...)
local ____exports = {}
local HELD_MS = 5000
local SLEW = 0.1
function ____exports.tick(self, head, clock)
local back = head.clock - clock
if back > HELD_MS then
return {now = head.now, clock = clock, ahead = head.now - clock}
end
local ahead = math.max(
0,
head.ahead - SLEW * math.max(0, -back)
)
return {
now = math.max(head.now, clock + ahead),
clock = math.max(head.clock, clock),
ahead = ahead
}
end
return ____exports
end,
["ledger.exchange"] = function(...)
local ____lualib = require("lualib_bundle")
local Set = ____lualib.Set
local __TS__New = ____lualib.__TS__New
local __TS__ArrayFlatMap = ____lualib.__TS__ArrayFlatMap
local __TS__SparseArrayNew = ____lualib.__TS__SparseArrayNew
local __TS__SparseArrayPush = ____lualib.__TS__SparseArrayPush
local __TS__SparseArraySpread = ____lualib.__TS__SparseArraySpread
local __TS__Class = ____lualib.__TS__Class
local __TS__StringSplit = ____lualib.__TS__StringSplit
local __TS__ArraySlice = ____lualib.__TS__ArraySlice
local Map = ____lualib.Map
local __TS__StringSlice = ____lualib.__TS__StringSlice
local __TS__Number = ____lualib.__TS__Number
local __TS__ArrayMap = ____lualib.__TS__ArrayMap
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local __TS__ArrayFind = ____lualib.__TS__ArrayFind
local __TS__ArrayIncludes = ____lualib.__TS__ArrayIncludes
local __TS__ObjectKeys = ____lualib.__TS__ObjectKeys
local __TS__ObjectEntries = ____lualib.__TS__ObjectEntries
local __TS__ArrayFilter = ____lualib.__TS__ArrayFilter
local __TS__ArraySort = ____lualib.__TS__ArraySort
local __TS__ObjectFromEntries = ____lualib.__TS__ObjectFromEntries
local __TS__ObjectValues = ____lualib.__TS__ObjectValues
local ____exports = {}
local live, CLIENT_LIVE_MS, Exchange
local ____fade = require("lib.fade")
local fade = ____fade.fade
local ____bucket = require("ledger.bucket")
local dayReadyAt = ____bucket.dayReadyAt
local newBucket = ____bucket.newBucket
local take = ____bucket.take
local ____coincidence = require("ledger.coincidence")
local follow = ____coincidence.follow
local remember = ____coincidence.remember
local standing = ____coincidence.standing
local suspect = ____coincidence.suspect
local ____gate = require("ledger.gate")
local opensAt = ____gate.opensAt
local pass = ____gate.pass
local PROBE_TTL_MS = ____gate.PROBE_TTL_MS
local ____settle = require("ledger.settle")
local dayEnds = ____settle.dayEnds
local newTarget = ____settle.newTarget
local settle = ____settle.settle
local ____time = require("ledger.time")
local tick = ____time.tick
local ____window = require("ledger.window")
local count = ____window.count
local countDay = ____window.countDay
local isSpent = ____window.isSpent
function live(self, clients, now)
local number = 0
for ____, client in ipairs(__TS__ObjectValues(clients)) do
if client.seenAt > now - CLIENT_LIVE_MS then
number = number + 1
end
end
return number
end
____exports.HORIZON_MS = 1500
local HANDOVER_MAX_MS = 50
local DEMAND_TAU_MS = 5000
local DEMAND_HALF_LIFE_MS = DEMAND_TAU_MS * 0.6931471805599453
CLIENT_LIVE_MS = 30000
local CLIENT_KEPT_MS = 300000
local CLIENTS_MAX = 512
local RETRY_MIN_MS = 100
____exports.EMPTY_HEAD = {
version = 0,
now = 0,
clock = 0,
ahead = 0,
restUntil = 0,
arrivals = 0,
arrivalsAt = 0,
clients = {},
recent = {},
coincidences = {},
suspicions = {}
}
____exports.NO_CHANGES = {buckets = {}, targets = {}}
function ____exports.touched(self, request)
local buckets = __TS__New(Set)
local targets = __TS__New(Set)
local ____array_0 = __TS__SparseArrayNew(unpack(request.settle))
__TS__SparseArrayPush(
____array_0,
unpack(__TS__ArrayFlatMap(
request.want,
function(____, want) return want.picks end
))
)
for ____, item in ipairs({__TS__SparseArraySpread(____array_0)}) do
buckets:add(item.bucket)
targets:add(item.target)
end
for ____, order in ipairs(request.orders or ({})) do
targets:add(order.target)
end
return {buckets = buckets, targets = targets}
end
function ____exports.exchange(self, rows, request, clockNow)
return __TS__New(Exchange, rows, request, clockNow):run()
end
Exchange = __TS__Class()
Exchange.name = "Exchange"
function Exchange.prototype.____constructor(self, rows, request, clockNow)
self._buckets = __TS__New(Map)
self._targets = __TS__New(Map)
self._rows = rows
self._request = request
self._time = tick(nil, rows.head, clockNow)
self._now = self._time.now
self._client = table.concat(
__TS__ArraySlice(
__TS__StringSplit(request.id, ":"),
0,
-1
),
":"
)
self._version = rows.head.version + 1
self._coincidences = rows.head.coincidences
self._suspicions = rows.head.suspicions
end
function Exchange.prototype.run(self)
local ____self__rows_1 = self._rows
local head = ____self__rows_1.head
local request = self._request
local sequence = __TS__Number(__TS__StringSlice(request.id, #self._client + 1))
local ____opt_2 = head.clients[self._client]
local repeated = sequence <= (____opt_2 and ____opt_2.sequence or -1)
if not repeated then
self:_settle()
self:_obey()
end
local leases = {}
local retryAt = __TS__ArrayMap(
request.want,
function(____, want, index) return self:_lease(want, index, leases) end
)
local used = __TS__ArrayMap(
leases,
function(____, lease) return {lease.bucket, lease.at} end
)
local clients = self:_clients(repeated and 0 or sequence)
local arrivals = head.arrivals * fade(nil, self._now - head.arrivalsAt, DEMAND_HALF_LIFE_MS) + (repeated and 0 or request.arrived)
return {
head = __TS__ObjectAssign(
{},
self._time,
{
restUntil = head.restUntil,
version = self._version,
arrivals = arrivals,
arrivalsAt = self._now,
clients = clients,
recent = remember(nil, head.recent, used),
coincidences = self._coincidences,
suspicions = self._suspicions
}
),
buckets = self._buckets,
targets = self._targets,
reply = {
leases = leases,
retryAt = retryAt,
now = self._now,
demand = arrivals * 1000 / DEMAND_TAU_MS,
clients = live(nil, clients, self._now),
suspicions = standing(nil, self._suspicions, self._now)
}
}
end
function Exchange.prototype._bucket(self, id)
return self._buckets:get(id) or self._rows:bucket(id) or newBucket(nil, self._request.terms)
end
function Exchange.prototype._target(self, id)
return self._targets:get(id) or self._rows:target(id) or newTarget(nil)
end
function Exchange.prototype._write(self, bucketId, bucket, targetId, target)
self._buckets:set(
bucketId,
__TS__ObjectAssign({}, bucket, {version = self._version})
)
self._targets:set(
targetId,
__TS__ObjectAssign({}, target, {version = self._version})
)
end
function Exchange.prototype._settle(self)
local ____self__request_4 = self._request
local terms = ____self__request_4.terms
local dice = ____self__request_4.dice
local moment = {terms = terms, now = self._now, dice = dice}
for ____, item in ipairs(self._request.settle) do
local rows = settle(
nil,
{
bucket = self:_bucket(item.bucket),
target = self:_target(item.target)
},
item,
moment
)
self:_write(item.bucket, rows.bucket, item.target, rows.target)
if item.outcome == "ok" or item.observedLimit ~= nil then
local call = {bucket = item.bucket, at = item.at, refused = item.observedLimit ~= nil}
local evidence = {recent = self._rows.head.recent, coincidences = self._coincidences}
self._coincidences = follow(nil, evidence, call, terms.windowMs)
if call.refused then
self._suspicions = suspect(nil, self._coincidences, self._suspicions, self._now)
end
end
end
end
function Exchange.prototype._obey(self)
for ____, ____value in ipairs(self._request.orders or ({})) do
local target = ____value.target
local action = ____value.action
local state = self:_target(target)
local enabled = __TS__ObjectAssign(
{},
newTarget(nil),
{window = state.window, today = state.today, ok = state.ok, failed = state.failed}
)
local next = action == "disable" and __TS__ObjectAssign({}, state, {disabled = "operator"}) or enabled
self._targets:set(
target,
__TS__ObjectAssign({}, next, {version = self._version})
)
end
end
function Exchange.prototype._lease(self, want, index, leases)
local latest = self._now + math.min(want.withinMs, ____exports.HORIZON_MS)
local spent = __TS__New(Set)
do
local granted = 0
while granted < want.n do
local best
local bestAt = math.huge
local bestCost = math.huge
local soonest = math.huge
for ____, pick in ipairs(want.picks) do
do
local __continue28
repeat
if spent:has(pick) then
__continue28 = true
break
end
local at = self:_startOf(pick, want)
soonest = math.min(soonest, at)
if at > latest or at + pick.penaltyMs >= bestCost then
__continue28 = true
break
end
best = pick
bestAt = at
bestCost = at + pick.penaltyMs
__continue28 = true
until true
if not __continue28 then
break
end
end
end
if best == nil then
return self:_retryAt(soonest, want.withinMs)
end
leases[#leases + 1] = self:_grant(best, bestAt, want.cost, index)
if best.probe == true or want.ignoreCooldown == true then
spent:add(best)
end
granted = granted + 1
end
end
return 0
end
function Exchange.prototype._startOf(self, pick, ____bindingPattern0)
local ignoreCooldown
local cost
cost = ____bindingPattern0.cost
ignoreCooldown = ____bindingPattern0.ignoreCooldown
local bucket = self:_bucket(pick.bucket)
local target = self:_target(pick.target)
local ____self__request_5 = self._request
local terms = ____self__request_5.terms
local leadMs = ____self__request_5.leadMs
local skewMs = ____self__request_5.skewMs
local dice = ____self__request_5.dice
if target.disabled ~= nil then
return math.huge
end
if pick.probe == true and target.health.probeAt > self._now then
return math.huge
end
local soonest = math.max(self._now + leadMs, self._rows.head.restUntil)
local gates = ignoreCooldown == true and 0 or math.max(
opensAt(nil, bucket.gate),
opensAt(nil, target.gate)
)
local dayReady = dayReadyAt(nil, bucket, terms)
local ____temp_6
if cost > 1 then
____temp_6 = nil
else
____temp_6 = __TS__ArrayFind(
bucket.free,
function(____, at) return at >= math.max(soonest, gates, dayReady) end
)
end
local free = ____temp_6
local handover = (bucket.holder == self._client or bucket.holder == "") and 0 or math.min(skewMs, HANDOVER_MAX_MS)
local at = free or math.max(soonest, bucket.tat + handover, gates, dayReady)
return isSpent(nil, bucket.today, at, terms.dailyStop) and math.max(
at,
dayEnds(nil, at, dice)
) or at
end
function Exchange.prototype._grant(self, pick, at, cost, want)
local ____self__request_7 = self._request
local terms = ____self__request_7.terms
local before = self:_bucket(pick.bucket)
local bucket = __TS__ObjectAssign(
{},
before,
{gate = pass(nil, before.gate, at, self._client)}
)
local target = self:_target(pick.target)
local gate = pass(nil, target.gate, at, self._client)
local reissued = __TS__ArrayIncludes(bucket.free, at)
local health = pick.probe == true and __TS__ObjectAssign({}, target.health, {probeAt = at + PROBE_TTL_MS}) or target.health
self:_write(
pick.bucket,
__TS__ObjectAssign(
{},
take(nil, bucket, terms, {
at = at,
cost = cost,
client = self._client,
reissued = reissued,
gate = gate
}),
{today = countDay(nil, bucket.today, at, 1)}
),
pick.target,
__TS__ObjectAssign(
{},
target,
{
health = health,
gate = gate,
window = count(
nil,
target.window,
self._now,
1,
0
),
lastAt = math.max(target.lastAt, at),
today = countDay(nil, target.today, at, 1)
}
)
)
return {
want = want,
bucket = pick.bucket,
target = pick.target,
at = at,
epoch = bucket.epoch,
probe = pick.probe == true
}
end
function Exchange.prototype._retryAt(self, soonest, withinMs)
local earliest = self._now + RETRY_MIN_MS * (1 + self._request.dice)
if soonest == math.huge then
return self._now + ____exports.HORIZON_MS * (1 + self._request.dice)
end
return math.max(
earliest,
soonest - math.min(withinMs, ____exports.HORIZON_MS) + RETRY_MIN_MS * self._request.dice
)
end
function Exchange.prototype._clients(self, sequence)
local before = self._rows.head.clients
local ____sequence_10 = sequence
local ____opt_8 = before[self._client]
local mine = {
sequence = math.max(____sequence_10, ____opt_8 and ____opt_8.sequence or 0),
seenAt = self._now
}
local known = __TS__ObjectKeys(before)
if #known == 0 or #known == 1 and known[1] == self._client then
return {[self._client] = mine}
end
local others = __TS__ArraySlice(
__TS__ArraySort(
__TS__ArrayFilter(
__TS__ObjectEntries(before),
function(____, ____bindingPattern0)
local client
local id
id = ____bindingPattern0[1]
client = ____bindingPattern0[2]
return id ~= self._client and client.seenAt > self._now - CLIENT_KEPT_MS
end
),
function(____, ____bindingPattern0, ____bindingPattern1)
local a
local idA
idA = ____bindingPattern0[1]
a = ____bindingPattern0[2]
local b
local idB
idB = ____bindingPattern1[1]
b = ____bindingPattern1[2]
return a.seenAt - b.seenAt or (idA < idB and -1 or 1)
end
),
1 - CLIENTS_MAX
)
local ____array_11 = __TS__SparseArrayNew(unpack(others))
__TS__SparseArrayPush(____array_11, {self._client, mine})
return __TS__ObjectFromEntries({__TS__SparseArraySpread(____array_11)})
end
return ____exports
end,
["ledger.unused"] = function(...)
local ____exports = {}
local KEPT_MS = 45 * 86400000
function ____exports.isUnused(self, row, now)
local usedAt = row.last ~= nil and row.last or row.lastAt
local isOrdered = row.disabled ~= nil and row.disabled == "operator"
return usedAt > 0 and usedAt < now - KEPT_MS and not isOrdered
end
return ____exports
end,
["main"] = function(...)
local ____exports = {}
do
local ____exchange = require("ledger.exchange")
____exports.EMPTY_HEAD = ____exchange.EMPTY_HEAD
____exports.exchange = ____exchange.exchange
____exports.HORIZON_MS = ____exchange.HORIZON_MS
end
do
local ____unused = require("ledger.unused")
____exports.isUnused = ____unused.isUnused
end
return ____exports
end,
}
local ____entry = require("main", ...)
return ____entry
end)()
local ROWS, VERSIONS = KEYS[1], KEYS[2]
local KEPT_MS = 45 * 86400000
local SWEEP_EVERY, SWEEP_MAX = 1000, 20
local DAY_MS = 86400000
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
local since = request.since < version and request.since or 0
local changed = { b = {}, t = {} }
local function tell(name, text)
local kind = changed[name:sub(1, 1)]
if text and name:sub(2, 2) == ":" then kind[#kind + 1] = cjson.encode(name:sub(3)) .. ":" .. text end
end
if since == 0 then
local all = redis.call("HGETALL", ROWS)
for i = 1, #all, 2 do tell(all[i], all[i + 1]) end
else
for _, name in ipairs(redis.call("ZRANGEBYSCORE", VERSIONS, "(" .. string.format("%.17g", since), "+inf")) do
tell(name, written[name] or redis.call("HGET", ROWS, name))
end
end
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
return "{" .. table.concat(parts, ",") .. "}"`;
