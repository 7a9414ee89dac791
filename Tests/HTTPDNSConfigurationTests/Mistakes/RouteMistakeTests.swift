// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Each case is a file and the exact text of its error.
struct RouteMistakeTests {
    @Test(
        "An error in routes shows its location, the allowed values and a correction",
        arguments: MistakeCase.table(
            """
            == A route to an unknown provider
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: { providers: [bakcup] }
            =>
            f.yaml:5:31: routes["shop.example"].providers: no provider is called "bakcup"; known: backup (did you \
            mean "backup"?)
            == A route to system
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: { providers: [backup, system] }
            =>
            f.yaml:5:39: routes["shop.example"].providers: no provider is called "system"; known: backup (for the \
            system resolver write fallback: system, or system in place of the whole route)
            == A route to a provider when there are none
            routes:
              shop.example: { providers: ali }
            =>
            f.yaml:3:30: routes["shop.example"].providers: no provider is called "ali"; there are none in "providers"
            == A route that is a provider's name
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: backup
            =>
            f.yaml:5:17: routes["shop.example"]: found "backup"; allowed: system or { providers: [NAME], fallback: \
            none|system } (write { providers: [backup] })
            == A route that is a list
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: [backup]
            =>
            f.yaml:5:17: routes["shop.example"]: found a list; allowed: system or { providers: [NAME], fallback: \
            none|system } (write { providers: [...] })
            == A misspelled system
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: Sytem
            =>
            f.yaml:5:17: routes["shop.example"]: found "Sytem"; allowed: system or { providers: [NAME], fallback: \
            none|system } (did you mean system?)
            == A route without providers
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: { fallback: none }
              a.example: { providers: [] }
            =>
            f.yaml:5:3: routes["shop.example"]: the key "providers" is missing (write { providers: [NAME] } or system)
            f.yaml:6:27: routes["a.example"].providers: found an empty list; allowed: the names of providers, one or \
            a list
            == Wrong words in a route
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: { providers: [backup, backup], fallback: sytem, families: ipv4 }
            =>
            f.yaml:5:39: routes["shop.example"].providers: "backup" is listed twice
            f.yaml:5:58: routes["shop.example"].fallback: found "sytem"; allowed: none, system (did you mean \
            "system"?)
            f.yaml:5:75: routes["shop.example"].families: found "ipv4"; allowed: v4, v6, both
            == A fallback of connections that is no truth value
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example: { providers: backup, connect_fallback: system }
            =>
            f.yaml:5:56: routes["shop.example"].connect_fallback: found "system"; allowed: true, false
            == How much of a route is in use
            providers: { p: { kind: doh, url: https://192.0.2.53/dns-query } }
            routes:
              a.example: { providers: p, enabled: off }
              b.example: { providers: p, mode: shadows }
              c.example: { providers: p, rollout: 25% }
              d.example: { providers: p, rollout: { by: key } }
              e.example: { providers: p, rollout: { percent: 25% } }
              f.example: { providers: p, rollout: { percent: 101 } }
              g.example: { providers: p, rollout: { percent: 0.125 } }
              h.example: { providers: p, rollout: { percent: 1, by: user } }
              i.example: { providers: p, rollout: { percnt: 1 } }
            =>
            f.yaml:4:39: routes["a.example"].enabled: found "off"; allowed: true, false (write false)
            f.yaml:5:36: routes["b.example"].mode: found "shadows"; allowed: use, shadow (did you mean "shadow"?)
            f.yaml:6:39: routes["c.example"].rollout: found "25%"; allowed: a mapping with the keys percent, by \
            (write { percent: 25 })
            f.yaml:7:39: routes["d.example"].rollout: the key "percent" is missing (write { percent: 25 }, or leave \
            rollout out for all)
            f.yaml:8:50: routes["e.example"].rollout.percent: "25%" is not a percentage; allowed: a number from 0 to \
            100 with at most two decimals, such as 25 or 0.5 (write 25)
            f.yaml:9:50: routes["f.example"].rollout.percent: "101" is out of range; allowed: a number from 0 to 100 \
            with at most two decimals, such as 25 or 0.5
            f.yaml:10:50: routes["g.example"].rollout.percent: "0.125" is not a percentage; allowed: a number from 0 \
            to 100 with at most two decimals, such as 25 or 0.5
            f.yaml:11:57: routes["h.example"].rollout.by: found "user"; allowed: process, key
            f.yaml:12:39: routes["i.example"].rollout: the key "percent" is missing (write { percent: 25 }, or leave \
            rollout out for all)
            f.yaml:12:41: "percnt" is not a key of a route's rollout; allowed: percent, by (did you mean "percent"?)
            == Search lists and times to live
            providers:
              p: { kind: doh, url: https://192.0.2.53/dns-query }
              d: { kind: dns, servers: 10.0.0.2 }
            routes:
              a.example: { providers: p, search: resolv.conf }
              b.example: { providers: d, ndots: 2 }
              c.example: { providers: d, search: [] }
              d.example: { providers: d, search: a..b, ndots: 16 }
              e.example: { providers: d, ttl: { min: 9s, max: 3s }, negative_ttl: 600s }
              "*.corp.internal": { providers: [d, p] }
              "*.prod.internal": { providers: d }
            =>
            f.yaml:6:38: routes["a.example"].search: a search list is for name servers alone, and "p" is no provider of \
            kind dns (leave search out, or name providers of kind dns alone)
            f.yaml:7:37: routes["b.example"].ndots: there is no search list whose use it could change (write search: \
            resolv.conf, or leave ndots out)
            f.yaml:8:38: routes["c.example"].search: found an empty list; allowed: names, one or a list
            f.yaml:9:38: routes["d.example"].search: "a..b" is not a host name: it has an empty label; one trailing dot \
            is allowed, two dots in a row are not
            f.yaml:9:51: routes["d.example"].ndots: "16" is out of range; allowed: a whole number from 0 to 15
            f.yaml:10:35: routes["e.example"].ttl: min (9s) is above max (3s)
            f.yaml:10:71: routes["e.example"].negative_ttl: "600s" is out of range; allowed: 1s to 5m
            f.yaml:11:3: routes["*.corp.internal"]: names below corp.internal are internal and go to no provider but kind \
            dns unless a route names them exactly (name them one by one, or write system)
            == A route twice in two spellings
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              A.Example: system
              a.example.: { providers: backup }
            =>
            f.yaml:6:3: routes["a.example."] is the same name as on line 5: a.example (keep one of them)
            == A route with a port
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              shop.example:8443: system
            =>
            f.yaml:5:3: routes: "shop.example:8443" has a port; a route is for a name on all ports (write \
            shop.example; only mappings tell ports apart)
            == A route for an address
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              203.0.113.7: system
              "[::1]": system
            =>
            f.yaml:5:3: routes: "203.0.113.7" is an address, which requests connect to as it is: \
            no rule here can apply to it (the key is the name in the URL)
            f.yaml:6:3: routes: "[::1]" is an address, which requests connect to as it is: \
            no rule here can apply to it \
            (the key is the name in the URL)
            == Rules about localhost, which would never apply
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              localhost: { providers: backup }
            mappings:
              "*.localhost": 127.0.0.2
            =>
            f.yaml:5:3: routes["localhost"]: localhost and the names below it are always this machine's loopback \
            addresses (RFC 6761 section 6.3), so it would never apply
            f.yaml:7:3: mappings["*.localhost"]: localhost and the names below it are always this machine's \
            loopback addresses (RFC 6761 section 6.3), so it would never apply
            == A route for internal names only
            providers:
              backup: { kind: doh, url: https://192.0.2.53/dns-query }
            routes:
              "*.svc.cluster.local": { providers: backup }
            =>
            f.yaml:5:3: routes["*.svc.cluster.local"]: names below svc.cluster.local are internal and go to no \
            provider but kind dns unless a route names them exactly (name them one by one, or write system)
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
