# The Ruby kit of leaseproof: the puppet, the worker's own line, and the control loop. Copy this one file.
#
# Ruby 3.1 or newer, standard library only. docs/protocol.md has what goes over the lines: one JSON object each, both
# ways. The witness's address, the arm's token and the worker's name come from the environment that the bench gives.
#
#   a worker's handler      Leaseproof.obey(job, attempt)
#   when it takes jobs      line = Leaseproof.ready, and then line.renewed(...), line.outcome(...), line.reclaimed(...)
#   the control process     Leaseproof.control(enqueue: ->(request) { ... }, ...)

require "json"
require "socket"

module Leaseproof
  # The witness ordered a failure. `kind` is transient, permanent or rate-limited; `retry_in` is in seconds, or nil.
  class OrderedFailure < StandardError
    attr_reader :kind, :retry_in

    def initialize(kind, text, retry_in = nil)
      super(text)
      @kind = kind
      @retry_in = retry_in
    end
  end

  # The witness ordered what this adapter, or this kit, can't do: the adapter's fault, and the witness is told so.
  class Unable < StandardError; end

  # What a queue gives its handlers, where it gives anything; a puppet that is ordered to use it does.
  #
  # `key`: the job's idempotency key. `lost`: says whether the job is not this worker's any more. `once`: takes a key,
  # and yields whether an effect is the first of it. `connection`: yields one of the handlers' pool. `tick`: the tick of
  # the schedule that the job is for.
  Tools = Struct.new(:key, :lost, :once, :connection, :tick, keyword_init: true)

  # One connection to the witness; its first message, `event`, says who is speaking.
  class Line
    def initialize(event, **fields)
      host, _, port = env("WITNESS").rpartition(":")
      @socket = TCPSocket.new(host, port)
      @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      @lock = Mutex.new
      say(event, token: env("TOKEN"), worker: env("WORKER"), pid: Process.pid, **fields)
    end

    # Send one message; safe from several threads.
    def say(event, **fields)
      message = "#{JSON.generate({ event: event, **fields })}\n"
      @lock.synchronize { @socket.write(message) }
    end

    # A heartbeat was answered: which jobs, by the bench's names, are still this worker's and which are not.
    def renewed(kept, lost = []) = say("renewed", kept: kept, lost: lost)

    # The queue took the finish of a job, or refused it.
    def outcome(job, attempt, accepted) = say("outcome", job: job, attempt: attempt, accepted: accepted)

    # A reclaim of the worker's own put these jobs back, by the queue's ids.
    def reclaimed(ids) = say("reclaimed", ids: ids)

    # The next order; nil when the witness has hung up. Half an order is none.
    def order
      line = @socket.gets
      JSON.parse(line) if line&.end_with?("\n")
    end

    def close = @socket.close

    private

    def env(name) = ENV.fetch("LEASEPROOF_#{name}").dup.force_encoding("UTF-8") # whatever the locale
  end

  module_function

  # Say that this worker takes jobs from now on. Keep the line as long as the process lives.
  def ready = Line.new("ready")

  # Run one job as the witness orders; return when it says finish.
  #
  # `job` is the name that the bench put into the payload, and `attempt` counts from 1 where the queue knows it. Raises
  # OrderedFailure when the witness orders a failure, Unable when it orders what can't be done, and EOFError or a
  # SystemCallError when it is gone.
  def obey(job, attempt = nil, tools = Tools.new)
    line = Line.new("started", job: job, attempt: attempt, **(tools.tick ? { tick: tools.tick } : {}))
    follow(line, tools)
  rescue Unable => e
    line.say("unable", text: e.message)
    raise
  ensure
    line&.close
  end

  # Order after order. A connection that is borrowed is kept to the end: what comes after is obeyed inside its block.
  def follow(line, tools)
    while (order = line.order)
      case order["order"]
      when "finish" then return line.say("finished")
      when "fail"
        line.say("raised", error: order["text"])
        raise OrderedFailure.new(order["kind"] || "transient", order["text"], order["retry_in"])
      when "effect" then effect(line, order["key"], order["guard"], tools)
      when "borrow"
        return given(tools.connection, "gives its handlers no connection").call do
          line.say("borrowed")
          follow(line, tools)
        end
      when "clock" then line.say("clock", wall: Time.now.to_f)
      when "sleep", "block" then sleep(order["seconds"])
      when "spin" then spin(order["seconds"])
      when "exit" then exit!(order["status"])
      when "hold" then next
      else raise Unable, "this kit does not know the order #{order["order"].inspect}"
      end
    end
    raise EOFError, "the witness hung up in the middle of a job"
  end

  # Make an effect, guarded as it is ordered.
  def effect(line, key, guard, tools)
    case guard
    when nil, "" then line.say("effect", key: key)
    when "key" then line.say("effect", key: key, under: given(tools.key, "gives its handlers no idempotency key"))
    when "once"
      once = given(tools.once, "has no idempotency table")
      once.call(key) { |first| line.say(first ? "effect" : "withheld", key: key) }
    when "owner"
      lost = given(tools.lost, "does not tell its handlers that a job is lost")
      line.say(lost.call ? "withheld" : "effect", key: key)
    else raise Unable, "this kit does not know the guard #{guard.inspect}"
    end
  end

  def given(tool, without) = tool.nil? ? raise(Unable, "this adapter #{without}") : tool

  def spin(seconds)
    over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < over
  end

  # Answer the bench's requests, until it says `stop` or closes stdin: one function each, by its name.
  #
  # A function is given the request, its keys strings, and returns the answer (nil: an empty one); an exception becomes
  # its `error`, and its backtrace goes to the log. So does all that is printed: now stdout is for answers alone.
  def control(**requests)
    answers = $stdout.dup.binmode
    answers.sync = true
    $stdout.reopen($stderr)
    $stdin.binmode.each_line do |line|
      request = JSON.parse(line)
      answers.write("#{answer(requests, request)}\n")
      break if request["request"] == "stop"
    end
  end

  def answer(requests, request)
    name = request["request"]
    function = { stop: ->(_) {}, **requests }[name.to_sym] or raise Unable, "this adapter has no `#{name}`"
    JSON.generate({ id: request["id"], answer: function.call(request) || {} })
  rescue StandardError, ScriptError => e
    warn e.full_message(highlight: false)
    JSON.generate({ id: request["id"], error: "#{e.class}: #{e.message}".dup.force_encoding("UTF-8").scrub })
  end

  private_class_method :follow, :effect, :given, :spin, :answer
end
