// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Each case is a file and the exact text of its error.
struct ProviderMistakeTests {
    @Test(
        "An error in providers shows its location, allowed values and a correction",
        arguments: MistakeCase.table(
            """
            == A provider without a kind
            providers:
              backup: { url: https://192.0.2.53/dns-query }
            =>
            f.yaml:3:3: providers["backup"]: the key "kind" is missing (write kind: doh)
            == A provider of an unknown kind
            providers:
              backup: { kind: dhoh }
            =>
            f.yaml:3:19: providers["backup"].kind: found "dhoh"; allowed: doh, dns, json-google, json-cloudflare, \
            json-alidns, alibaba-v1, alibaba-v2, tencent (did you mean "doh"?)
            == Name servers that are missing, by name, or twice
            providers:
              a: { kind: dns }
              b: { kind: dns, servers: [ns.corp.example] }
              c: { kind: dns, servers: [10.0.0.2, "10.0.0.2:53"], transport: sctp }
              d: { kind: dns, servers: "10.0.0.2:0", url: https://192.0.2.53/ }
            =>
            f.yaml:3:3: providers["a"]: the key "servers" is missing (such as servers: [10.0.0.2, 10.0.0.3])
            f.yaml:4:29: providers["b"].servers: "ns.corp.example" is not an address but a name; allowed: IPv4 such as \
            203.0.113.7, IPv6 such as "2001:db8::7", either with a port (the name cannot be looked up here)
            f.yaml:5:39: providers["c"].servers: 10.0.0.2:53 is listed twice
            f.yaml:5:66: providers["c"].transport: found "sctp"; allowed: udp, tcp, tls
            f.yaml:6:28: providers["d"].servers: "10.0.0.2:0": "0" is not a port; allowed: 1 to 65535
            f.yaml:6:42: "url" is not a key of a provider of kind dns; allowed: kind, transport, servers, tls_name, ca_file, answer_scope, \
            limits (it is a key of a provider of kind doh)
            == A provider without a URL
            providers:
              backup: { kind: doh }
            =>
            f.yaml:3:3: providers["backup"]: the key "url" is missing (such as url: https://doh.example/dns-query)
            == A provider that is a URL
            providers:
              backup: https://192.0.2.53/dns-query
            =>
            f.yaml:3:11: providers["backup"]: found a URL; allowed: a mapping with the keys kind, url, bootstrap, \
            method, ca_file, answer_scope, limits (write { kind: doh, url: ... })
            == A provider by name without bootstrap
            providers:
              backup: { kind: doh, url: https://doh.example/dns-query }
            =>
            f.yaml:3:29: providers["backup"].url: "https://doh.example/dns-query" is by name, and the service's own \
            name is never looked up (add bootstrap: [ADDRESS] with the service's addresses)
            == A provider in clear text
            providers:
              backup: { kind: doh, url: "http://doh.example/dns-query", bootstrap: 192.0.2.53 }
            =>
            f.yaml:3:29: providers["backup"].url: "http://doh.example/dns-query" is not encrypted; allowed: an https \
            URL such as https://doh.example/dns-query (http is for loopback addresses only)
            == A provider's URL without scheme
            providers:
              backup: { kind: doh, url: 192.0.2.53/dns-query }
            =>
            f.yaml:3:29: providers["backup"].url: "192.0.2.53/dns-query" is not an https URL; allowed: an https URL \
            such as https://doh.example/dns-query (did you mean https://192.0.2.53/dns-query?)
            == A provider's URL as a template
            providers:
              backup: { kind: doh, url: "https://192.0.2.53/dns-query{?dns}" }
            =>
            f.yaml:3:29: providers["backup"].url: "https://192.0.2.53/dns-query{?dns}" is a URI template; allowed: \
            an https URL such as https://doh.example/dns-query (write https://192.0.2.53/dns-query)
            == A provider's URL with a password
            providers:
              backup: { kind: doh, url: https://me:secret@192.0.2.53/dns-query }
            =>
            f.yaml:3:29: providers["backup"].url: the URL holds a user name or password; allowed: an https URL such \
            as https://doh.example/dns-query
            == URLs with passwords where names belong
            routes:
              https://me:secret@a.example/: system
            mappings:
              b.example: "https://me:secret@192.0.2.53/"
              c.example: { via: "https://me:secret@d.example/" }
            =>
            f.yaml:3:3: routes: "https://...@a.example/" is a URL or path; allowed: a name or *.suffix (write the \
            name alone)
            f.yaml:5:14: mappings["b.example"]: "https://...@192.0.2.53/" is not an address but a URL; allowed: \
            IPv4 such as 203.0.113.7, IPv6 such as "2001:db8::7", either with a port (write only the address)
            f.yaml:6:21: mappings["c.example"].via: "https://...@d.example/" is a URL or path; allowed: a name or \
            *.suffix (write the name alone)
            == A bootstrap that is a name
            providers:
              backup: { kind: doh, url: https://doh.example/, bootstrap: [dns.example, 192.0.2.53:53, 192.0.2.5, \
            192.0.2.5] }
            =>
            f.yaml:3:63: providers["backup"].bootstrap: "dns.example" is not an address but a name; allowed: IPv4 \
            such as 192.0.2.53, IPv6 such as "2001:db8::53" (the name cannot be looked up here)
            f.yaml:3:76: providers["backup"].bootstrap: "192.0.2.53:53" has a port; allowed here: an address alone \
            (write 192.0.2.53)
            f.yaml:3:102: providers["backup"].bootstrap: 192.0.2.5 is listed twice: it is on line 3 already
            == An empty bootstrap
            providers:
              backup: { kind: doh, url: https://doh.example/, bootstrap: [] }
            =>
            f.yaml:3:62: providers["backup"].bootstrap: found an empty list; allowed: the service's addresses, one \
            or a list
            == Keys of another kind of provider
            providers:
              g: { kind: json-google, method: post }
              d: { kind: doh, url: https://192.0.2.53/, account: x }
            =>
            f.yaml:3:27: "method" is not a key of a provider of kind json-google or json-cloudflare; allowed: kind, \
            url, bootstrap, ca_file, answer_scope, limits (it is a key of a provider of kind doh)
            f.yaml:4:45: "account" is not a key of a provider of kind doh; allowed: kind, url, bootstrap, method, \
            ca_file, answer_scope, limits (it is a key of a provider of kind json-alidns)
            == A JSON DNS service of one's own by name without bootstrap
            providers:
              own: { kind: json-google, url: https://dns.example/resolve }
            =>
            f.yaml:3:34: providers["own"].url: "https://dns.example/resolve" is by name, and the service's own name \
            is never looked up (add bootstrap: [ADDRESS] with the service's addresses)
            == Half an account of Alidns
            providers:
              ali: { kind: json-alidns, account: "9 9", secret: { file: missing } }
            =>
            f.yaml:3:3: providers["ali"]: the key "access_key" is missing (an account needs account, access_key and \
            secret; without all three it is the free service)
            f.yaml:3:38: providers["ali"].account: found "9 9"; allowed: 1 to 128 of a-z, A-Z, 0-9, -, _ and .
            f.yaml:3:61: providers["ali"].secret.file: "missing" cannot be read: No such file or directory (a \
            relative path begins at the folder of this file)
            == Secrets that are not where they belong; none is repeated
            providers:
              a: { kind: json-alidns, account: x, access_key: y, secret: canary-3141 }
              b: { kind: json-alidns, account: x, access_key: y, secret: [canary-3141] }
              c: { kind: json-alidns, account: x, access_key: y, secret: }
              d: { kind: json-alidns, account: x, access_key: y, secret: { file: f, env: E } }
              e: { kind: json-alidns, account: x, access_key: y, secret: { env: "A=B" } }
            =>
            f.yaml:3:62: providers["a"].secret: found a value; allowed: { file: PATH } or { env: NAME } (a secret \
            itself does not belong into this file)
            f.yaml:4:62: providers["b"].secret: found a value; allowed: { file: PATH } or { env: NAME } (a secret \
            itself does not belong into this file)
            f.yaml:5:62: providers["c"].secret: found nothing; allowed: { file: PATH } or { env: NAME } (a secret \
            itself does not belong into this file)
            f.yaml:6:62: providers["d"].secret: it must have one of the keys file and env (such as \
            { file: /run/secrets/alidns })
            f.yaml:7:69: providers["e"].secret.env: found "A=B"; allowed: the name of an environment variable
            == A method in capitals
            providers:
              backup: { kind: doh, url: https://192.0.2.53/, method: GET }
            =>
            f.yaml:3:58: providers["backup"].method: found "GET"; allowed: get, post (did you mean "get"?)
            == A missing certificate file
            providers:
              backup: { kind: doh, url: https://192.0.2.53/, ca_file: missing.pem }
            =>
            f.yaml:3:59: providers["backup"].ca_file: "missing.pem" cannot be read: No such file or directory (a \
            relative path begins at the folder of this file)
            == A provider twice
            providers:
              backup: { kind: doh, url: https://192.0.2.53/ }
              backup: { kind: doh, url: https://192.0.2.54/ }
            =>
            f.yaml:4:3: providers["backup"] is written twice: it is on line 3 already (give one of them another name)
            == Names that providers cannot have
            providers:
              system: { kind: doh, url: https://192.0.2.53/ }
              "a b": { kind: doh, url: https://192.0.2.53/ }
            =>
            f.yaml:3:3: providers["system"]: the name "system" stands for the system resolver (choose another name)
            f.yaml:4:3: providers["a b"]: the name is not allowed; allowed: 1 to 64 of a-z, A-Z, 0-9, -, _ and .
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
