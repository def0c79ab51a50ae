# Sidekiq with GitLab's reliable fetch behind the contract: `adapter.rb control` or `adapter.rb worker`; see README.md.

require "json"
require "sidekiq-reliable-fetch"
require_relative "puppet"

Fetch = Sidekiq::ReliableFetch

DESCRIBE = {
  subject: "sidekiq-reliable",
  version: "0.8.0 with Sidekiq #{Sidekiq::VERSION}",
  protocol: 1,
  ownership: "lease-and-heartbeat",
  beats: "runtime",
  reclaim: "automatic",
  attempts: "failure",
  lease: Fetch::HEARTBEAT_LIFESPAN,
  # Only a worker that has nothing to run looks at the lists of dead ones, when it wakes up.
  reclaim_every: Fetch::RELIABLE_FETCH_IDLE_TIMEOUT + (TUNED ? 1 : Fetch::DEFAULT_CLEANUP_INTERVAL + Fetch::DEFAULT_LEASE_INTERVAL),
  # What is due waits for a look: for the first of a worker, which comes late, and for the next; then for a worker.
  slack: Fetch::RELIABLE_FETCH_IDLE_TIMEOUT + (TUNED ? 5.0 + 1.5 * POLL : 15.0 + 7.5),
  retry_after: TUNED ? 1.0 + 18.0 : 1.0 + 15.0 + 18.0,
  drain: { signal: "SIGTERM", exit_codes: [0] },
  options: %w[max_attempts delay queue] + (TUNED ? %w[grace] : []),
  columns: %w[attempt kind payload due last_error lease_alive lease_expired lease_left]
}.freeze

def enqueue(request)
  ids = request["jobs"].map do |job|
    options = { queue: job["queue"], retry: job["max_attempts"]&.pred }.compact
    job["delay"] ? Puppet.set(options).perform_in(job["delay"], job["job"]) : Puppet.set(options).perform_async(job["job"])
  end
  { ids: ids }
end

def row(item, state, due: "t", left: nil)
  { id: item["jid"], state: state, attempt: ((item["retry_count"] || -1) + 1).to_s, kind: item["class"],
    payload: JSON.generate(item["args"]), last_error: item["error_message"], due: due, lease_left: left&.to_s,
    lease_alive: left && (left.positive? ? "t" : "f"), lease_expired: left && (left.positive? ? "f" : "t") }
end

def running(redis)
  redis.scan_each(match: "#{Fetch::WORKING_QUEUE_PREFIX}:queue:*").flat_map do |key|
    left = [redis.pttl(Fetch.heartbeat_key(key.split(":").last(3).join(":"))), 0].max / 1000.0
    redis.lrange(key, 0, -1).map { |job| row(Sidekiq.load_json(job), "running", left: left) }
  end
end

# There is no record of a job that is done.
def inspect_jobs(request)
  rows = Sidekiq::Queue.all.flat_map { |jobs| jobs.map { |job| row(job.item, "queued") } }
  rows += [Sidekiq::ScheduledSet.new, Sidekiq::RetrySet.new].flat_map do |jobs|
    jobs.map { |job| row(job.item, "queued", due: job.score > Time.now.to_f ? "f" : "t") }
  end
  rows += [Sidekiq::DeadSet.new, Sidekiq::InterruptedSet.new].flat_map { |jobs| jobs.map { |job| row(job.item, "failed") } }
  found = [*rows, *Sidekiq.redis { |redis| running(redis) }].to_h { |row| [row[:id], row] }
  { rows: request["ids"].map { |id| found[id] || { id: id, state: "absent", **DESCRIBE[:columns].to_h { |c| [c, nil] } } } }
end

if ARGV.first == "control"
  Leaseproof.control(
    describe: ->(_) { DESCRIBE },
    prepare: ->(_) { {} },
    enqueue: method(:enqueue),
    inspect: method(:inspect_jobs),
    reclaim: ->(_) { { ids: nil } }
  )
else
  options = JSON.parse(ENV.fetch("LEASEPROOF_OPTIONS"))
  arguments = ["-r", File.join(__dir__, "puppet.rb"), "-c", options["slots"].to_s]
  arguments += ["-q", options["queue"]] if options["queue"]
  arguments += ["-t", [options["grace"].ceil, 1].max.to_s] if TUNED && options["grace"]
  exec("sidekiq", *arguments)
end
