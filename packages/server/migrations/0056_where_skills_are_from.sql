-- Whether `repository` and `commit_hash` are those of a git repository that a person named. What is told of a skill under
-- these names is where the catalog has it from; versions that are here already keep telling both alike.
alter table skill_versions add column from_git boolean not null default false;
