-- A one_time grant is spent in the transaction of what it allowed.

-- The Idempotency-Key of the request that spent it: its repeats are let through to the answer that was recorded.
alter table grants add column spent_for text;
create index grants_spent_for on grants (key_id, spent_for) where spent_for is not null;
create index grants_by_request on grants (request_id) where consumed_at is not null;

-- The key whose execution left this artifact as its output; it may read it without a scope for files.
alter table artifacts add column output_of_key bigint;
