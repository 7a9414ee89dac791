// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Each case is a file and the exact text of its error.
struct MappingMistakeTests {
    @Test(
        "An error in mappings shows its location, the allowed values and a correction",
        arguments: MistakeCase.table(
            """
            == A mapping twice in two spellings
            mappings:
              A.Example: 203.0.113.7
              a.example.: 203.0.113.8
            =>
            f.yaml:4:3: mappings["a.example."] is the same name as on line 3: a.example (keep one of them)
            == A mapping twice in one spelling
            mappings:
              a.example: 203.0.113.7
              b.example: 203.0.113.8
              a.example: 203.0.113.9
              'a.example': system
            =>
            f.yaml:5:3: mappings["a.example"] is the same name as on line 3: a.example (keep one of them)
            f.yaml:6:3: mappings["a.example"] is the same name as on line 3: a.example (keep one of them)
            == * in mappings
            mappings:
              "*": 203.0.113.7
            =>
            f.yaml:3:3: mappings: "*" is for routes only; allowed in mappings: a name, *.suffix, either with :port \
            (a mapping for every name would send them all to one server)
            == Stars in the wrong place
            mappings:
              "*shop.example": 203.0.113.7
              "a.*.example": 203.0.113.7
              ".shop.example": 203.0.113.7
              "*.": 203.0.113.7
            =>
            f.yaml:3:3: mappings: "*shop.example": * stands only at the front and for whole labels; allowed: a name \
            or *.suffix (did you mean "*.shop.example"?)
            f.yaml:4:3: mappings: "a.*.example": * stands only at the front and for whole labels; allowed: a name or \
            *.suffix
            f.yaml:5:3: mappings: ".shop.example" begins with a dot; allowed: a name or *.suffix (did you mean \
            "*.shop.example"?)
            f.yaml:6:3: mappings: "*." is not a host name: it is empty
            == A mapping for a URL
            mappings:
              https://img.shop.example/a.jpg: 203.0.113.7
              img.shop.example/a: 203.0.113.7
            =>
            f.yaml:3:3: mappings: "https://img.shop.example/a.jpg" is a URL or path; allowed: a name or *.suffix \
            (write img.shop.example)
            f.yaml:4:3: mappings: "img.shop.example/a" is a URL or path; allowed: a name or *.suffix (write \
            img.shop.example)
            == A mapping for an address
            mappings:
              203.0.113.1: 203.0.113.7
              "[2001:db8::1]:443": 203.0.113.7
            =>
            f.yaml:3:3: mappings: "203.0.113.1" is an address, which requests connect to as it is: \
            no rule here can apply to it (the key is the name in the URL)
            f.yaml:4:3: mappings: "[2001:db8::1]:443" is an address, which requests connect to as it is: \
            no rule here can apply to it (the key is the name in the URL)
            == Ports out of range
            mappings:
              a.example:0: 203.0.113.7
              b.example:65536: 203.0.113.7
              c.example: 203.0.113.7:0
              d.example: "[::1]:70000"
              e.example:https: 203.0.113.7
            =>
            f.yaml:3:3: mappings: "a.example:0": "0" is not a port; allowed: 1 to 65535
            f.yaml:4:3: mappings: "b.example:65536": "65536" is not a port; allowed: 1 to 65535
            f.yaml:5:14: mappings["c.example"]: "203.0.113.7:0": "0" is not a port; allowed: 1 to 65535
            f.yaml:6:14: mappings["d.example"]: "[::1]:70000": "70000" is not a port; allowed: 1 to 65535
            f.yaml:7:3: mappings: "e.example:https": "https" is not a port; allowed: 1 to 65535
            == Addresses that are none
            mappings:
              a.example: 203.0.113
              b.example: 203.0.113.07
              c.example: 203.0.113.256
              d.example: fe80::1%eth0
              e.example: 10.0.0.0/8
              f.example: edge.cdn.example
              g.example: https://203.0.113.7/
              h.example: 2001:db8:::7
              i.example: 2001:db8::7:8443:1:2:3:4:5
            =>
            f.yaml:3:14: mappings["a.example"]: "203.0.113" is not an address: IPv4 has four numbers from 0 to 255; \
            allowed: IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port
            f.yaml:4:14: mappings["b.example"]: "203.0.113.07" is not an address: parts with leading zeros are read \
            as octal by some programs; allowed: IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a \
            port
            f.yaml:5:14: mappings["c.example"]: "203.0.113.256" is not an address: IPv4 has four numbers from 0 to \
            255; allowed: IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port
            f.yaml:6:14: mappings["d.example"]: "fe80::1%eth0" is not an address: zones (after %) are not supported; \
            allowed: IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port
            f.yaml:7:14: mappings["e.example"]: "10.0.0.0/8" is not an address but a block of addresses; allowed: \
            IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port (name each address)
            f.yaml:8:14: mappings["f.example"]: "edge.cdn.example" is not an address but a name; allowed: IPv4 such \
            as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port (for another name's addresses write { \
            via: edge.cdn.example })
            f.yaml:9:14: mappings["g.example"]: "https://203.0.113.7/" is not an address but a URL; allowed: IPv4 \
            such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port (write only the address)
            f.yaml:10:14: mappings["h.example"]: "2001:db8:::7" is not an address; allowed: IPv4 such as \
            203.0.113.7, IPv6 such as "2001:db8::7", either with a port (with a port, IPv6 needs brackets and \
            quotes: "[2001:db8::7]:8443")
            f.yaml:11:14: mappings["i.example"]: "2001:db8::7:8443:1:2:3:4:5" is not an address; allowed: IPv4 such \
            as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port (with a port, IPv6 needs brackets and \
            quotes: "[2001:db8::7]:8443")
            == A mapping without a value
            mappings:
              a.example:
              b.example: []
              c.example: {}
              d.example: { ttl: 5s }
            =>
            f.yaml:3:13: mappings["a.example"]: found nothing; allowed: an address, a list of addresses, or system
            f.yaml:4:14: mappings["b.example"]: found an empty list; allowed: an address, a list of addresses, or \
            system
            f.yaml:5:3: mappings["c.example"] says none of "addresses", "via", "srv" and "last_resort"; allowed: one of \
            them
            f.yaml:6:3: mappings["d.example"] says none of "addresses", "via", "srv" and "last_resort"; allowed: one of \
            them
            == An address twice
            mappings:
              a.example: [203.0.113.7, 203.0.113.8, 203.0.113.7]
            =>
            f.yaml:3:41: mappings["a.example"]: "203.0.113.7" is listed twice: it is on line 3 already (for a larger \
            share use weights: { addresses: { ADDRESS: 2 } })
            == A list in a list
            mappings:
              a.example: [[203.0.113.7]]
            =>
            f.yaml:3:15: mappings["a.example"]: found a list; allowed: an address
            == Weights out of range
            mappings:
              a.example: { addresses: { 203.0.113.7: 0, 203.0.113.8: 95%, 203.0.113.9: 1000001, 203.0.113.10: -1, \
            203.0.113.11: 1.5, 203.0.113.12: } }
            =>
            f.yaml:3:42: mappings["a.example"].addresses["203.0.113.7"]: "0" is out of range; allowed: a whole \
            number from 1 to 1000000
            f.yaml:3:58: mappings["a.example"].addresses["203.0.113.8"]: "95%" is not a whole number; allowed: a \
            whole number from 1 to 1000000
            f.yaml:3:76: mappings["a.example"].addresses["203.0.113.9"]: "1000001" is out of range; allowed: a whole \
            number from 1 to 1000000
            f.yaml:3:99: mappings["a.example"].addresses["203.0.113.10"]: "-1" is out of range; allowed: a whole \
            number from 1 to 1000000
            f.yaml:3:117: mappings["a.example"].addresses["203.0.113.11"]: "1.5" is not a whole number; allowed: a \
            whole number from 1 to 1000000
            f.yaml:3:136: mappings["a.example"].addresses["203.0.113.12"]: found nothing; allowed: a whole number \
            from 1 to 1000000
            == Weights one level too high
            mappings:
              a.example: { 203.0.113.7: 95, 203.0.113.8: 5 }
            =>
            f.yaml:3:16: mappings["a.example"]: found an address as a key; allowed: addresses, via, srv, ttl, last_resort (weights \
            stand one level deeper: { addresses: { 203.0.113.7: 95, ... } })
            == Both addresses and via
            mappings:
              a.example: { addresses: [203.0.113.7], via: b.example }
            =>
            f.yaml:3:47: mappings["a.example"] has both "addresses" and "via"; allowed: one of them
            == Not the name of a service, or beside another rule
            mappings:
              a.example: { srv: b.example }
              b.example: { srv: _grpc._tcp.b.example, via: c.example }
              c.example: { srv: _tcp.b.example }
              d.example: { srv: _grpc._tcp.b.example, addresses: 203.0.113.7 }
              e.example: { srv: [_grpc._tcp.b.example] }
            =>
            f.yaml:3:21: mappings["a.example"].srv: "b.example" is not the name of a service (write \
            _grpc._tcp.b.example)
            f.yaml:4:21: mappings["b.example"] has both "via" and "srv"; allowed: one of them
            f.yaml:5:21: mappings["c.example"].srv: "_tcp.b.example" is not the name of a service (write both \
            labels, as in _grpc._tcp.orders.example)
            f.yaml:6:21: mappings["d.example"] has both "addresses" and "srv"; allowed: one of them
            f.yaml:7:21: mappings["e.example"].srv: found a list; allowed: the name of a service, such as \
            _grpc._tcp.orders.example
            == Times to live out of range
            mappings:
              a.example: { addresses: 203.0.113.7, ttl: 0s }
              b.example: { addresses: 203.0.113.7, ttl: 30 }
              c.example: { addresses: 203.0.113.7, ttl: 30sec }
              d.example: { addresses: 203.0.113.7, ttl: 2d }
              e.example: { addresses: 203.0.113.7, ttl: 1.5s }
              f.example: { addresses: 203.0.113.7, ttl: soon }
              g.example: { addresses: 203.0.113.7, ttl: 5 weeks }
              h.example: { addresses: 203.0.113.7, ttl: 99999999999h }
            =>
            f.yaml:3:45: mappings["a.example"].ttl: "0s" is out of range; allowed: 1s to 168h
            f.yaml:4:45: mappings["b.example"].ttl: "30" has no unit; allowed: a whole number with ms, s, m or h, \
            such as 500ms or 30s (did you mean 30s?)
            f.yaml:5:45: mappings["c.example"].ttl: "30sec" is not a duration; allowed: a whole number with ms, s, m \
            or h, such as 500ms or 30s (write 30s)
            f.yaml:6:45: mappings["d.example"].ttl: "2d": there is no unit for days; allowed: a whole number with \
            ms, s, m or h, such as 500ms or 30s (write 48h)
            f.yaml:7:45: mappings["e.example"].ttl: "1.5s" has a fraction; allowed: a whole number with ms, s, m or \
            h, such as 500ms or 30s (use a smaller unit: 1500ms for 1.5s)
            f.yaml:8:45: mappings["f.example"].ttl: "soon" is not a duration; allowed: a whole number with ms, s, m \
            or h, such as 500ms or 30s
            f.yaml:9:45: mappings["g.example"].ttl: "5 weeks": " weeks" is not a unit; allowed: a whole number with \
            ms, s, m or h, such as 500ms or 30s
            f.yaml:10:45: mappings["h.example"].ttl: "99999999999h" is out of range; allowed: 1s to 168h
            == Last resorts beside something else, and none
            mappings:
              a.example: { last_resort: [203.0.113.20], ttl: 5s }
              b.example: { last_resort: 203.0.113.20, via: edge.example }
              c.example: { last_resort: [] }
              d.example: { last_resort: edge.example }
            =>
            f.yaml:3:50: mappings["a.example"] has both "last_resort" and "ttl"; allowed: last_resort alone (last \
            resorts are never cached)
            f.yaml:4:48: mappings["b.example"] has both "last_resort" and "via"; allowed: last_resort alone
            f.yaml:5:29: mappings["c.example"].last_resort: found an empty list; allowed: an address, a list of \
            addresses, or system
            f.yaml:6:29: mappings["d.example"].last_resort: "edge.example" is not an address but a name; allowed: \
            IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port (for another name's addresses write \
            { via: edge.example })
            == Wrong via
            mappings:
              a.example: { via: 203.0.113.7 }
              b.example: { via: "*.cdn.example" }
              c.example: { via: edge.cdn.example:8443 }
              d.example: { via: { host: edge.cdn.example } }
              e.example: { via: { keep: [host] } }
              f.example: { via: { host: edge.cdn.example, keep: [sni] } }
              g.example: { via: [edge.cdn.example] }
            =>
            f.yaml:3:21: mappings["a.example"].via: "203.0.113.7" is an address; allowed: one name, without * and \
            port (an address stands alone, without via)
            f.yaml:4:21: mappings["b.example"].via: "*.cdn.example" is a suffix; allowed: one name, without * and port
            f.yaml:5:21: mappings["c.example"].via: "edge.cdn.example:8443" has a port; allowed: one name, without * \
            and port (write edge.cdn.example)
            f.yaml:6:21: mappings["d.example"].via: the key "keep" is missing (to keep URL, SNI and certificate \
            write via: edge.cdn.example; to keep the Host field alone add keep: [host])
            f.yaml:7:21: mappings["e.example"].via: the key "host" is missing (write { host: NAME, keep: [host] })
            f.yaml:8:54: mappings["f.example"].via.keep: found "sni"; allowed: host
            f.yaml:9:21: mappings["g.example"].via: found a list; allowed: a name, or { host: NAME, keep: [host] }
            == via in a circle
            mappings:
              c.example: { via: a.example }
              a.example: { via: b.example }
              b.example: { via: c.example }
              d.example: { via: a.example }
            =>
            f.yaml:4:3: mappings: via leads in a circle: a.example -> b.example -> c.example -> a.example (give one \
            of them addresses)
            == via to itself through a suffix
            mappings:
              "*.shop.example": { via: edge.shop.example }
            =>
            f.yaml:3:3: mappings: via leads in a circle: *.shop.example -> *.shop.example (give one of them addresses)
            == via in a circle on one port
            mappings:
              a.example:8443: { via: b.example }
              b.example: { via: a.example }
              a.example: 203.0.113.7
            =>
            f.yaml:3:3: mappings: via leads in a circle: a.example:8443 -> b.example -> a.example:8443 (give one of \
            them addresses)
            == Text that hides itself
            mappings:
              a.example: "203\\e[2J\\u202e"
            =>
            f.yaml:3:14: mappings["a.example"]: "203\\u{1b}[2J\\u{202e}" is not an address; allowed: IPv4 such as \
            203.0.113.7, IPv6 such as "2001:db8::7", either with a port
            == Environment variables are text
            mappings:
              a.example: ${ADDRESS}
            =>
            f.yaml:3:14: mappings["a.example"]: "${ADDRESS}" is not an address; allowed: IPv4 such as 203.0.113.7, \
            IPv6 such as "2001:db8::7", either with a port
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
