-- A repeat is answered byte for byte: jsonb keeps no order of fields. What is in here is a day old at most.
alter table idempotency_keys alter column answer type json using answer::text::json;
