module kit

go 1.19

require leaseproof v0.0.0

replace leaseproof => ../../../bench/kits/go
