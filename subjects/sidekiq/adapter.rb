# Sidekiq behind the contract: `adapter.rb control` or `adapter.rb worker`; README.md has its settings.

require "json"
require "sidekiq/api"
require_relative "puppet"

DESCRIBE = {
  subject: "sidekiq",
  version: Sidekiq::VERSION,
  protocol: 1,
  ownership: "none",
  beats: "nobody",
  reclaim: "none",
  attempts: "failure",
  # What is due waits for a look: for the first of a worker, which comes late, and for the next.
  slack: TUNED ? 5.0 + 1.5 * POLL : 15.0 + 7.5,
  retry_after: TUNED ? 1.0 + 18.0 : 1.0 + 15.0 + 18.0,
  drain: { signal: "SIGTERM", exit_codes: [0] },
  options: %w[max_attempts delay queue] + (TUNED ? %w[grace] : []),
  columns: %w[attempt kind payload due last_error]
}.freeze

def enqueue(request)
  ids = request["jobs"].map do |job|
    options = { queue: job["queue"], retry: job["max_attempts"]&.pred }.compact
    job["delay"] ? Puppet.set(options).perform_in(job["delay"], job["job"]) : Puppet.set(options).perform_async(job["job"])
  end
  { ids: ids }
end

def row(record, state)
  item = record.item
  { id: item["jid"], state: state, attempt: ((item["retry_count"] || -1) + 1).to_s, kind: item["class"],
    payload: JSON.generate(item["args"]), last_error: item["error_message"],
    due: record.is_a?(Sidekiq::SortedEntry) && record.score > Time.now.to_f ? "f" : "t" }
end

# There is no record of a job while it runs, and none once it is done.
def inspect_jobs(request)
  queued = [*Sidekiq::Queue.all, Sidekiq::ScheduledSet.new, Sidekiq::RetrySet.new]
  rows = queued.flat_map { |jobs| jobs.map { |job| row(job, "queued") } }
  rows += Sidekiq::DeadSet.new.map { |job| row(job, "failed") }
  found = rows.to_h { |row| [row[:id], row] }
  { rows: request["ids"].map { |id| found[id] || { id: id, state: "absent", **DESCRIBE[:columns].to_h { |c| [c, nil] } } } }
end

if ARGV.first == "control"
  Leaseproof.control(
    describe: ->(_) { DESCRIBE },
    prepare: ->(_) { {} },
    enqueue: method(:enqueue),
    inspect: method(:inspect_jobs),
    reclaim: ->(_) { { ids: [] } }
  )
else
  options = JSON.parse(ENV.fetch("LEASEPROOF_OPTIONS"))
  arguments = ["-r", File.join(__dir__, "puppet.rb"), "-c", options["slots"].to_s]
  arguments += ["-q", options["queue"]] if options["queue"]
  arguments += ["-t", [options["grace"].ceil, 1].max.to_s] if TUNED && options["grace"]
  exec("sidekiq", *arguments)
end
