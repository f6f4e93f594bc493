-- What the call of a model that is under way costs so far: charged when somebody breaks it off, since its provider bills it.
alter table executions add column asking_milli_ds bigint not null default 0 check (asking_milli_ds >= 0);
