-- Only ASCII letters have one case for everybody: see accounts/users/address.ts.
create index users_by_address on users (lower(email collate "C"), created_at) where email_verified;
drop index users_by_verified_email;
