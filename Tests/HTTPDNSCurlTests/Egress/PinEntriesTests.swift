// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

/// What libcurl is told: no made-up name where a proxy would be told it, and no lookup for anything.
struct PinEntriesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let kind: HTTPDNSTransfer.ProxyKind
        let isLocal: Bool
        let connectTo: String?
        let entries: [String]

        var testDescription: String { "\(kind) \(isLocal ? "with addresses" : "with names")" }
    }

    private static let origin = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 7), port: 443)
    private static let proxy = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 9), port: 3128)

    @Test(
        "CONNECT_TO and RESOLVE have the right entries for each kind of proxy",
        arguments: [
            Case(kind: .http, isLocal: false, connectTo: nil, entries: ["+x7.invalid:3128:192.0.2.9"]),
            Case(
                kind: .http,
                isLocal: true,
                connectTo: "one.test:443:192.0.2.7:443",
                entries: ["+x7.invalid:3128:192.0.2.9"]
            ),
            Case(kind: .https, isLocal: false, connectTo: nil, entries: ["+proxy.test:3128:192.0.2.9"]),
            Case(
                kind: .https,
                isLocal: true,
                connectTo: "one.test:443:192.0.2.7:443",
                entries: ["+proxy.test:3128:192.0.2.9"]
            ),
            Case(kind: .socks5h, isLocal: false, connectTo: nil, entries: ["+x7.invalid:3128:192.0.2.9"]),
            Case(
                kind: .socks5,
                isLocal: true,
                connectTo: "one.test:443:p7.invalid:443",
                entries: ["+p7.invalid:443:192.0.2.7", "+x7.invalid:3128:192.0.2.9"]
            ),
            Case(
                kind: .socks4a,
                isLocal: true,
                connectTo: "one.test:443:p7.invalid:443",
                entries: ["+p7.invalid:443:192.0.2.7", "+x7.invalid:3128:192.0.2.9"]
            ),
        ]
    )
    func proxies(example: Case) {
        let egressPath = EgressPath(
            proxy: EgressProxy(
                kind: example.kind,
                host: .name("proxy.test"),
                port: 3128,
                addresses: [PinEntriesTests.proxy.address],
                endpoint: example.isLocal ? PinEntriesTests.proxy : nil
            )
        )
        let key = PinKey(
            host: .name("one.test"),
            port: 443,
            endpoint: example.isLocal ? PinEntriesTests.origin : PinEntriesTests.proxy,
            versions: .automatic,
            egressPath: egressPath
        )
        let told = PinEntries(key, number: 7)
        #expect(told.connectTo == example.connectTo)
        #expect(told.entries == example.entries)
        #expect(told.removals.count == told.entries.count && told.removals.allSatisfy { $0.hasPrefix("-") })
        #expect(told.sharesName == (example.kind == .https))
        // Names that the proxy is told are made up by nobody.
        if example.kind.isHTTP { #expect(told.connectTo?.contains(".invalid") != true) }
    }

    @Test("A login is in no text, and different logins share nothing")
    func logins() {
        func egressPath(_ password: String) -> EgressPath {
            EgressPath(
                proxy: EgressProxy(
                    kind: .http,
                    host: .name("proxy.test"),
                    port: 3128,
                    addresses: [],
                    login: ProxyLogin(user: "me", password: password)
                )
            )
        }
        #expect(egressPath("hunter1") == egressPath("hunter1") && egressPath("hunter1") != egressPath("hunter2"))
        var dumped = ""
        dump(egressPath("hunter2"), to: &dumped)
        dump(egressPath("hunter2").proxy, to: &dumped)
        #expect(!dumped.contains("hunter2") && !"\(egressPath("hunter2").proxy as Any)".contains("hunter2"))
    }
}
