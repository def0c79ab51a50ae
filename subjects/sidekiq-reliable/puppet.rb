# What `sidekiq -r` is given: the job's class, and the settings of the server.

require "sidekiq-reliable-fetch"
require_relative "../../bench/kits/ruby/leaseproof"

TUNED = ENV["LEASEPROOF_PROFILE"] == "tuned"
POLL = 0.5 # seconds
ENV["REDIS_URL"] = ENV.fetch("LEASEPROOF_REDIS")

class Puppet
  include Sidekiq::Worker

  attr_accessor :attempt

  sidekiq_retry_in { 1 } if TUNED # the least that it takes; up to 9 s more are added for each retry

  def perform(job)
    Leaseproof.obey(job, attempt)
  end
end

# `perform` is not told which attempt it is; middleware is.
class Attempt
  def call(worker, job, _queue)
    worker.attempt = (job["retry_count"] || -1) + 2
    yield
  end
end

Sidekiq.configure_server do |config|
  config.server_middleware { |chain| chain.add(Attempt) }
  config.options[:poll_interval_average] = POLL if TUNED
  config.options[:cleanup_interval] = config.options[:lease_interval] = 1 if TUNED
  Sidekiq::ReliableFetch.setup_reliable_fetch!(config)
  config.on(:startup) { LINE = Leaseproof.ready }
end
