export const storageServers = ['account', 'container', 'object'] as const
export const device = 'd1'

export type SwiftPlace = { home: string; data: string; user: string }
export type SwiftAccount = { account: string; user: string; secret: string; region: string }

/** Mixed into the place of every object, so fixed for the life of the folder. */
export function clusterConfig(salt: string): string {
  return `
[swift-hash]
swift_hash_path_suffix = ${salt}
swift_hash_path_prefix = ${salt}

[storage-policy:0]
name = default
default = yes
`
}

/**
 * One process each (workers = 0), which drops to the user it runs as already. The timeouts are far above the
 * defaults of half a second and one: on a busy machine those lose an object's entry in its listing, which only
 * daemons that do not run here would put right.
 */
function defaults(port: number, { home, user }: SwiftPlace): string {
  return `
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
bind_timeout = 1
workers = 0
user = ${user}
swift_dir = ${home}
log_level = WARNING
conn_timeout = 5
node_timeout = 10
container_update_timeout = 10
`
}

export function storageConfig(kind: string, port: number, place: SwiftPlace): string {
  return `${defaults(port, place)}
devices = ${place.data}
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
recon_cache_path = ${place.home}

[pipeline:main]
pipeline = ${kind}-server

[app:${kind}-server]
use = egg:swift#${kind}
`
}

/**
 * tempauth insists on a cache and works without an answer from it, hence the address at which nobody is. A server
 * that was killed is back in a moment, so the proxy does not avoid it for the usual minute.
 */
export function proxyConfig(
  port: number,
  place: SwiftPlace,
  { account, user, secret, region }: SwiftAccount,
) {
  return `${defaults(port, place)}
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth bulk slo dlo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 5
node_timeout = 10
recoverable_node_timeout = 10
error_suppression_limit = 1000000
error_suppression_interval = 1

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:gatekeeper]
use = egg:swift#gatekeeper

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
set log_level = CRITICAL

[filter:listing_formats]
use = egg:swift#listing_formats

[filter:s3api]
use = egg:swift#s3api
location = ${region}
s3_acl = false
# A tenth of the usual thousand, so that a few blobs are several pages already.
max_bucket_listing = 100

[filter:tempauth]
use = egg:swift#tempauth
user_${account}_${user} = ${secret} .admin

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo

[filter:dlo]
use = egg:swift#dlo
`
}
