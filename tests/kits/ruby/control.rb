# The control program of the Ruby kit; ../cases.py says what it does.

require "leaseproof"

Leaseproof.control(
  echo: ->(request) { { got: request.reject { |key, _| %w[id request].include?(key) } } },
  nothing: ->(_) {},
  fail: ->(request) { raise request["text"] },
  print: ->(request) { puts request["text"] }
)
