// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Each case is a file and the exact text of its error.
struct SectionMistakeTests {
    @Test(
        "An error in a section shows its location, the allowed values and a correction",
        arguments: MistakeCase.table(
            """
            === A list
            - version: 1
            =>
            f.yaml:1:1: the file holds a list, not keys with values; allowed: version, enabled, file_permissions, providers, routes, \
            mappings, policy, cache, resolver, client, metrics, serve, agent (begin with: version: 1)
            === A sentence
            version 1
            =>
            f.yaml:1:1: the file holds "version 1", not keys with values; allowed: version, enabled, file_permissions, providers, routes, \
            mappings, policy, cache, resolver, client, metrics, serve, agent (begin with: version: 1)
            === No space behind the colon
            version:1
            =>
            f.yaml:1:1: the file holds "version:1", not keys with values; allowed: version, enabled, file_permissions, providers, routes, \
            mappings, policy, cache, resolver, client, metrics, serve, agent (put a space behind the colon)
            === No version
            mappings:
              img.shop.example: 203.0.113.7
            =>
            f.yaml:1:1: the key "version" is missing (write version: 1 as the first line)
            === No space behind the colons
            version:1
            cache:
              entries: 5
            =>
            f.yaml:2:6: found a second ": " where a value stands, or a line that is indented too far (put a space \
            behind the colon in the line above)
            === A later version
            version: 2
            anything: [goes]
            =>
            f.yaml:1:10: version: found "2"; this release reads version 1 only (write version: 1)
            === A version that is a fraction
            version: 1.0
            =>
            f.yaml:1:10: version: found "1.0"; this release reads version 1 only (write version: 1)
            === An empty version
            version:
            =>
            f.yaml:1:9: version: found nothing; this release reads version 1 only (write version: 1)
            == A misspelt section
            mapings:
              img.shop.example: 203.0.113.7
            =>
            f.yaml:2:1: "mapings" is not a key of the top level; allowed: version, enabled, file_permissions, providers, routes, \
            mappings, policy, cache, resolver, client, metrics, serve, agent (did you mean "mappings"?)
            == A name that is not indented
            mappings:
            img.shop.example: 203.0.113.7
            =>
            f.yaml:3:1: "img.shop.example" is not a key of the top level; allowed: version, enabled, file_permissions, providers, routes, \
            mappings, policy, cache, resolver, client, metrics, serve, agent (a name belongs below mappings: or routes:, indented)
            == The switch, and a key of a later version
            enabled: yes
            metrics: { host_label: hosts }
            client: { connections: { maximum: 0, maximum_queued: -1, queue_wait: 0s, queue: 5 } }
            =>
            f.yaml:2:10: enabled: found "yes"; allowed: true, false (write true)
            f.yaml:3:24: metrics.host_label: found "hosts"; allowed: routes
            f.yaml:4:35: client.connections.maximum: "0" is out of range; allowed: a whole number from 1 to 65535
            f.yaml:4:54: client.connections.maximum_queued: "-1" is out of range; allowed: a whole number from 0 to 1000000
            f.yaml:4:70: client.connections.queue_wait: "0s" is out of range; allowed: 1ms to 24h
            f.yaml:4:74: "queue" is not a key of client.connections; allowed: maximum_per_host, maximum, \
            maximum_streams, maximum_queued, queue_wait, maximum_idle, loops, idle_timeout, maximum_age, happy_eyeballs_delay, \
            address_stickiness, on_address_change, tcp_user_timeout, tcp_keepalive, selection, hedge_after, ejection, \
            probing, peer_certificates
            == A section twice
            cache: { entries: 5 }
            cache: { entries: 6 }
            =>
            f.yaml:3:1: "cache" is written twice: it is on line 2 already (keep one of them)
            == A section that is a list
            providers: [backup]
            =>
            f.yaml:2:12: providers: found a list; allowed: a mapping with a name for each provider
            == Wrong policy
            policy:
              providers_may_answer: everything
              allow: [10.0.0.1/8, 10.0.0.0/33, 10.0.0.0/8, 10.0.0.0/8, office]
            =>
            f.yaml:3:25: policy.providers_may_answer: found "everything"; allowed: public, private, loopback
            f.yaml:4:11: policy.allow: "10.0.0.1/8" has bits set behind the prefix; allowed: CIDR such as 10.0.0.0/8 \
            or "fd00::/8", or an address (did you mean 10.0.0.0/8?)
            f.yaml:4:23: policy.allow: "10.0.0.0/33" is not a block of addresses; allowed: CIDR such as 10.0.0.0/8 \
            or "fd00::/8", or an address
            f.yaml:4:48: policy.allow: 10.0.0.0/8 is listed twice
            f.yaml:4:60: policy.allow: "office" is not a block of addresses; allowed: CIDR such as 10.0.0.0/8 or \
            "fd00::/8", or an address
            == Wrong cache
            cache: { entries: 0, ttl: { min: 2h, max: 10m }, stale_limit: 169h }
            =>
            f.yaml:2:19: cache.entries: "0" is out of range; allowed: a whole number from 1 to 10000000
            f.yaml:2:27: cache.ttl: min (2h) is above max (10m)
            f.yaml:2:63: cache.stale_limit: "169h" is out of range; allowed: 0s to 168h
            == A floor above the default ceiling
            cache: { ttl: { min: 2h } }
            =>
            f.yaml:2:15: cache.ttl: min (2h) is above max (1h, the default)
            == A cache's time to live as one value
            cache: { ttl: 30s }
            =>
            f.yaml:2:15: cache.ttl: found "30s"; allowed: a mapping with the keys min, max, system
            == Sections that are text
            routes: all
            mappings: none
            policy: strict
            cache: yes
            client: [a]
            =>
            f.yaml:2:9: routes: found "all"; allowed: a mapping with a name, *.suffix or "*" for each route
            f.yaml:3:11: mappings: found "none"; allowed: a mapping with a name or *.suffix for each rule
            f.yaml:4:9: policy: found "strict"; allowed: a mapping with the keys providers_may_answer, allow, deny
            f.yaml:5:8: cache: found "yes"; allowed: a mapping with the keys entries, bytes, ttl, stale_limit, \
            stale_after, refresh_ahead, refresh_idle_names, preresolve, snapshot
            f.yaml:6:9: client: found a list; allowed: a mapping with the keys timeouts, ca_file, trust, trust_by_host, \
            connections, versions, maximum_response_body, bandwidth, headers, headers_by_host, credentials, \
            allows_cleartext_credentials, redirects, retries, merges_identical_reads, cookies, response_cache, proxy, \
            unix_socket, local_source, reachable_networks
            == A duplicate key that is quoted and one that is not, with other mistakes
            cache: { entries: x, "entries": 5 }
            client: { verions: auto }
            =>
            f.yaml:2:19: cache.entries: "x" is not a whole number; allowed: a whole number from 1 to 10000000
            f.yaml:2:22: "entries" is written twice: it is on line 2 already (keep one of them)
            f.yaml:3:11: "verions" is not a key of client; allowed: timeouts, ca_file, trust, trust_by_host, connections, \
            versions, maximum_response_body, bandwidth, headers, headers_by_host, credentials, \
            allows_cleartext_credentials, redirects, retries, merges_identical_reads, cookies, response_cache, proxy, \
            unix_socket, local_source, reachable_networks (did you mean "versions"?)
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
