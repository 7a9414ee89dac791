// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import HTTPDNSCore
import HTTPDNSConfiguration
import Testing

struct ServeMistakeTests {
    @Test(
        "Errors in the section for a local provider",
        arguments: MistakeCase.table(
            """
            == Accounts: secrets in clear, words and truth values that are none, an account that lacks a key
            serve:
              alibaba: { account: 1, secret: abc, rows_by: name, unsigned: yes }
              tencent: { id: a b, tokn: { env: A } }
              alidns: { account: 9999, secret: { env: A } }
            =>
            f.yaml:3:34: serve.alibaba.secret: found a value; allowed: { file: PATH } or { env: NAME } (a secret itself does \
            not belong into this file)
            f.yaml:3:48: serve.alibaba.rows_by: found "name"; allowed: host, type
            f.yaml:3:64: serve.alibaba.unsigned: found "yes"; allowed: true, false (write true)
            f.yaml:4:18: serve.tencent.id: found "a b"; allowed: 1 to 128 of a-z, A-Z, 0-9, -, _ and .
            f.yaml:4:23: "tokn" is not a key of serve.tencent; allowed: id, token, encryption_key (did you mean "token"?)
            f.yaml:5:11: serve.alidns: the key "access_key" is missing (an account needs account, access_key and secret; \
            without all three it is the free service)
            == Faults: statuses that are no failure, words with a slip, delays without end, one name twice
            serve:
              ttl: 30
              hosts:
                a.test: { fail: 200, delay: 5m }
                b.test: { fail: SERVFALL, garbage: htm }
                A.test: { rotate: true }
                c.test:443: { cut: 5 }
            =>
            f.yaml:3:8: serve.ttl: "30" has no unit; allowed: a whole number with ms, s, m or h, such as 500ms or 30s \
            (did you mean 30s?)
            f.yaml:5:21: serve.hosts["a.test"].fail: "200" is out of range; allowed: a whole number from 400 to 599
            f.yaml:5:33: serve.hosts["a.test"].delay: "5m" is out of range; allowed: 0s to 1m
            f.yaml:6:21: serve.hosts["b.test"].fail: found "SERVFALL"; allowed: SERVFAIL, REFUSED, InvalidAccount, \
            AccountNotExists, UnsignedInterfaceDisabled, InvalidSignature, SignatureExpired, InvalidDuration, \
            ServiceLevelDeny, InvalidHost, TooManyHosts, SdnsNotSupported, MissingArgument, InternalError (did you mean \
            "SERVFAIL"?)
            f.yaml:6:40: serve.hosts["b.test"].garbage: found "htm"; allowed: html, noise, huge, half, cipher, mode, \
            odd_hex (did you mean "html"?)
            f.yaml:7:5: serve.hosts["A.test"] is the same name as on line 5: a.test (keep one of them)
            f.yaml:7:23: serve.hosts["A.test"].rotate: found "true"; allowed: order, single
            f.yaml:8:5: serve.hosts: "c.test:443" has a port; a route is for a name on all ports (write c.test; only \
            mappings tell ports apart)
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }

    /// The name's own fault wins, then that of the longest suffix, then that of `*`.
    @Test("The serve section is read, and the closest fault of a name wins")
    func reading() throws {
        let text = """
            version: 1
            serve:
              ttl: 5s
              alibaba: { account: 100000, secret: { env: A }, rows_by: type, unsigned: true, disabled: true }
              hosts:
                "*": { fail: 503 }
                "*.b.test": { fail: InternalError, cut: 7 }
                a.b.test: { delay: 1s, garbage: odd_hex, rotate: single }
            """
        let serve = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").serve
        #expect(serve.timeToLive == .seconds(5))
        #expect(serve.alibaba.account == "100000" && serve.alibaba.secret == .environment("A"))
        #expect(serve.alibaba.hasRowsByType && serve.alibaba.takesUnsigned && serve.alibaba.isDisabled)
        let own = serve.fault(for: try HTTPDNSName("a.b.test"))
        #expect(own?.delay == .seconds(1) && own?.garbage == .oddHex && own?.rotation == .single && own?.failure == nil)
        let suffix = serve.fault(for: try HTTPDNSName("c.b.test"))
        #expect(suffix?.failure == .code("InternalError") && suffix?.cut == 7)
        #expect(serve.fault(for: try HTTPDNSName("b.test"))?.failure == .status(503))
        #expect(try HTTPDNSConfigurationFile.settings("version: 1", name: "f.yaml").serve == ServeSettings())
    }
}
#endif
