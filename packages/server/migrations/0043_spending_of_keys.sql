-- What a key was charged is added up by day and by month each time its person looks at it.
create index ledger_spent_by_key on ledger (key_id, at) include (kind, amount_milli_ds)
  where key_id is not null and kind in ('settle', 'refund');
