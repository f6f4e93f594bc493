-- What a client that pairs wants to be granted with the pairing. Nothing is granted by it.
alter table activations add column requested_scopes text[] not null default '{}';
