// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// The same for the section `client`, see ``SectionMistakeTests``.
struct ClientMistakeTests {
    @Test(
        "An error in client shows its location, the allowed values and a correction",
        arguments: MistakeCase.table(
            """
            == Wrong time-outs
            client:
              timeouts: { connect: 0s, tls: 5, first_byte: -1s, idle: never, totl: 60s }
            =>
            f.yaml:3:24: client.timeouts.connect: "0s" is out of range; allowed: 1ms to 24h (for no limit write none)
            f.yaml:3:33: client.timeouts.tls: "5" has no unit; allowed: a whole number with ms, s, m or h, such as \
            500ms or 30s (did you mean 5s?)
            f.yaml:3:48: client.timeouts.first_byte: "-1s" is not a duration; allowed: a whole number with ms, s, m \
            or h, such as 500ms or 30s
            f.yaml:3:59: client.timeouts.idle: "never" is not a duration; allowed: a whole number with ms, s, m or \
            h, such as 500ms or 30s
            f.yaml:3:66: "totl" is not a key of client.timeouts; allowed: connect, tls, first_byte, idle, \
            response_head, total (did you mean "total"?)
            == A limit outside timeouts
            client: { connect: 5s }
            =>
            f.yaml:2:11: "connect" is not a key of client; allowed: timeouts, ca_file, trust, trust_by_host, \
            connections, versions, maximum_response_body, bandwidth, headers, headers_by_host, credentials, \
            allows_cleartext_credentials, redirects, retries, merges_identical_reads, cookies, response_cache, proxy, \
            unix_socket, local_source, reachable_networks (it is a key of client.timeouts)
            == Wrong byte counts
            client: { maximum_response_body: 4MB }
            =>
            f.yaml:2:34: client.maximum_response_body: "4MB": "MB" is not a unit; allowed: a whole number with B, KiB, \
            MiB or GiB, such as 64KiB or 4MiB (write 4MiB)
            == A byte count without unit
            client: { maximum_response_body: 4096 }
            =>
            f.yaml:2:34: client.maximum_response_body: "4096" has no unit; allowed: a whole number with B, KiB, MiB or \
            GiB, such as 64KiB or 4MiB (did you mean 4096B?)
            == A bandwidth of nothing
            client: { bandwidth: { sending: 0B } }
            =>
            f.yaml:2:33: client.bandwidth.sending: "0B" is out of range; allowed: 1B to 1024GiB
            == Wrong client words
            client: { versions: 3, connections: { maximum_per_host: many, maximum_idle: 0, on_address_change: move } }
            =>
            f.yaml:2:21: client.versions: found "3"; allowed: auto, 1.0, 1.1, 2 (did you mean "2"?)
            f.yaml:2:57: client.connections.maximum_per_host: "many" is not a whole number; allowed: a whole number from \
            1 to 65535
            f.yaml:2:77: client.connections.maximum_idle: "0" is out of range; allowed: a whole number from 1 to 65535
            f.yaml:2:99: client.connections.on_address_change: found "move"; allowed: move_now, warm_then_move
            == Wrong numbers of loops
            client: { connections: { loops: 65 } }
            =>
            f.yaml:2:33: client.connections.loops: found "65"; allowed: automatic, or a whole number from 1 to 64
            == Wrong redirects and retries
            client:
              redirects: { limit: 101, downgrade: yes, secret_fields: ["a b"], follow: 1 }
              retries: { limit: -1, delay: 2h, statuses: [200], budget: { percent: 1001, share: 1 } }
            =>
            f.yaml:3:23: client.redirects.limit: "101" is out of range; allowed: a whole number from 0 to 100
            f.yaml:3:39: client.redirects.downgrade: found "yes"; allowed: true, false (write true)
            f.yaml:3:60: client.redirects.secret_fields: "a b" is no name of a header field; allowed: such as \
            X-Tenant-Token
            f.yaml:3:68: "follow" is not a key of client.redirects; allowed: limit, downgrade, secret_fields, \
            cross_origin_fields
            f.yaml:4:21: client.retries.limit: "-1" is out of range; allowed: a whole number from 0 to 100
            f.yaml:4:32: client.retries.delay: "2h" is out of range; allowed: 0s to 1h
            f.yaml:4:47: client.retries.statuses: "200" is out of range; allowed: a whole number from 400 to 599
            f.yaml:4:72: client.retries.budget.percent: "1001" is out of range; allowed: a whole number from 0 to 1000
            f.yaml:4:78: "share" is not a key of client.retries.budget; allowed: percent, per_second
            == Headers without a space after the colon: what may be a secret is not repeated
            client:
              headers:
                X-Api-Key:hunter2
              headers_by_host:
                a.example: Authorization:hunter2
                b.example: { fields: "Cookie:hunter2" }
                c.example: { fields: { "X-Api-Key:hunter2": x } }
            =>
            f.yaml:4:5: client.headers: found a value; allowed: a mapping with header fields and their values (put a \
            space after each colon)
            f.yaml:6:16: client.headers_by_host["a.example"]: found a value; allowed: a mapping with the keys fields, \
            without (put a space after each colon)
            f.yaml:7:26: client.headers_by_host["b.example"].fields: found a value; allowed: a mapping with header \
            fields and their values (put a space after each colon)
            f.yaml:8:28: client.headers_by_host["c.example"].fields: "X-Api-Key" is no name of a header field; allowed: \
            such as X-Tenant
            == Wrong headers, of which no value is repeated
            client:
              headers: { "a b": x, Host: x, content-length: 5, Authorization: Bearer hunter2, X-A: "hunter2\\nX-B: 1", X-C: {} }
              headers_by_host:
                "*": { fields: { X-A: 1 } }
                a.example: { fields: { X-Api-Key: hunter2, X-D: 1, x-d: 2 }, without: ["a b"], only: 1 }
            =>
            f.yaml:3:14: client.headers: "a b" is no name of a header field; allowed: such as X-Tenant
            f.yaml:3:24: client.headers: a Host header field is not sent as given (use options.hostHeader for another Host)
            f.yaml:3:33: client.headers: the header field content-length is set by the client, from the body (leave it out; \
            a stream's length goes into Request.Body.stream(length:))
            f.yaml:3:52: client.headers: Authorization holds a secret, and secrets do not stand in this file (let \
            computedHeaders of the program give it)
            f.yaml:3:88: client.headers["X-A"]: found what no field can have as its value; allowed: text without line \
            breaks, and without spaces at its ends
            f.yaml:3:112: client.headers["X-C"]: found an empty mapping; allowed: a value, or a list of them
            f.yaml:5:5: client.headers_by_host["*"]: "*" stands for all hosts; allowed: a name or *.suffix (what holds for \
            all hosts belongs to client.headers)
            f.yaml:6:28: client.headers_by_host["a.example"].fields: X-Api-Key holds a secret, and secrets do not stand in \
            this file (let computedHeaders of the program give it)
            f.yaml:6:56: client.headers_by_host["a.example"].fields["x-d"] is written twice (give one list of values)
            f.yaml:6:76: client.headers_by_host["a.example"].without: "a b" is no name of a header field; allowed: such as \
            X-Tenant-Token
            f.yaml:6:84: "only" is not a key of a host's headers; allowed: fields, without (it is a key of a route)
            == Wrong ways out
            client:
              proxy: { url: "ftp://proxy.example", password: secret, resolve: here, except: ["a b", 10.0.0.1/8] }
              unix_socket: /run/app.sock
              local_source: eth0/1
            =>
            f.yaml:3:17: client.proxy.url: the proxy "ftp://proxy.example" cannot be used: its scheme is unknown \
            (write it as http://proxy.example:3128; schemes are http, https, socks4, socks4a, socks5 and socks5h)
            f.yaml:3:50: client.proxy.password: found a value; allowed: { file: PATH } or { env: NAME } (a secret itself \
            does not belong into this file)
            f.yaml:3:50: client.proxy.password: there is no user (give client.proxy.user)
            f.yaml:3:67: client.proxy.resolve: found "here"; allowed: proxy, local
            f.yaml:3:82: client.proxy.except: "a b" is no exception from a proxy (written are one.example (with all names \
            below it), 192.0.2.1, 10.0.0.0/8, 2001:db8::/32, one.example:8443, or * for everything)
            f.yaml:3:89: client.proxy.except: "10.0.0.1/8" is no exception from a proxy (written are one.example (with all \
            names below it), 192.0.2.1, 10.0.0.0/8, 2001:db8::/32, one.example:8443, or * for everything)
            f.yaml:5:17: client.local_source: found "eth0/1"; allowed: a network interface such as eth0, or an address of \
            this machine
            == A truth value for a proxy and for a local source
            client: { proxy: true, local_source: Yes }
            =>
            f.yaml:2:18: client.proxy: found "true"; allowed: a proxy such as http://proxy.example:3128, environment, or none
            f.yaml:2:38: client.local_source: found "Yes"; allowed: a network interface such as eth0, or an address of \
            this machine
            == A truth value for the URL of a proxy
            client: { proxy: { url: "on" } }
            =>
            f.yaml:2:25: client.proxy.url: found "on"; allowed: a proxy such as http://proxy.example:3128
            == A password in a proxy's URL, and a proxy to a Unix socket
            client:
              proxy: http://me:hunter2@proxy.example:3128
              unix_socket: ""
            =>
            f.yaml:3:10: client.proxy: the proxy http://proxy.example:3128 has a user in its URL (a password does not belong \
            into this file: give user, and password: { file: PATH } or { env: NAME })
            f.yaml:4:16: client.unix_socket: the path is empty; allowed: the path of a Unix socket
            == Wrong words about connections
            client:
              connections:
                selection: fast
                hedge_after: 1ms
                ejection: { statuses: [200, 503, 503], consecutive: 0, duration: 1m, maximum_duration: 30s }
                probing: { interval: 1ms, maximum_concurrent: many }
                peer_certificates: yes
                tcp_keepalive: { idle: 1ms, interval: 10h, count: 128 }
            =>
            f.yaml:4:16: client.connections.selection: found "fast"; allowed: automatic, given, round_robin, random, \
            fastest
            f.yaml:5:18: client.connections.hedge_after: "1ms" is out of range; allowed: 10ms to 1m
            f.yaml:6:28: client.connections.ejection.statuses: "200" is out of range; allowed: a whole number from 400 to \
            599
            f.yaml:6:38: client.connections.ejection.statuses: 503 is listed twice
            f.yaml:6:57: client.connections.ejection.consecutive: "0" is out of range; allowed: a whole number from 1 to \
            1000
            f.yaml:6:92: client.connections.ejection.maximum_duration: "30s" is out of range; allowed: 1m to 24h
            f.yaml:7:26: client.connections.probing.interval: "1ms" is out of range; allowed: 1s to 24h
            f.yaml:7:51: client.connections.probing.maximum_concurrent: "many" is not a whole number; allowed: a whole \
            number from 1 to 1000
            f.yaml:8:24: client.connections.peer_certificates: found "yes"; allowed: true, false (write true)
            f.yaml:9:28: client.connections.tcp_keepalive.idle: "1ms" is out of range; allowed: 1s to 32767s
            f.yaml:9:43: client.connections.tcp_keepalive.interval: "10h" is out of range; allowed: 1s to 32767s
            f.yaml:9:55: client.connections.tcp_keepalive.count: "128" is out of range; allowed: a whole number from 1 to \
            127
            == Trust of hosts
            client:
              trust_by_host:
                "*": { minimum_version: 1.3 }
                A.example: { pins_by_host: {} }
                a.example: { minimum_version: 1.1 }
                "a b": {}
            =>
            f.yaml:4:5: client.trust_by_host["*"]: "*" stands for all hosts; allowed: a name or *.suffix (what holds for all \
            hosts belongs to client.trust and client.ca_file)
            f.yaml:5:18: "pins_by_host" is not a key of a host's trust; allowed: ca_file, client_certificate, pins, \
            minimum_version, maximum_version, ciphers, ciphers_tls13, curves, verification (it is a key of client.trust)
            f.yaml:6:5: client.trust_by_host["a.example"] is written twice (keep one of them)
            f.yaml:6:35: client.trust_by_host["a.example"].minimum_version: found "1.1"; allowed: 1.2, 1.3 (did you mean \
            "1.2"?)
            f.yaml:7:5: client.trust_by_host["a b"]: "a b" is not a host name: it has a space; allowed are letters, digits, \
            "-", "_" and dots between labels
            == TLS versions, ciphers and curves
            client:
              trust: { maximum_version: 1.2, ciphers: [AES128-SHA, TLS_AES_128_GCM_SHA256, AES128-SHA], curves: P256 }
              trust_by_host:
                a.example: { minimum_version: 1.3, ciphers_tls13: [] }
            =>
            f.yaml:3:56: client.trust.ciphers: "TLS_AES_128_GCM_SHA256" is a cipher suite of TLS 1.3, and not of TLS 1.2
            f.yaml:3:80: client.trust.ciphers: AES128-SHA is listed twice
            f.yaml:3:101: client.trust.curves: "P256" is not a curve; allowed: P-256, P-384, P-521, X25519, \
            X25519MLKEM768, X448, prime256v1, secp384r1, secp521r1 (did you mean "P-256"?)
            f.yaml:5:35: client.trust_by_host["a.example"]: minimum_version is 1.3, and maximum_version 1.2 (the maximum is \
            the newer one, or the same)
            f.yaml:5:55: client.trust_by_host["a.example"].ciphers_tls13: found an empty list; allowed: cipher suites such \
            as TLS_AES_128_CCM_8_SHA256, one or a list
            == An empty certificate path
            client: { ca_file: "" }
            =>
            f.yaml:2:20: client.ca_file: the path is empty; allowed: the path of a PEM file
            == A home folder
            client: { ca_file: ~/ca.pem }
            =>
            f.yaml:2:20: client.ca_file: "~/ca.pem" cannot be read: No such file or directory (~ is not expanded: \
            write the whole path)
            == A folder for a certificate
            client: { ca_file: / }
            =>
            f.yaml:2:20: client.ca_file: "/" cannot be read: it is a folder
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
