-- What ends before anything came of it takes the record of the request that made it along.
create index idempotency_keys_by_resource on idempotency_keys (resource_id) where resource_id is not null;
