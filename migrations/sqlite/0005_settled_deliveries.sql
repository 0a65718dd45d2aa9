-- Settled deliveries go when they are old; this finds them without reading the outbox.

CREATE INDEX deliveries_settled ON deliveries (done_ms) WHERE state <> 0;
