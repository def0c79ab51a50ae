--- 1 of 3
  (1..).each do |number|
    id = format("%06d", number)
    begin
      Dir.mkdir(at("ids", id))
    rescue Errno::EEXIST
      next
    end
    File.write(at("new"), JSON.generate({ job: job }))
    File.rename(at("new"), at("queued", id))
    return number.to_s
  end
--- 2 of 3
  stopping = false
  trap("TERM") { stopping = true }
  ready.call
  until stopping
    id = Dir.children(File.dirname(at("queued", "any"))).min
    next sleep(poll) if id.nil?

    begin
      File.rename(at("queued", id), at("running", id))
    rescue SystemCallError
      next # another was faster
    end
    state = "done"
    begin
      run.call(JSON.parse(File.read(at("running", id)))["job"], nil)
    rescue Leaseproof::OrderedFailure
      state = "failed"
    end
    File.rename(at("running", id), at(state, id))
  end
--- 3 of 3
  name = id.rjust(6, "0")
  { state: %w[queued running done failed].find { |state| File.exist?(at(state, name)) } || "absent" }
end

def at(*parts)
  place = File.join(ENV.fetch("LEASEPROOF_FOLDER"), *parts)
  require "fileutils"
  FileUtils.mkdir_p(File.dirname(place))
  place
