"""Tables of the hardware catalog and of the cost model's rules. All of them are live: an `UPDATE` of one value shows in the next query."""
