-- The number that an agent shows beside its code, and the three among which the person finds it.
alter table activations add column match_number text, add column match_choices text[];
