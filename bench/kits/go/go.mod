module leaseproof

go 1.19
