-- A call of a tool that cannot be repeated, noted before it has its effect: whoever goes on after a crash does not make it
-- a second time.
alter table thread_runs add column begun_tool_use text;
