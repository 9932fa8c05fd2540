"""The Lua scripts: each is one step that must not be cut in half."""

import hashlib
from dataclasses import dataclass, field
from typing import Final

HANDSHAKE: Final = """
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') .. ARGV[1]
local epoch = redis.call('GET', KEYS[1])
if not epoch or string.sub(epoch, 1, #run) ~= run then
  redis.call('FLUSHDB')
  redis.call('SET', KEYS[1], run .. ':' .. ARGV[2])
end
return 1
"""
"""Run on every new connection. What a server still holds after a restart is a cache of unknown age (a
snapshot, the last second missing), so the first client that meets a new server process empties it. Every
client has to reconnect to a restarted server, so none can read what was before."""


@dataclass(frozen=True)
class Script:
    """Called by its digest; sent whole when Redis does not know it (any more)."""

    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha1(self.text.encode()).hexdigest())


BUILD: Final = Script("""
local revision = tostring(redis.call('GET', KEYS[1])) .. '/' .. (redis.call('GET', KEYS[2]) or '')
redis.call('DEL', KEYS[5])
if revision ~= ARGV[1] then return 0 end
local at = 4
for i = 1, tonumber(ARGV[2]) do
  redis.call('ZADD', KEYS[3], ARGV[at], ARGV[at + 1])
  at = at + 2
end
for i = at, #ARGV do
  redis.call('SADD', KEYS[4], ARGV[i])
end
redis.call('EXPIRE', KEYS[4], ARGV[3])
return 1
""")
"""KEYS: epoch, removals, feed, pulled, building. ARGV: revision, number of entries, seconds until it is
built again, (ms, post)..., authors..."""

LOAD_COPIES: Final = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for k = 2, #KEYS do
  for i = 3, #ARGV, 2 do
    redis.call('ZADD', KEYS[k], ARGV[i], ARGV[i + 1])
  end
  redis.call('EXPIRE', KEYS[k], ARGV[2])
end
return 1
""")
"""KEYS: epoch, copies. ARGV: epoch, seconds, (ms, post)..."""

PUT_POST: Final = Script("""
for i = 1, #KEYS do
  local rev, body = ARGV[i * 2], ARGV[i * 2 + 1]
  local known = redis.call('HGET', KEYS[i], 'rev')
  if not known or tonumber(known) <= tonumber(rev) then
    redis.call('HSET', KEYS[i], 'rev', rev, 'json', body)
    redis.call('EXPIRE', KEYS[i], ARGV[1])
  end
end
return 1
""")
"""KEYS: posts. ARGV: seconds, (rev, body)..."""

PUT_SHARDS: Final = Script("""
local versions, load, life = KEYS[1], ARGV[1], tonumber(ARGV[2])
local ends
if load == '1' then
  local now = redis.call('TIME')
  ends = now[1] * 1000 + math.floor(now[2] / 1000) + life * 1000
  redis.call('HSET', versions, 'ends', ends)
else
  ends = redis.call('HGET', versions, 'ends')
  if not ends then return 0 end
end
for i = 2, #KEYS do
  local field, version, count = ARGV[i * 3 - 3], ARGV[i * 3 - 2], ARGV[i * 3 - 1]
  local known = redis.call('HGET', versions, field)
  if not known or tonumber(known) <= tonumber(version) then
    redis.call('HSET', versions, field, version)
    redis.call('SET', KEYS[i], count)
  end
  redis.call('PEXPIREAT', KEYS[i], ends)
end
if load == '1' then
  local fields = redis.call('HKEYS', versions)
  for _, name in ipairs(fields) do
    if name ~= 'ends' then
      redis.call('PEXPIREAT', (string.gsub(versions, ':versions$', ':' .. name)), ends)
    end
  end
end
redis.call('PEXPIREAT', versions, ends)
return 1
""")
"""KEYS: versions, shards. ARGV: "1" to load, seconds to live, (shard, version, count)... All shards of a
post end in the same millisecond: half of a sum must never be left. Returns 0 if the post is not loaded."""
