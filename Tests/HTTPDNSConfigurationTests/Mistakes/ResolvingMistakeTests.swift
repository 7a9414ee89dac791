// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Each case is a file and the exact text of its error.
struct ResolvingMistakeTests {
    @Test(
        "An error about resolving shows its location, allowed values and a correction",
        arguments: MistakeCase.table(
            """
            == Wrong limits of the cache
            cache: { bytes: 4MB, stale_limit: 10, stale_after: 2m, refresh_ahead: yes, refresh_idle_names: true }
            =>
            f.yaml:2:17: cache.bytes: "4MB": "MB" is not a unit; allowed: a whole number with B, KiB, MiB or GiB, \
            such as 64KiB or 4MiB (write 4MiB)
            f.yaml:2:35: cache.stale_limit: "10" has no unit; allowed: a whole number with ms, s, m or h, such as 500ms or \
            30s (did you mean 10s?)
            f.yaml:2:52: cache.stale_after: "2m" is out of range; allowed: 0s to 1m
            f.yaml:2:71: cache.refresh_ahead: found "yes"; allowed: true, false (write true)
            f.yaml:2:96: cache.refresh_idle_names: "true" comes in a later version; allowed now: false
            == Too few bytes
            cache: { bytes: 65535B }
            =>
            f.yaml:2:17: cache.bytes: "65535B" is out of range; allowed: 64KiB to 1024GiB
            == Names to resolve at start that are none
            cache:
              preresolve: [a.example, "*.b.example", 203.0.113.7, A.example., c.example:80]
            =>
            f.yaml:3:27: cache.preresolve: "*.b.example" is a suffix; allowed: one name, without * and port
            f.yaml:3:42: cache.preresolve: "203.0.113.7" is an address; allowed: one name, without * and port (an \
            address needs no resolving)
            f.yaml:3:55: cache.preresolve: a.example is listed twice
            f.yaml:3:67: cache.preresolve: "c.example:80" has a port; allowed: one name, without * and port (write \
            c.example)
            == A snapshot that is no mapping
            cache: { snapshot: httpdns.cache, preresolve: [] }
            =>
            f.yaml:2:20: cache.snapshot: found "httpdns.cache"; allowed: a mapping with the keys file (write { file: \
            httpdns.cache })
            f.yaml:2:47: cache.preresolve: found an empty list; allowed: names, one or a list
            == A snapshot in no file
            cache: { snapshot: { file: / } }
            =>
            f.yaml:2:28: cache.snapshot.file: "/" cannot be written: it is a folder (name a file inside it)
            == A snapshot without a file
            cache: { snapshot: { path: a } }
            =>
            f.yaml:2:20: cache.snapshot: the key "file" is missing (write { file: PATH }, or leave snapshot out)
            f.yaml:2:22: "path" is not a key of cache.snapshot; allowed: file
            == Wrong limits of asking
            resolver: { hedge_after: 61s, attempt_limit: 4s, time_limit: 2s, families: ipv6, fallback: none }
            =>
            f.yaml:2:26: resolver.hedge_after: "61s" is out of range; allowed: 0s to 1m
            f.yaml:2:46: resolver: attempt_limit (4s) is above time_limit (2s) (one query is never waited for \
            longer than time_limit)
            f.yaml:2:76: resolver.families: found "ipv6"; allowed: v4, v6, both
            f.yaml:2:82: "fallback" is not a key of resolver; allowed: families, internal_zones, hedge_after, \
            attempt_limit, time_limit, system_threads (it is a key of a route)
            == No time at all
            resolver: { attempt_limit: 0ms, time_limit: 11m, system_threads: 0 }
            =>
            f.yaml:2:28: resolver.attempt_limit: "0ms" is out of range; allowed: 1ms to 10m
            f.yaml:2:45: resolver.time_limit: "11m" is out of range; allowed: 1ms to 10m
            f.yaml:2:66: resolver.system_threads: "0" is out of range; allowed: a whole number \
            from 1 to 1024
            == Wrong limits of a provider
            providers:
              a: { kind: doh, url: https://192.0.2.53/q, limits: { in_flight: 0, per_second: 0.5, burst: 4 } }
              b: { kind: doh, url: https://192.0.2.53/q, limits: 16 }
            =>
            f.yaml:3:67: providers["a"].limits.in_flight: "0" is out of range; allowed: a whole number from 1 to 65535
            f.yaml:3:82: providers["a"].limits.per_second: "0.5" is not a whole number; allowed: a whole number from \
            1 to 1000000
            f.yaml:3:87: "burst" is not a key of a provider's limits; allowed: in_flight, per_second
            f.yaml:4:54: providers["b"].limits: found "16"; allowed: a mapping with the keys in_flight, per_second
            == Wrong asking in a route
            providers:
              one: { kind: doh, url: https://192.0.2.53/q }
              two: { kind: doh, url: https://192.0.2.54/q }
            routes:
              a.example: { providers: [one, two], order: fast, stale_limit: never, client_subnet: 203.0.113.7 }
              b.example: { providers: one, second_opinion: true, https_records: on, client_subnet: 203.0.113.7/24 }
              c.example: { providers: one, allow: [10.0.0.1/8], only: [] }
            =>
            f.yaml:6:46: routes["a.example"].order: found "fast"; allowed: given, fastest
            f.yaml:6:65: routes["a.example"].stale_limit: "never" is not a duration; allowed: a whole number with ms, s, m \
            or h, such as 500ms or 30s
            f.yaml:6:87: routes["a.example"].client_subnet: "203.0.113.7" is one machine; allowed: a network in CIDR \
            such as 203.0.113.0/24 or "2001:db8::/56" (did you mean 203.0.113.0/24?)
            f.yaml:7:48: routes["b.example"].second_opinion: there is one provider, and a second opinion needs \
            another (name two providers, or leave second_opinion out)
            f.yaml:7:69: routes["b.example"].https_records: found "on"; allowed: true, false (write true)
            f.yaml:7:88: routes["b.example"].client_subnet: "203.0.113.7/24" has bits set behind the prefix; \
            allowed: CIDR such as 10.0.0.0/8 or "fd00::/8", or an address (did you mean 203.0.113.0/24?)
            f.yaml:8:40: routes["c.example"].allow: "10.0.0.1/8" has bits set behind the prefix; allowed: CIDR such \
            as 10.0.0.0/8 or "fd00::/8", or an address (did you mean 10.0.0.0/8?)
            f.yaml:8:59: routes["c.example"].only: found an empty list; allowed: blocks of addresses such as \
            10.0.0.0/8, one or a list
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
