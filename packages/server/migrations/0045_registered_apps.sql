-- Apps that registered themselves are forgotten in the order in which they were last of use to anybody.
create index oauth_clients_registered on oauth_clients (decided_at) where kind = 'registered';
