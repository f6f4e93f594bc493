-- Whether a workspace has some content already is asked at every install. Without this, everybody's versions of a skill
-- that many have are looked through.
create index skill_versions_by_content on skill_versions (workspace_id, bundle_checksum);
