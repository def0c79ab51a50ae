# The worker program of the Ruby kit; ../cases.py says what it does.

require "json"
require "leaseproof"

$stdout.sync = true
$keys = {}
$asked = 0

def say(job, **fields) = $stdout.write("#{JSON.generate({ job: job, **fields })}\n")

def connection(job)
  say(job, connection: "taken")
  yield
ensure
  say(job, connection: "back")
end

def once(key)
  yield !$keys.key?(key)
  $keys[key] = true
end

def run(job, attempt, tools)
  Leaseproof.obey(job, attempt, tools)
  say(job, end: "returned")
rescue Leaseproof::OrderedFailure => e
  say(job, end: "failed", kind: e.kind, text: e.message, retry_in: e.retry_in)
rescue StandardError => e
  say(job, end: "error", text: e.message)
end

what, *jobs = ARGV.map { |word| word.dup.force_encoding("UTF-8") }
case what
when "line"
  line = Leaseproof.ready
  line.renewed(%w[job задача], %w[other])
  line.outcome("job", 2, true)
  line.outcome("job", nil, false)
  line.reclaimed(%w[2 3])
  $stdin.read
  line.close
when "bare" then run(jobs[0], nil, Leaseproof::Tools.new)
else
  threads = jobs.each.with_index(1).map do |job, attempt|
    tools = Leaseproof::Tools.new(
      key: "key of #{job}",
      lost: -> { ($asked += 1) > 1 },
      once: method(:once),
      connection: ->(&block) { connection(job, &block) },
      tick: what == "tick" ? "2026-10-03T12:00:00+00:00" : nil
    )
    thread = Thread.new { run(job, attempt, tools) }
    thread.join unless what == "together"
    thread
  end
  threads.each(&:join)
end
